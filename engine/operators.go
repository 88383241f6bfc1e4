package engine

import "lathe/engine/native"

// TimeOperators makes further steps instrumented ones, whose operators OperatorNS
// tells, until it is switched off. Stamping costs time: such a step is not for
// judging.
func (e *Engine) TimeOperators(on bool) {
	e.batch.Flags &^= native.TimeOperators
	if on {
		e.batch.Flags |= native.TimeOperators
	}
}

// OperatorNS writes what each operator took in the last submit that was waited for,
// in ns over all layers, by the numbers of native.Op; -1 where nothing was measured.
func (e *Engine) OperatorNS(out []int64) { copy(out, e.info.OpNS[:]) }

// OperatorNames are the names of what OperatorNS writes, in its order.
func OperatorNames() []string {
	names := make([]string, native.Ops)
	for i := range names {
		names[i] = native.Op(i).String()
	}
	return names
}

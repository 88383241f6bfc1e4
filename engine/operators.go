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

// OperatorNS writes what each operator took in the last step, in ns over all layers
// and chunks, by the numbers of native.Op; -1 where it did not run or was not timed. Of
// a replaced gemm.o or gemm.down our addition to the residual stream is counted as o_add
// or down_add, of a replaced gemm.head the choice of the token as norm_head_argmax.
func (e *Engine) OperatorNS(out []int64) { copy(out, e.step.opNS[:]) }

// OperatorNames are the names of what OperatorNS writes, in its order.
func OperatorNames() []string {
	names := make([]string, native.Ops)
	for i := range names {
		names[i] = native.Op(i).String()
	}
	return names
}

package roofline

import (
	"encoding/json"
	"fmt"

	"lathe/bench"
	"lathe/engine/llama"
)

// Names of the Checks that a run leaves for its roofline. OK says that they were
// written, nothing about numbers.
const (
	CheckRoofs     = "roofs"              // of the run: a list of Roofs
	CheckWork      = "work"               // of a point: a PointWork
	CheckOperators = bench.CheckOperators // of a point: an OperatorPass
)

// PointWork is the work of a point's steps.
type PointWork struct {
	Decode    Work           `json:"decode"` // of a step at DecodeContext
	Prefill   Work           `json:"prefill"`
	Operators []OperatorWork `json:"operators"` // of that decode step, by every cut
	// DecodeContext is the context in the middle of the measured steps. Work is
	// linear in the context, so a step at the middle has the mean work.
	DecodeContext int `json:"decode_context_len"`
}

// OperatorWork is the work of one operator in one decode step.
type OperatorWork struct {
	Name  string `json:"op"`
	Calls int    `json:"calls"`
	FLOPs int64  `json:"flops"`
	Bytes int64  `json:"bytes"`
}

// OperatorPass is an instrumented pass over decode steps.
type OperatorPass = bench.OperatorPass

// PointWorkOf is the work of a point that prefills inputLen tokens in each of batch
// rows and then takes steps decode steps; kvBytes is the size of a cached element.
func PointWorkOf(c llama.Config, batch, inputLen, steps, kvBytes int) PointWork {
	middle := inputLen + (steps+1)/2
	p := PointWork{Decode: Decode(c, batch, middle, kvBytes), Prefill: Prefill(c, batch, inputLen, kvBytes), DecodeContext: middle}
	seen := map[string]bool{}
	for _, list := range [][]llama.OperatorCost{c.FusedOperators(batch, middle, kvBytes), c.UnfusedOperators(batch, middle, kvBytes)} {
		for _, op := range list {
			if !seen[op.Name] {
				seen[op.Name] = true
				p.Operators = append(p.Operators, OperatorWork{Name: op.Name, Calls: op.Calls, FLOPs: op.FLOPs, Bytes: op.Bytes})
			}
		}
	}
	return p
}

// check wraps a detail; point < 0: of the run.
func check(name string, point int, detail any) (bench.Check, error) {
	raw, err := json.Marshal(detail)
	if err != nil {
		return bench.Check{}, fmt.Errorf("record %s: %w", name, err)
	}
	c := bench.Check{Kind: bench.KindCheck, Name: name, OK: true, Detail: raw}
	if point >= 0 {
		c.Point = &point
	}
	return c, nil
}

// RecordRoofs is the record of a run's roofs.
func RecordRoofs(r []Roofs) (bench.Check, error) { return check(CheckRoofs, -1, r) }

// RecordWork is the record of a point's work.
func RecordWork(point int, w PointWork) (bench.Check, error) { return check(CheckWork, point, w) }

// RecordOperators is the record of a point's instrumented pass.
func RecordOperators(point int, p OperatorPass) (bench.Check, error) {
	return check(CheckOperators, point, p)
}

// details reads every Check of a name, into the list of its point; run-wide ones
// are under -1.
func details[T any](f *bench.File, name string) (map[int][]T, error) {
	found := map[int][]T{}
	for _, c := range f.Checks {
		if c.Name != name {
			continue
		}
		var d T
		if err := json.Unmarshal(c.Detail, &d); err != nil {
			return nil, fmt.Errorf("read the record %s: %w", name, err)
		}
		at := -1
		if c.Point != nil {
			at = *c.Point
		}
		found[at] = append(found[at], d)
	}
	return found, nil
}

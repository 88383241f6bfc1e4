package bench

// CheckOperators names the Check that holds what operators took in steps of their
// own: an OperatorPass of its point. OK is that it was measured.
const CheckOperators = "operator_times"

// OperatorPass is an instrumented pass over decode steps: times of operators, which
// are no part of the steps that are judged.
type OperatorPass struct {
	Variant    *string   `json:"variant"`
	ContextLen int       `json:"context_len"` // of the first step; it grows by one a step, and begins again with each slot of a comparison
	Operators  []string  `json:"operators"`
	NS         [][]int64 `json:"ns"`      // [step][operator]
	StepNS     []int64   `json:"step_ns"` // host time of the same steps
}

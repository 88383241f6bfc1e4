package bench

// Semantics says which definition a figure follows; figures of different
// semantics do not compare.
type Semantics string

// SemanticsStep is that of the offline harnesses: one synchronised step.
const SemanticsStep Semantics = "step"

// Summary is what is said of one metric's samples. It is computed from records
// by package metric; nil is undefined, which becomes null, never 0.
type Summary struct {
	Semantics   Semantics    `json:"semantics"`
	Metric      string       `json:"metric"`
	Unit        string       `json:"unit"`
	N           int          `json:"n"`
	Failed      int          `json:"failed"` // samples that were asked for and not got
	Mean        *float64     `json:"mean"`
	Std         *float64     `json:"std"` // of the population, as numpy's default
	Min         *float64     `json:"min"`
	Median      *float64     `json:"median"`
	Max         *float64     `json:"max"`
	Interval    *Interval    `json:"interval"` // of the median
	Percentiles []Percentile `json:"percentiles"`
	Warnings    []string     `json:"warnings"`
}

// Interval is a confidence interval from order statistics.
type Interval struct {
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
	Level    float64 `json:"level"`    // asked for
	Coverage float64 `json:"coverage"` // reached
}

// Percentile is one quantile of a Summary, null where n samples do not reach
// into that tail.
type Percentile struct {
	P     float64  `json:"p"`
	Value *float64 `json:"value"`
}

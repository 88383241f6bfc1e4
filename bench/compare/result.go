package compare

import (
	"encoding/json"
	"math"

	"lathe/bench"
)

// Result is a judgement. Its JSON is what compare --format json prints; what is
// undefined is null. Negative changes: B needs less time.
type Result struct {
	Verdict          Verdict         `json:"verdict"`
	ChangePercent    *float64        `json:"change_percent"`
	IntervalPercent  *[2]float64     `json:"interval_percent"`
	ThresholdPercent *float64        `json:"threshold_percent"`
	Epochs           int             `json:"epochs"`
	Blocks           int             `json:"blocks"`
	Steps            int             `json:"steps"` // recorded ones of both variants
	Reasons          []string        `json:"reasons"`
	Points           []PointResult   `json:"points"`
	A                json.RawMessage `json:"a"`
	B                json.RawMessage `json:"b"`
	Raw              string          `json:"raw"`
	Complete         bool            `json:"complete"` // false: the run was cut, or looks are left
	Warnings         []string        `json:"warnings"`
}

// PointResult is the judgement of one point.
type PointResult struct {
	Point             int         `json:"point"` // its number in the raw file; of two recordings, in A
	Batch             int         `json:"batch"`
	ContextLen        int         `json:"context_len"`
	Phase             bench.Phase `json:"phase"`
	Verdict           Verdict     `json:"verdict"`
	ChangePercent     *float64    `json:"change_percent"`
	IntervalPercent   *[2]float64 `json:"interval_percent"`
	AMedianNS         *float64    `json:"a_median_ns"` // median over the slots
	BMedianNS         *float64    `json:"b_median_ns"`
	FloorNS           *float64    `json:"floor_ns"`
	DetectablePercent *float64    `json:"detectable_percent"` // smallest change found with probability 0.8
	ThresholdPercent  *float64    `json:"threshold_percent"`
	ThresholdFrom     string      `json:"threshold_from"` // one of Threshold*; "" without an estimate
	Epochs            int         `json:"epochs"`
	Blocks            int         `json:"blocks"`
	Steps             int         `json:"steps"`
	Clock             string      `json:"clock"` // "device" or "host": whose times decided
	Reasons           []string    `json:"reasons"`
	Votes             []Vote      `json:"votes"`

	PValue              *float64  `json:"p_value"`          // two-sided t over epochs, at this look
	SignFlipP           *float64  `json:"sign_flip_p"`      // exact permutation over epochs
	ShiftPercent        *float64  `json:"shift_percent"`    // Hodges-Lehmann
	EpochPercent        []float64 `json:"epoch_percent"`    // what each epoch says
	SpreadPercent       *float64  `json:"spread_percent"`   // standard deviation of the epochs
	Calibrated          bool      `json:"calibrated"`       // the threshold knows a stored A/A floor
	AAFloorPercent      *float64  `json:"aa_floor_percent"` // stored, or of this run
	PowerCoupled        bool      `json:"power_coupled"`    // the kernel moves the clock
	ChangeCyclesPercent *float64  `json:"change_cycles_percent"`
	AllThrottled        bool      `json:"all_throttled"`
	EpochsNeeded        *int      `json:"epochs_needed"` // for a decision at this spread; null where decided

	Operators []OperatorTime `json:"operators,omitempty"` // of a pass of their own
	Fused     *Fused         `json:"fused,omitempty"`     // where A is our operator in the unfused slot
}

// Where a threshold came from.
const (
	ThresholdAsked       = "asked"       // the plan's Delta
	ThresholdLeast       = "least"       // the plan's MinDelta, or RecordingDelta
	ThresholdCalibration = "calibration" // twice the stored A/A floor
	ThresholdRun         = "run"         // twice the floor of like slots in the run
)

// Variant is what one side of a comparison is, as it stands in a Plan and a
// Result. Fields that do not apply are empty.
type Variant struct {
	Backend bench.Backend `json:"backend"`
	Kernels []Kernel      `json:"kernels,omitempty"` // operators that were replaced
	File    string        `json:"file,omitempty"`    // of a finished recording
	SHA256  string        `json:"sha256,omitempty"`  // of that file
}

// Kernel is an operator that was replaced: by a file, or by "builtin", our own in
// the unfused slot.
type Kernel struct {
	Op     string `json:"op"`
	File   string `json:"file"`
	SHA256 string `json:"sha256,omitempty"`
}

// rounded keeps nine decimals of a percentage: what lies behind them depends on
// the machine that computes it, and reports are the same bytes on any.
func rounded(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	r := math.Round(x*1e9) / 1e9
	r += 0 // no negative zero
	return &r
}

func interval(lo, hi float64) *[2]float64 {
	l, h := rounded(percent(lo)), rounded(percent(hi))
	if l == nil || h == nil {
		return nil
	}
	return &[2]float64{*l, *h}
}

// KernelDetectable is the smallest change of a kernel's own time, in percent,
// that a change of the step in percent amounts to where the kernel has the given
// share of the step; nil where it has none.
func KernelDetectable(stepPercent, share float64) *float64 {
	if !(share > 0 && share <= 1) {
		return nil
	}
	return rounded(stepPercent / share)
}

// KernelWarning says that a point cannot see a kernel: a change of 5 % in it
// moves the step by less than the threshold. "" where it can.
func KernelWarning(thresholdPercent, share float64) string {
	if share*5 >= thresholdPercent {
		return ""
	}
	return "the kernel has " + trim(100*share) + " % of this step: a change of 5 % in it stays below the threshold of " +
		trim(thresholdPercent) + " %; choose a point where it has more, or read its own time"
}

package compare

import (
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"lathe/bench"
	"lathe/bench/stat"
)

// PowerOptions say what a comparison is planned for.
type PowerOptions struct {
	SpreadPercent    float64       // standard deviation of the epochs, as in a PointResult
	ThresholdPercent float64       // of the verdict
	ChangePercent    float64       // true change that is to be called
	Epoch            time.Duration // of one epoch; 0: unknown
	Alpha            float64       // nominal, of a look
}

// PowerResult is how much a change of a given size needs.
type PowerResult struct {
	ChangePercent    float64        `json:"change_percent"`
	ThresholdPercent float64        `json:"threshold_percent"`
	SpreadPercent    float64        `json:"spread_percent"`
	Power            float64        `json:"power"`
	Epochs           *int           `json:"epochs"` // nil: no number of epochs calls it
	Duration         *time.Duration `json:"duration_ns"`
	Detectable       []Detectable   `json:"detectable"`
	Reason           string         `json:"reason,omitempty"`
}

// Detectable is the smallest change that a number of epochs calls.
type Detectable struct {
	Epochs  int      `json:"epochs"`
	Percent *float64 `json:"percent"`
}

const (
	powerAsked = 0.8
	powerMost  = 1000 // epochs
)

// Power computes how many epochs call a change with probability 0.8 at a single
// look; further looks before it only make that more likely. The spread is an
// estimate itself: from six epochs it may be off by a third.
func Power(o PowerOptions) (PowerResult, error) {
	r := PowerResult{ChangePercent: o.ChangePercent, ThresholdPercent: o.ThresholdPercent, SpreadPercent: o.SpreadPercent, Power: powerAsked}
	change, limit := math.Abs(math.Log1p(o.ChangePercent/100)), math.Log1p(o.ThresholdPercent/100)
	if !(change > 0) || !(limit > 0) || !(o.SpreadPercent >= 0) || !(o.Alpha > 0 && o.Alpha < 1) ||
		math.IsInf(change+limit+o.SpreadPercent, 0) {
		return r, errors.New("compute power: want a change, a threshold above 0, a spread of 0 or more and alpha within 0 and 1")
	}
	at := func(epochs int) float64 {
		se := math.Log1p(o.SpreadPercent/100) / math.Sqrt(float64(epochs))
		return detectable(se, float64(epochs-1), o.Alpha, limit)
	}
	for _, n := range []int{6, 9, 12, 24, 48} {
		r.Detectable = append(r.Detectable, Detectable{n, rounded(percent(at(n)))})
	}
	if change <= limit {
		r.Reason = fmt.Sprintf("a change of %s %% does not exceed the threshold of %s %%: no number of epochs calls it reliably",
			trim(math.Abs(o.ChangePercent)), trim(o.ThresholdPercent))
		return r, nil
	}
	for n := minEpochs; n <= powerMost; n++ {
		if at(n) <= change {
			r.Epochs = &n
			if o.Epoch > 0 {
				d := time.Duration(n) * o.Epoch
				r.Duration = &d
			}
			return r, nil
		}
	}
	r.Reason = fmt.Sprintf("more than %d epochs", powerMost)
	return r, nil
}

// EpochTime is how long an epoch of a recording took, the median over its
// epochs: from the first step of one to the first of the next, so that opening
// and loading count.
func EpochTime(f *bench.File) (time.Duration, bool) {
	first := map[int]int64{}
	last := -1
	for _, s := range f.Steps {
		if t, ok := first[s.Epoch]; s.Variant != nil && (!ok || s.TNS < t) {
			first[s.Epoch] = s.TNS
			last = max(last, s.Epoch)
		}
	}
	var ns []float64
	for e, t := range first {
		if next, ok := first[e+1]; ok {
			ns = append(ns, float64(next-t))
		}
	}
	if len(ns) == 0 && last >= 0 {
		ns = []float64{float64(f.LastNS - first[last])}
	}
	m, ok := stat.Median(stat.Sorted(ns))
	return time.Duration(m), ok
}

// Calibration is the noise floor of one point on one machine: what the change
// between equal variants is there.
type Calibration struct {
	Schema       int         `json:"schema"`
	Batch        int         `json:"batch"`
	ContextLen   int         `json:"context_len"`
	Phase        bench.Phase `json:"phase"`
	FloorPercent float64     `json:"floor_percent"` // 95th percentile of the size of the change
	Runs         int         `json:"runs"`
	Epochs       int         `json:"epochs"` // of all runs
	Alarms       int         `json:"alarms"` // runs called faster or slower
	// FalseAlarmPercent is the one-sided 95 % exact upper bound of the rate of
	// false alarms (Clopper and Pearson): 60 runs without an alarm give 4.9.
	FalseAlarmPercent float64 `json:"false_alarm_percent"`
}

// runsForPercentile is how many runs have a 95th percentile of their own.
const runsForPercentile = 20

// Calibrate reads the floor off the results of equal variants at one point. With
// fewer than twenty runs the percentile is that of a normal change with the
// spread of all epochs, over as many epochs as the shortest run has, if larger.
func Calibrate(runs []PointResult) (Calibration, error) {
	if len(runs) == 0 {
		return Calibration{}, errors.New("calibrate: no run given")
	}
	c := Calibration{Schema: 1, Batch: runs[0].Batch, ContextLen: runs[0].ContextLen, Phase: runs[0].Phase, Runs: len(runs)}
	var sizes, epochs []float64
	shortest := math.MaxInt
	for _, r := range runs {
		if r.Batch != c.Batch || r.ContextLen != c.ContextLen || r.Phase != c.Phase {
			return c, errors.New("calibrate: the runs are of different points")
		}
		if r.Verdict == Invalid || r.ChangePercent == nil {
			return c, fmt.Errorf("calibrate: a run is %s: %v", r.Verdict, r.Reasons)
		}
		if r.Verdict == Faster || r.Verdict == Slower {
			c.Alarms++
		}
		sizes = append(sizes, math.Abs(*r.ChangePercent))
		epochs = append(epochs, r.EpochPercent...)
		shortest = min(shortest, len(r.EpochPercent))
	}
	c.Epochs = len(epochs)
	floor, _ := stat.Quantile(stat.Sorted(sizes), 0.95)
	if len(runs) < runsForPercentile {
		if sd, ok := stat.SampleStd(epochs); ok {
			floor = max(floor, normal975*sd/math.Sqrt(float64(shortest)))
		}
	}
	c.FloorPercent = *rounded(floor)
	c.FalseAlarmPercent = *rounded(100 * upperRate(c.Alarms, c.Runs))
	return c, nil
}

// upperRate is the one-sided 95 % exact upper bound of a rate seen k times of n.
func upperRate(k, n int) float64 {
	if k >= n {
		return 1
	}
	return distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(0.95)
}

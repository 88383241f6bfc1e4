package compare

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/stat/distuv"

	"lathe/bench/stat"
)

// estimate is a change as a log ratio: the mean of epoch values with Student's t
// interval over them.
type estimate struct {
	epochs     []float64 // one value an epoch
	mean       float64
	sd         float64 // of the epochs, n-1
	se         float64
	lo, hi     float64 // at 1-alpha
	tostLo     float64 // at 1-2*alpha: two one-sided tests
	tostHi     float64
	p          float64 // two-sided, of no change
	signFlip   float64 // exact permutation p over the signs of the epochs; -1 where there are too many
	shift      float64 // Hodges-Lehmann: median of the means of pairs of epochs
	detectable float64 // smallest change found with probability 0.8, see detectable
	threshold  float64 // log ratio
	t          float64 // quantile used for lo and hi
}

// signFlipMost is how many epochs are still enumerated: 2^16 arrangements.
const signFlipMost = 16

// newEstimate needs two epochs or more. threshold is a log ratio.
func newEstimate(epochs []float64, alpha, threshold float64) (estimate, bool) {
	mean, ok := stat.Mean(epochs)
	sd, ok2 := stat.SampleStd(epochs)
	if !ok || !ok2 {
		return estimate{}, false
	}
	n := len(epochs)
	e := fromT(mean, sd/math.Sqrt(float64(n)), float64(n-1), alpha, threshold)
	e.epochs, e.sd = epochs, sd
	e.signFlip = signFlip(epochs)
	e.shift = hodgesLehmann(epochs)
	return e, true
}

// fromT is a change whose error over se follows Student's t with df degrees of
// freedom.
func fromT(mean, se, df, alpha, threshold float64) estimate {
	e := estimate{mean: mean, se: se, threshold: threshold, signFlip: -1}
	dist := studentsT(df)
	e.t = dist.Quantile(1 - alpha/2)
	e.lo, e.hi = mean-e.t*se, mean+e.t*se
	wide := dist.Quantile(1 - alpha)
	e.tostLo, e.tostHi = mean-wide*se, mean+wide*se
	e.p = tTest(mean, se, dist)
	e.detectable = detectable(se, df, alpha, threshold)
	return e
}

func studentsT(df float64) distuv.StudentsT { return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df} }

// tTest is the two-sided p of a mean of 0. Epochs that are all alike leave no
// doubt, one way or the other.
func tTest(mean, se float64, dist distuv.StudentsT) float64 {
	if se == 0 {
		if mean == 0 {
			return 1
		}
		return 0
	}
	return min(1, 2*dist.CDF(-math.Abs(mean/se)))
}

// detectable is the smallest true change, as a log ratio, that a standard error
// of se calls with probability 0.8. Both conditions of the verdict must hold: the
// interval leaves 0 out, and the estimate reaches the threshold.
func detectable(se, df, alpha, threshold float64) float64 {
	dist := studentsT(df)
	power := dist.Quantile(0.8)
	return max((dist.Quantile(1-alpha/2)+power)*se, threshold+power*se)
}

// signFlip is the exact two-sided p of the sign-flip test: the share of the 2^n
// arrangements of signs whose sum is at least as far from 0.
func signFlip(xs []float64) float64 {
	n := len(xs)
	if n > signFlipMost {
		return -1
	}
	var sum, scale float64
	for _, x := range xs {
		sum += x
		scale += math.Abs(x)
	}
	// What the running sum below rounds must not decide about the arrangement
	// that was observed.
	limit := math.Abs(sum) - 1e-9*scale
	signs := make([]bool, n)
	count, total := 0, 1<<n
	for i := range total {
		if i > 0 { // Gray code: one sign a turn
			k := bits.TrailingZeros(uint(i))
			if signs[k] {
				sum += 2 * xs[k]
			} else {
				sum -= 2 * xs[k]
			}
			signs[k] = !signs[k]
		}
		if math.Abs(sum) >= limit {
			count++
		}
	}
	return float64(count) / float64(total)
}

// hodgesLehmann is the median of the means of all pairs of epochs, an epoch with
// itself included.
func hodgesLehmann(xs []float64) float64 {
	var means []float64
	for i := range xs {
		for j := i; j < len(xs); j++ {
			means = append(means, (xs[i]+xs[j])/2)
		}
	}
	m, _ := stat.Median(stat.Sorted(means))
	return m
}

// epochValue is what one epoch says of a point.
type epochValue struct {
	epoch  int
	change float64 // median over its valid blocks
	like   float64 // median of their contrasts of like slots
	blocks int
	steps  int
}

// epochValues reduces blocks to epochs before the given one; those with fewer
// than minBlocks usable blocks are left out. usable nil: sound blocks.
func epochValues(all []block, before int, usable func(*block) bool) []epochValue {
	var out []epochValue
	var changes, likes []float64
	steps := 0
	for i := range all {
		b := &all[i]
		if b.epoch >= before {
			break
		}
		ok := b.fault == sound
		if usable != nil {
			ok = usable(b)
		}
		if ok {
			changes, likes = append(changes, b.change), append(likes, b.like)
			for k := range b.slots {
				steps += b.slots[k].steps
			}
		}
		if i+1 < len(all) && all[i+1].epoch == b.epoch {
			continue
		}
		if len(changes) >= minBlocks {
			change, _ := stat.Median(stat.Sorted(changes))
			like, _ := stat.Median(stat.Sorted(likes))
			out = append(out, epochValue{epoch: b.epoch, change: change, like: like, blocks: len(changes), steps: steps})
		}
		changes, likes, steps = nil, nil, 0
	}
	return out
}

// inRunFloor estimates the A/A floor from the run itself: the 95th percentile of
// the change that like slots alone would show over as many epochs. It knows of
// everything that moves slots within a session, and nothing of what a session
// does to one variant only; the interval over epochs knows of that.
func inRunFloor(epochs []epochValue) float64 {
	if len(epochs) == 0 {
		return 0
	}
	var square float64
	for _, e := range epochs {
		square += e.like * e.like
	}
	n := float64(len(epochs))
	return normal975 * math.Sqrt(square/n) / math.Sqrt(n)
}

// normal975 is the standard normal's quantile at 0.975.
const normal975 = 1.959963984540054

// threshold is the change that matters, as a ratio, and what it was made from.
func (p Plan) threshold(pt Point, epochs []epochValue) (ratio, floor float64, calibrated bool) {
	floor, calibrated = math.Expm1(inRunFloor(epochs)), pt.AAFloor != nil
	if calibrated {
		floor = *pt.AAFloor
	}
	ratio = max(p.MinDelta, 2*floor)
	if p.Delta != nil && (p.ForceDelta || *p.Delta > ratio) {
		ratio = *p.Delta
	}
	return ratio, floor, calibrated
}

// thresholdFrom says which term of threshold is the largest.
func (p Plan) thresholdFrom(floor float64, calibrated bool) string {
	switch ratio := max(p.MinDelta, 2*floor); {
	case p.Delta != nil && (p.ForceDelta || *p.Delta > ratio):
		return ThresholdAsked
	case ratio == p.MinDelta:
		return ThresholdLeast
	case calibrated:
		return ThresholdCalibration
	}
	return ThresholdRun
}

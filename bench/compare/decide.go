package compare

import (
	"fmt"
	"math"
	"slices"
)

// Verdict is the answer.
type Verdict string

// The five answers.
const (
	Faster       Verdict = "faster"        // B needs less time, by the threshold or more
	Slower       Verdict = "slower"        // B needs more time, by the threshold or more
	NoDifference Verdict = "no-difference" // none that reaches the threshold
	Inconclusive Verdict = "inconclusive"
	Invalid      Verdict = "invalid" // or not comparable
)

// ExitCode is the exit code of a verdict: 0 pass, 1 regression, 3 inconclusive,
// 4 invalid. (2 is for errors, which are none.)
func (v Verdict) ExitCode() int {
	switch v {
	case Faster, NoDifference:
		return 0
	case Slower:
		return 1
	case Inconclusive:
		return 3
	}
	return 4
}

// undecided is the state between looks.
const undecided Verdict = ""

// decide applies the rule to one look; first match wins.
//
//	upper bound < 0 and change <= -threshold   faster
//	lower bound > 0 and change >= +threshold   slower
//	1-2*alpha interval within the threshold    no difference
//	otherwise                                  undecided
//
// Under strict the whole interval must lie beyond the threshold.
func decide(e estimate, strict bool) Verdict {
	d := e.threshold
	switch {
	case strict && e.hi < -d, !strict && e.hi < 0 && e.mean <= -d:
		return Faster
	case strict && e.lo > d, !strict && e.lo > 0 && e.mean >= d:
		return Slower
	case e.tostLo > -d && e.tostHi < d:
		return NoDifference
	}
	return undecided
}

// thresholdMost is the largest threshold under which "no difference" is an
// answer. Above it, unless it was asked for, the machine was too noisy to see
// anything that would matter.
const thresholdMost = 0.10

// tooNoisy takes back a "no difference" of a threshold that nobody asked for.
func (p Plan) tooNoisy(v Verdict, e estimate) bool {
	return v == NoDifference && p.Delta == nil && e.threshold > math.Log1p(thresholdMost)
}

// enough is how many epochs the undecided data call for:
// (t*s/h)^2 with h the distance to the threshold, at least half of it.
func enough(e estimate) int {
	h := max(e.threshold-math.Abs(e.mean), e.threshold/2)
	n := math.Pow(e.t*e.sd/h, 2)
	return int(min(math.Ceil(n), 1e6))
}

// disagree says that the t test and the exact sign-flip test part at the last
// look: a change that one epoch made.
func disagree(v Verdict, e estimate, alpha float64) bool {
	return (v == Faster || v == Slower) && e.signFlip >= 0 && e.signFlip > alpha
}

// overall turns a nominal p at one of several looks into one over all of them,
// as alpha is to 0.05. With one look alpha is 0.05 and nothing changes.
func overall(p, alpha float64) float64 { return min(1, p*max(1, overallAlpha/alpha)) }

// overallAlpha is the level of all looks together.
const overallAlpha = 0.05

// holm says which of the p values are below level with the family-wise error
// held at it (Holm 1979).
func holm(ps []float64, level float64) []bool {
	order := ascending(ps)
	out := make([]bool, len(ps))
	for rank, i := range order {
		if ps[i] > level/float64(len(ps)-rank) {
			break
		}
		out[i] = true
	}
	return out
}

// benjaminiHochberg says which of the p values are discoveries at false
// discovery rate q (Benjamini and Hochberg 1995).
func benjaminiHochberg(ps []float64, q float64) []bool {
	order := ascending(ps)
	out := make([]bool, len(ps))
	last := -1
	for rank, i := range order {
		if ps[i] <= q*float64(rank+1)/float64(len(ps)) {
			last = rank
		}
	}
	for rank := 0; rank <= last; rank++ {
		out[order[rank]] = true
	}
	return out
}

func ascending(ps []float64) []int {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case ps[a] < ps[b]:
			return -1
		case ps[a] > ps[b]:
			return 1
		}
		return 0
	})
	return order
}

// percent is a log ratio as a change in percent.
func percent(log float64) float64 { return 100 * math.Expm1(log) }

// signed prints a change.
func signed(pct float64) string { return fmt.Sprintf("%+.2f %%", pct) }

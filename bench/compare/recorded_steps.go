package compare

import (
	"fmt"
	"math"
	"slices"

	"lathe/bench"
	"lathe/bench/stat"
)

// commonContexts keeps the steps whose context length both sides have: the time
// of a decode step grows with its context.
func commonContexts(a, b []bench.Step) (x, y []bench.Step) {
	of := func(steps []bench.Step) map[int]bool {
		m := map[int]bool{}
		for _, s := range steps {
			m[s.ContextLen] = true
		}
		return m
	}
	inA, inB := of(a), of(b)
	keep := func(steps []bench.Step, other map[int]bool) []bench.Step {
		return slices.DeleteFunc(slices.Clone(steps), func(s bench.Step) bool { return !other[s.ContextLen] })
	}
	return keep(a, inB), keep(b, inA)
}

func allDevice(steps []bench.Step) bool {
	return len(steps) > 0 && !slices.ContainsFunc(steps, func(s bench.Step) bool { return s.DeviceNS == nil })
}

// timeOf is a step's time in ns on the clock that decides.
func timeOf(s bench.Step, device bool) float64 {
	if device {
		return float64(*s.DeviceNS)
	}
	return float64(s.HostNS)
}

func medianTime(steps []bench.Step, device bool) *float64 {
	ns := make([]float64, len(steps))
	for i, s := range steps {
		ns[i] = timeOf(s, device)
	}
	if m, ok := stat.Median(stat.Sorted(ns)); ok {
		return &m
	}
	return nil
}

// repetitions are the log times of the repetitions: of each the median over its
// steps. A repetition that was cut, or that has other contexts than the first,
// is left out.
func repetitions(steps []bench.Step, device bool) []float64 {
	by := map[int][]float64{}
	var order []int
	for _, s := range steps {
		if by[s.Iteration] == nil {
			order = append(order, s.Iteration)
		}
		by[s.Iteration] = append(by[s.Iteration], timeOf(s, device))
	}
	var out []float64
	for _, i := range order {
		if m, ok := stat.Median(stat.Sorted(by[i])); ok && m > 0 && len(by[i]) == len(by[order[0]]) {
			out = append(out, math.Log(m))
		}
	}
	return out
}

// segmentChanges are the log ratios of the contexts, the median over neighbours:
// up to mostSegments stretches of segmentSteps contexts or more.
func segmentChanges(a, b []bench.Step, device bool) []float64 {
	times := func(steps []bench.Step) map[int][]float64 {
		m := map[int][]float64{}
		for _, s := range steps {
			m[s.ContextLen] = append(m[s.ContextLen], timeOf(s, device))
		}
		return m
	}
	ta, tb := times(a), times(b)
	var contexts []int
	for c := range ta {
		contexts = append(contexts, c)
	}
	slices.Sort(contexts)
	var changes []float64
	for _, c := range contexts {
		x, okX := stat.Median(stat.Sorted(ta[c]))
		y, okY := stat.Median(stat.Sorted(tb[c]))
		if okX && okY && x > 0 && y > 0 {
			changes = append(changes, math.Log(y/x))
		}
	}
	n := min(mostSegments, len(changes)/segmentSteps)
	out := make([]float64, 0, n)
	for i := range n {
		m, _ := stat.Median(stat.Sorted(changes[i*len(changes)/n : (i+1)*len(changes)/n]))
		out = append(out, m)
	}
	return out
}

// recordingVotes are the checks that two recordings allow.
func recordingVotes(a, b []bench.Step) []Vote {
	var votes []Vote
	if ga, gb := graphOf(a), graphOf(b); ga != gb {
		votes = append(votes, Vote{"graph", MadeInvalid, fmt.Sprintf("A ran %s, B ran %s: two experiments", word(ga), word(gb))})
	} else {
		votes = append(votes, Vote{"graph", Passed, "both ran " + word(ga)})
	}
	if ca, cb := meanClock(a), meanClock(b); ca > 0 && cb > 0 {
		v := Vote{"clock", Passed, fmt.Sprintf("SM clock %.0f MHz in A, %.0f MHz in B", ca, cb)}
		if max(ca, cb) > min(ca, cb)*(1+clockSpread) {
			v.Effect = MadeInconclusive
		}
		votes = append(votes, v)
	}
	for _, side := range []struct {
		name  string
		steps []bench.Step
	}{{"A", a}, {"B", b}} {
		if share := throttledShare(side.steps); share > 0 {
			v := Vote{"throttling", Noted, fmt.Sprintf("%s was throttled in %.0f %% of its steps", side.name, 100*share)}
			if share > throttledMost {
				v.Effect = MadeInconclusive
			}
			votes = append(votes, v)
		}
	}
	return votes
}

// throttledMost is the share of throttled steps that leaves a median alone.
const throttledMost = 0.05

func throttledShare(steps []bench.Step) float64 {
	n := 0
	for _, s := range steps {
		if s.ThrottleReasons != nil && *s.ThrottleReasons&reasonsHarmful != 0 {
			n++
		}
	}
	return float64(n) / float64(max(1, len(steps)))
}

func meanClock(steps []bench.Step) float64 {
	var clocks []float64
	for _, s := range steps {
		if s.SMClockMHz != nil {
			clocks = append(clocks, float64(*s.SMClockMHz))
		}
	}
	m, _ := stat.Mean(clocks)
	return m
}

func graphOf(steps []bench.Step) string {
	if len(steps) == 0 {
		return ""
	}
	for _, s := range steps {
		if s.Graph != steps[0].Graph {
			return "mixed"
		}
	}
	return string(steps[0].Graph)
}

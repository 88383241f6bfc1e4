package metric

import (
	"encoding/json"
	"fmt"
	"math"

	"lathe/bench"
	"lathe/bench/stat"
)

// raise adds a doubt to the figure that it is about and to the point's notes.
func (p *Point) raise(s *bench.Summary, doubt string) {
	if doubt != "" {
		s.Warnings = append(s.Warnings, doubt)
		p.Notes = append(p.Notes, doubt)
	}
}

// doubt adds what the samples themselves raise.
func (p *Point) doubt(prefill []float64, steps []bench.Step) {
	if p.Cached != nil && *p.Cached > 0 && p.Status == bench.StatusOK {
		p.raise(&p.Prefill, "prompt tokens came from a cache: the prefill is not a whole one")
	}
	p.raise(&p.Prefill, outlier("prefill", p.Prefill))
	p.raise(&p.Prefill, cold("prefill", prefill))
	p.raise(&p.Decode, outlier("decode step", p.Decode))
	p.raise(&p.Decode, cold("decode step", firstPass(steps)))
}

// farOut is how many medians the slowest sample of a calm series stays below.
const farOut = 3

// outlier says that the slowest of a series stands far out; "" where it does
// not.
func outlier(what string, s bench.Summary) string {
	if s.N < 4 || s.Median == nil || *s.Median <= 0 || *s.Max <= farOut**s.Median {
		return ""
	}
	return fmt.Sprintf("slowest %s takes %.1f times the median", what, *s.Max / *s.Median)
}

// coldSlack is how much slower than the steady ones a first call may be.
const coldSlack = 0.25

// cold says that the first of equal calls was slower than the steady ones, as
// happens without enough warm-up; "" where it was not. Steady is the later half
// of the calls, so that a few slow ones at the start cannot hide each other. The
// first must be above all but a tenth of that half too, at least one, so that one
// hiccup there does not hide it. ns in the order of the calls; under 4 nothing is
// said.
func cold(what string, ns []float64) string {
	if len(ns) < 4 {
		return ""
	}
	later := stat.Sorted(ns[(len(ns)+1)/2:])
	median, ok := stat.Median(later)
	if !ok || ns[0] <= later[(len(later)-1)*9/10] || ns[0]-median <= coldSlack*median {
		return ""
	}
	return fmt.Sprintf("%s: first call %.4g ms slower than median: not warmed up", what, (ns[0]-median)/1e6)
}

// firstPass are the decode steps, in ns, of the first iteration that has any: the
// calls that a cold engine makes slow. The next iteration begins again at a
// shorter context.
func firstPass(steps []bench.Step) []float64 {
	var ns []float64
	iteration := 0
	for _, s := range steps {
		if s.Warmup || s.Phase != bench.Decode {
			continue
		}
		if len(ns) > 0 && s.Iteration != iteration {
			break
		}
		iteration = s.Iteration
		ns = append(ns, float64(s.HostNS))
	}
	return ns
}

// overheadFactor is how many empty steps a step must last for the harness's own
// share of it to be left unmentioned (1 %).
const overheadFactor = 100

// short says that the shortest step of a point is short against an empty one; ""
// where it is not. Where no step was timed alone, the shortest is the mean step
// of the shortest iteration.
func (p *Point) short(empty int64) string {
	shortest := math.Inf(1)
	for _, s := range []bench.Summary{p.Prefill, p.Decode} {
		if s.Min != nil {
			shortest = min(shortest, *s.Min)
		}
	}
	if p.Prefill.Min == nil && p.Iterations.Min != nil && p.OutputLen > 0 {
		shortest = math.Floor(*p.Iterations.Min / float64(p.OutputLen))
	}
	if empty <= 0 || shortest >= overheadFactor*float64(empty) {
		return ""
	}
	share := 100.0
	if shortest > float64(empty) {
		share = 100 * float64(empty) / shortest
	}
	return fmt.Sprintf("shortest step %.0f ns is under %d times the empty step (%d ns): the harness is %.2g %% of it",
		shortest, overheadFactor, empty, share)
}

// emptyStep is the empty step that was recorded for a point, in ns; 0 where none
// was, or none that can be read.
func emptyStep(checks []bench.Check, point int) int64 {
	var e bench.EmptyStep
	for _, c := range checks {
		if c.Name != bench.CheckEmptyStep || c.Point == nil || *c.Point != point {
			continue
		}
		if err := json.Unmarshal(c.Detail, &e); err != nil {
			return 0
		}
	}
	return e.MedianNS
}

package compare

import (
	"fmt"
	"math"
	"strings"

	"lathe/bench"
	"lathe/bench/stat"
)

// RecordingDelta is the least threshold between two separate runs, as a ratio.
// Runs of the same binary one after the other differ by a percent or two on
// machines that are called quiet.
const RecordingDelta = 0.02

// Separate is the warning that every comparison of two recordings carries.
const Separate = "two separate runs: drift, clocks and placement between them are not excluded; compare --a --b interleaves both in one run"

// RecordingOptions change how two recordings are judged.
type RecordingOptions struct {
	Delta      *float64 // threshold as a ratio; raises RecordingDelta
	ForceDelta bool     // may lower it too
	A, B       []byte   // what the two are, for the report: JSON
}

const (
	leastSegments = 4 // of contexts; fewer give no interval
	mostSegments  = 8
	segmentSteps  = 3 // least contexts of a segment
	leastPasses   = 4 // repetitions of each side that serve as units
)

// Recordings compares two finished recordings of the offline loops. Decode steps
// are compared at equal context lengths only, points only where both have them.
// The units are repetitions where both have four or more, otherwise stretches of
// contexts: the interval is about this pair of runs, not about the next one. Of two
// interleaved recordings with the same variant a, the variants b are compared.
func Recordings(a, b *bench.File, o RecordingOptions) (Result, error) {
	r := Result{Verdict: Inconclusive, Reasons: []string{}, Points: []PointResult{}, Warnings: []string{Separate},
		A: o.A, B: o.B, Complete: a.Complete() && b.Complete()}
	if o.Delta != nil && !(*o.Delta > 0 && *o.Delta < 1) {
		return r, fmt.Errorf("compare recordings: threshold %g: want above 0 and below 1", *o.Delta)
	}
	differences, refused := unlike(a, b), false
	switch interleaved := Interleaved(a); {
	case interleaved != Interleaved(b):
		refused = true
		r.Reasons = append(r.Reasons, "not comparable: one file holds an interleaved comparison, the other does not; lathe report judges the first alone")
	case interleaved:
		differences, r.Warnings = withoutSeed(differences), []string{BesideTheSame}
	}
	for _, d := range differences {
		if d.refuses {
			refused = true
			r.Reasons = append(r.Reasons, "not comparable: "+d.what)
		} else {
			r.Warnings = append(r.Warnings, d.what)
		}
	}
	for _, side := range []struct {
		name string
		f    *bench.File
	}{{"A", a}, {"B", b}} {
		if failed := side.f.FailedChecks(); len(failed) > 0 {
			refused = true
			r.Reasons = append(r.Reasons, fmt.Sprintf("a check of %s failed: %s", side.name, strings.Join(failed, ", ")))
		}
		if !side.f.Complete() {
			r.Warnings = append(r.Warnings, side.name+" is incomplete: judged by what it holds")
		}
	}
	if refused {
		r.Verdict = Invalid
		return r, nil
	}
	if Interleaved(a) {
		if err := o.twoInterleaved(&r, a, b); err != nil {
			return r, fmt.Errorf("compare recordings: %w", err)
		}
		return r, nil
	}
	o.points(&r, a, b)
	return r, nil
}

// recorded is one point of a recording.
type recorded struct {
	point        int
	batch, input int
	phase        bench.Phase
	steps        []bench.Step
}

func (p recorded) key() string {
	return fmt.Sprintf("%s at batch %d, context %d", p.phase, p.batch, p.input)
}

// recordedPoints are the points that ended well, by phase, in the file's order.
func recordedPoints(f *bench.File) []recorded {
	var out []recorded
	for _, line := range f.Points {
		if line.Status != bench.StatusOK {
			continue
		}
		for _, phase := range []bench.Phase{bench.Prefill, bench.Decode} {
			p := recorded{point: line.Point, batch: line.Batch, input: line.InputLen, phase: phase}
			for _, s := range f.Steps {
				if s.Point == line.Point && s.Phase == phase && !s.Warmup && s.Variant == nil {
					p.steps = append(p.steps, s)
				}
			}
			if len(p.steps) > 0 {
				out = append(out, p)
			}
		}
	}
	return out
}

// points judges the points that both have, and the mean over them.
func (o RecordingOptions) points(r *Result, a, b *bench.File) {
	pa, pb := recordedPoints(a), recordedPoints(b)
	onlyA, used := 0, map[int]bool{}
	var es []estimate
	for _, x := range pa {
		i := 0
		for i < len(pb) && (used[i] || pb[i].key() != x.key()) {
			i++
		}
		if i == len(pb) {
			onlyA++
			continue
		}
		used[i] = true
		p, e, ok := o.point(x, pb[i])
		r.Points = append(r.Points, p)
		r.Steps += p.Steps
		if ok && p.Verdict != Invalid {
			es = append(es, e)
		}
	}
	if onlyB := len(pb) - len(used); onlyA+onlyB > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d points in common; left out: %d only in A, %d only in B", len(r.Points), onlyA, onlyB))
	}
	if len(r.Points) == 0 {
		r.Verdict = Invalid
		r.Reasons = append(r.Reasons, "not comparable: no point in common")
		return
	}
	o.headline(r, es, Separate)
}

// headline is the mean of the points. Nothing is known of how the points of one
// run hang together, so its interval is that of points which move as one.
func (o RecordingOptions) headline(r *Result, es []estimate, warning string) {
	if len(es) > 0 {
		var m estimate
		n := float64(len(es))
		for _, e := range es {
			m.mean, m.lo, m.hi = m.mean+e.mean/n, m.lo+e.lo/n, m.hi+e.hi/n
			m.tostLo, m.tostHi, m.threshold = m.tostLo+e.tostLo/n, m.tostHi+e.tostHi/n, m.threshold+e.threshold/n
		}
		if v := decide(m, false); v != undecided {
			r.Verdict = v
		}
		r.ChangePercent, r.IntervalPercent, r.ThresholdPercent = rounded(percent(m.mean)), interval(m.lo, m.hi), rounded(percent(m.threshold))
		r.Reasons = append(r.Reasons, describe(r.Verdict, m, fmt.Sprintf("%d points, %d steps, 1 run a side", len(es), r.Steps), ""))
	}
	for i := range r.Points {
		p := &r.Points[i]
		if p.Verdict == Invalid || p.Verdict == Slower && r.Verdict != Invalid {
			if r.Verdict != p.Verdict {
				r.Reasons = append(r.Reasons, fmt.Sprintf("%s at %s, batch %d, context %d", p.Verdict, p.Phase, p.Batch, p.ContextLen))
			}
			r.Verdict = p.Verdict
		}
	}
	r.Reasons = append(r.Reasons, warning)
}

// point judges one point of two recordings.
func (o RecordingOptions) point(a, b recorded) (PointResult, estimate, bool) {
	r := PointResult{Point: a.point, Batch: a.batch, ContextLen: a.input, Phase: a.phase, Verdict: Inconclusive, Clock: "host",
		Reasons: []string{}, Votes: []Vote{}, EpochPercent: []float64{}}
	a.steps, b.steps = commonContexts(a.steps, b.steps)
	device := allDevice(a.steps) && allDevice(b.steps)
	if device {
		r.Clock = "device"
	}
	r.Steps = len(a.steps) + len(b.steps)
	r.AMedianNS, r.BMedianNS = medianTime(a.steps, device), medianTime(b.steps, device)
	r.Votes = recordingVotes(a.steps, b.steps)
	e, ok := o.estimate(a, b, device)
	if ok {
		_, from := o.limit()
		r.fill(e, from)
	} else {
		r.Reasons = append(r.Reasons, "too few repetitions and common contexts for an interval")
	}
	return o.voted(r, e, ok)
}

// estimate takes repetitions as units where both sides have enough of them.
func (o RecordingOptions) estimate(a, b recorded, device bool) (estimate, bool) {
	limit, _ := o.limit()
	xs, ys := repetitions(a.steps, device), repetitions(b.steps, device)
	if len(xs) >= leastPasses && len(ys) >= leastPasses {
		return welch(xs, ys, math.Log1p(limit))
	}
	if a.phase == bench.Prefill {
		return estimate{}, false
	}
	segments := segmentChanges(a.steps, b.steps, device)
	if len(segments) < leastSegments {
		return estimate{}, false
	}
	return newEstimate(segments, overallAlpha, math.Log1p(limit))
}

// limit is the threshold as a ratio, and where it came from.
func (o RecordingOptions) limit() (ratio float64, from string) {
	if o.Delta != nil && (o.ForceDelta || *o.Delta > RecordingDelta) {
		return *o.Delta, ThresholdAsked
	}
	return RecordingDelta, ThresholdLeast
}

// welch is the difference of two means of log times with Welch's t interval.
func welch(xs, ys []float64, threshold float64) (estimate, bool) {
	mx, _ := stat.Mean(xs)
	my, _ := stat.Mean(ys)
	sx, ok := stat.SampleStd(xs)
	sy, ok2 := stat.SampleStd(ys)
	if !ok || !ok2 {
		return estimate{}, false
	}
	nx, ny := float64(len(xs)), float64(len(ys))
	vx, vy := sx*sx/nx, sy*sy/ny
	df := min(nx, ny) - 1
	if v := vx + vy; v > 0 {
		df = v * v / (vx*vx/(nx-1) + vy*vy/(ny-1))
	}
	return fromT(my-mx, math.Sqrt(vx+vy), df, overallAlpha, threshold), true
}

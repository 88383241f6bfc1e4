package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"lathe/bench"
)

// BesideTheSame is the warning that a comparison of two interleaved recordings
// carries.
const BesideTheSame = "two separate runs, each beside the same variant a: what drifted for both variants is divided out, what differs from process to process is not"

// twoInterleaved compares the variants b of two interleaved recordings that have
// the same variant a: the change of one against the other is the difference of
// their changes against a. The units are the epochs of either run (Welch's t).
func (o RecordingOptions) twoInterleaved(r *Result, a, b *bench.File) error {
	planA, evA, err := evidenceOf(a)
	if err != nil {
		return err
	}
	planB, evB, err := evidenceOf(b)
	if err != nil {
		return err
	}
	if !sameVariant(planA.A, planB.A) {
		r.Verdict = Invalid
		r.Reasons = append(r.Reasons, "not comparable: the variants a of the two recordings are not the same: only the variants b may differ")
		return nil
	}
	onlyA, used := 0, map[int]bool{}
	var es []estimate
	for _, x := range planA.Points {
		i := slices.IndexFunc(planB.Points, func(y Point) bool { return !used[y.ID] && samePoint(x, y) })
		if i < 0 {
			onlyA++
			continue
		}
		y := planB.Points[i]
		used[y.ID] = true
		jx, jy := planA.judgePoint(x, evA[x.ID]), planB.judgePoint(y, evB[y.ID])
		p, e, ok := o.besideTheSame(&jx, &jy)
		if planA.wanted(x) != planB.wanted(y) || planA.Warmup != planB.Warmup {
			p.Verdict, ok = Invalid, false
			p.Reasons = append(p.Reasons, "not comparable: the slots of the two recordings have different steps")
		}
		r.Points, r.Steps = append(r.Points, p), r.Steps+p.Steps
		if ok && p.Verdict != Invalid {
			es = append(es, e)
		}
	}
	if onlyB := len(planB.Points) - len(used); onlyA+onlyB > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d points in common; left out: %d only in A, %d only in B", len(r.Points), onlyA, onlyB))
	}
	if len(r.Points) == 0 {
		r.Verdict = Invalid
		r.Reasons = append(r.Reasons, "not comparable: no point in common")
		return nil
	}
	o.headline(r, es, BesideTheSame)
	return nil
}

// sameVariant compares two variants as values: spaces and the order of keys do not
// count, and where a plug-in's file lay does not either; its contents do.
func sameVariant(x, y json.RawMessage) bool {
	var a, b Variant
	if json.Unmarshal(x, &a) != nil || json.Unmarshal(y, &b) != nil {
		return bytes.Equal(x, y)
	}
	a.Backend.Path, b.Backend.Path = "", ""
	for _, v := range []*Variant{&a, &b} {
		for i := range v.Kernels {
			if v.Kernels[i].SHA256 != "" {
				v.Kernels[i].File = ""
			}
		}
	}
	dataA, errA := json.Marshal(a)
	dataB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(dataA, dataB)
}

func samePoint(x, y Point) bool {
	return x.Phase == y.Phase && x.Batch == y.Batch && x.ContextLen == y.ContextLen
}

// besideTheSame judges one point: the epochs of A's variant b against those of B's.
func (o RecordingOptions) besideTheSame(x, y *judgement) (PointResult, estimate, bool) {
	device := x.device && y.device
	r := PointResult{Point: x.point.ID, Batch: x.point.Batch, ContextLen: x.point.ContextLen, Phase: x.point.Phase, Verdict: Inconclusive,
		Clock: "host", Reasons: []string{}, Votes: []Vote{}, EpochPercent: []float64{},
		AMedianNS: medianOf(x.slots, true, device), BMedianNS: medianOf(y.slots, true, device), Epochs: len(x.values) + len(y.values)}
	if device {
		r.Clock = "device"
	}
	var xs, ys []float64
	for _, side := range []struct {
		name string
		j    *judgement
		to   *[]float64
	}{{"A", x, &xs}, {"B", y, &ys}} {
		blocks, steps := side.j.counts()
		r.Blocks, r.Steps = r.Blocks+blocks, r.Steps+steps
		for _, v := range epochValues(side.j.blocks, math.MaxInt, nil) {
			*side.to = append(*side.to, v.change)
		}
		for _, v := range side.j.votes {
			if v.Effect == MadeInvalid || v.Effect == MadeInconclusive {
				r.Votes = append(r.Votes, Vote{side.name + ": " + v.Check, v.Effect, v.Detail})
			}
		}
	}
	if len(xs) < leastPasses || len(ys) < leastPasses {
		r.Reasons = append(r.Reasons, fmt.Sprintf("%d sound epochs in A, %d in B: %d are wanted of each", len(xs), len(ys), leastPasses))
		return o.voted(r, estimate{}, false)
	}
	limit, from := o.limit()
	e, ok := welch(xs, ys, math.Log1p(limit))
	if ok {
		r.fill(e, from)
	}
	return o.voted(r, e, ok)
}

// fill takes the figures of an estimate.
func (r *PointResult) fill(e estimate, from string) {
	r.ChangePercent, r.IntervalPercent = rounded(percent(e.mean)), interval(e.lo, e.hi)
	r.ThresholdPercent, r.DetectablePercent = rounded(percent(e.threshold)), rounded(percent(e.detectable))
	r.PValue, r.ThresholdFrom = rounded(e.p), from
	if v := decide(e, false); v != undecided {
		r.Verdict = v
	}
}

// voted lets the votes move the verdict of a point of two recordings and words it.
func (o RecordingOptions) voted(r PointResult, e estimate, ok bool) (PointResult, estimate, bool) {
	for _, v := range r.Votes {
		switch {
		case v.Effect == MadeInvalid, v.Effect == MadeInconclusive && r.Verdict != Invalid:
			r.Verdict = Verdict(v.Effect)
			r.Reasons = append(r.Reasons, v.Check+": "+v.Detail)
		}
	}
	if ok {
		n := fmt.Sprintf("%d steps, 1 run a side", r.Steps)
		if r.Epochs > 0 {
			n = fmt.Sprintf("%d epochs, %d blocks, %s", r.Epochs, r.Blocks, n)
		}
		r.Reasons = append(r.Reasons, describe(r.Verdict, e, n, ""))
	}
	return r, e, ok
}

// withoutSeed leaves out differences of seeds: interleaved runs draw theirs afresh,
// and no prompt of one is compared with a prompt of another.
func withoutSeed(list []difference) []difference {
	return slices.DeleteFunc(list, func(d difference) bool { return strings.HasPrefix(d.what, "workload.seed:") })
}

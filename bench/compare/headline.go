package compare

import (
	"fmt"
	"math"

	"lathe/bench/stat"
)

// falseDiscovery is the rate that a table of points is held to.
const falseDiscovery = 0.05

// headline is the judgement over all points: the mean of their changes, one
// number an epoch, so that what an epoch does to all points is not counted twice.
type headline struct {
	verdict Verdict
	est     estimate
	ok      bool
	open    bool
	epochs  int
	blocks  int
	steps   int
	reasons []string
}

// confirm holds a table of points to its number. A point is faster or slower
// only if it is a discovery among them (Benjamini-Hochberg); slower lists those
// that are slower even with the family-wise error held (Holm).
func (p Plan) confirm(js []judgement) (slower []int) {
	var ps []float64
	var at []int
	for i := range js {
		if js[i].ok && js[i].verdict != Invalid {
			ps, at = append(ps, overall(js[i].est.p, p.Alpha)), append(at, i)
		}
	}
	found := benjaminiHochberg(ps, falseDiscovery)
	family := holm(ps, overallAlpha)
	for k, i := range at {
		j := &js[i]
		if j.verdict != Faster && j.verdict != Slower {
			continue
		}
		if !found[k] {
			j.reasons = append([]string{fmt.Sprintf("one of %d points: %s is not confirmed at a false discovery rate of %.0f %%",
				len(at), j.verdict, 100*falseDiscovery)}, j.reasons...)
			j.verdict = Inconclusive
			continue
		}
		if j.verdict == Slower && family[k] {
			slower = append(slower, i)
		}
	}
	return slower
}

// headlineOf judges the mean over the points that have values.
func (p Plan) headlineOf(js []judgement) headline {
	var h headline
	var in []*judgement
	missing := false // a point that was to be measured has no estimate
	for i := range js {
		switch {
		case js[i].ok && js[i].verdict != Invalid:
			in = append(in, &js[i])
		case !js[i].skipped && js[i].verdict != Invalid:
			missing = true
		}
	}
	if len(in) == 0 {
		h.verdict = Inconclusive
		return h
	}
	if missing {
		p.estimateHeadline(&h, in, math.MaxInt)
		h.verdict, h.open = Inconclusive, true
		return h
	}
	done := math.MaxInt
	for _, j := range in {
		done = min(done, p.epochsDone(j.blocks))
	}
	last := p.Looks[len(p.Looks)-1]
	for _, at := range p.Looks {
		if at > done {
			break
		}
		p.estimateHeadline(&h, in, at)
		if !h.ok || h.epochs < min(minEpochs, at) {
			continue
		}
		h.verdict = decide(h.est, p.Strict)
		if at == last && disagree(h.verdict, h.est, p.Alpha) {
			h.verdict = Inconclusive
		}
		if h.verdict != undecided {
			return h
		}
	}
	p.estimateHeadline(&h, in, math.MaxInt)
	h.verdict, h.open = Inconclusive, done < last
	return h
}

// estimateHeadline averages the points epoch by epoch, over the epochs that all
// of them have.
func (p Plan) estimateHeadline(h *headline, in []*judgement, before int) {
	*h = headline{}
	count := map[int]int{}
	change := map[int]float64{}
	limits := make([]float64, 0, len(in))
	order := []int{}
	perPoint := make([][]epochValue, len(in))
	for i, j := range in {
		perPoint[i] = epochValues(j.blocks, before, nil)
		for _, v := range perPoint[i] {
			if count[v.epoch] == 0 {
				order = append(order, v.epoch)
			}
			count[v.epoch]++
			change[v.epoch] += v.change
		}
		ratio, _, _ := p.threshold(j.point, perPoint[i])
		limits = append(limits, math.Log1p(ratio))
	}
	var epochs []float64
	for _, e := range order {
		if count[e] == len(in) {
			epochs = append(epochs, change[e]/float64(len(in)))
		}
	}
	for _, values := range perPoint {
		for _, v := range values {
			if count[v.epoch] == len(in) {
				h.blocks, h.steps = h.blocks+v.blocks, h.steps+v.steps
			}
		}
	}
	h.epochs = len(epochs)
	limit, _ := stat.Mean(limits)
	h.est, h.ok = newEstimate(epochs, p.Alpha, limit)
}

// open says whether another epoch could change the answer.
func (p Plan) open(js []judgement) bool {
	if len(js) > 1 && p.headlineOf(js).open {
		return true
	}
	for i := range js {
		if js[i].open {
			return true
		}
	}
	return false
}

// result puts the judgements together.
func (p Plan) result(js []judgement) Result {
	r := Result{A: p.A, B: p.B, Points: make([]PointResult, len(js)), Reasons: []string{}, Warnings: []string{}}
	slower := p.confirm(js)
	for i := range js {
		r.Points[i] = p.pointResult(&js[i])
	}
	h := p.headlineOf(js)
	if len(js) == 1 {
		h = single(&js[0])
	} else {
		p.tellHeadline(&h, js, slower)
	}
	r.Verdict, r.Epochs, r.Blocks, r.Steps = h.verdict, h.epochs, h.blocks, h.steps
	r.Reasons = append(r.Reasons, h.reasons...)
	if h.ok {
		r.ChangePercent = rounded(percent(h.est.mean))
		r.IntervalPercent = interval(h.est.lo, h.est.hi)
		r.ThresholdPercent = rounded(percent(h.est.threshold))
	}
	return r
}

// single is the headline of one point: what the point says.
func single(j *judgement) headline {
	h := headline{verdict: j.verdict, est: j.est, ok: j.ok, epochs: len(j.values), reasons: j.reasons}
	h.blocks, h.steps = j.counts()
	return h
}

// tellHeadline lets single points move the headline: an invalid one makes it
// invalid, one that is surely slower makes it slower, because a regression is
// not made good by a gain elsewhere.
func (p Plan) tellHeadline(h *headline, js []judgement, slower []int) {
	used := 0
	var invalid, left []string
	for i := range js {
		j := &js[i]
		switch {
		case j.verdict == Invalid:
			invalid = append(invalid, fmt.Sprintf("%s is invalid: %s", j.point, j.reasons[0]))
		case !j.ok:
			left = append(left, fmt.Sprintf("%s has no estimate: %s", j.point, j.reasons[0]))
		default:
			used++
		}
	}
	if h.ok && p.tooNoisy(h.verdict, h.est) {
		h.verdict = Inconclusive
		h.reasons = append(h.reasons, noise(h.est))
	}
	if h.ok {
		n := fmt.Sprintf("mean of %d points, %d epochs, %d blocks, %d steps", used, h.epochs, h.blocks, h.steps)
		h.reasons = append(h.reasons, describe(h.verdict, h.est, n, outlook(h.est, h.open)))
	}
	if len(slower) > 0 && h.verdict != Slower {
		var at []string
		for _, i := range slower {
			at = append(at, fmt.Sprintf("slower at %s: %s", js[i].point, signed(percent(js[i].est.mean))))
		}
		h.verdict = Slower
		h.reasons = append(at, h.reasons...)
	}
	if len(invalid) > 0 {
		h.verdict = Invalid
	}
	h.reasons = append(append(invalid, h.reasons...), left...)
}

func (p Plan) pointResult(j *judgement) PointResult {
	r := PointResult{
		Point: j.point.ID, Batch: j.point.Batch, ContextLen: j.point.ContextLen, Phase: j.point.Phase,
		Verdict: j.verdict, Epochs: len(j.values), Clock: "host",
		AMedianNS: medianOf(j.slots, false, j.device), BMedianNS: medianOf(j.slots, true, j.device),
		Reasons: j.reasons, Votes: j.votes, EpochPercent: []float64{},
		Calibrated: j.known, PowerCoupled: j.coupled, AllThrottled: j.allThrottled(),
	}
	if j.device {
		r.Clock = "device"
	}
	if j.point.Floor != nil {
		r.FloorNS = &j.point.Floor.NS
	}
	if r.Votes == nil {
		r.Votes = []Vote{}
	}
	r.Blocks, r.Steps = j.counts()
	for _, v := range j.values {
		r.EpochPercent = append(r.EpochPercent, *rounded(percent(v.change)))
	}
	if len(j.blocks) > 0 {
		r.AAFloorPercent = rounded(100 * j.floor)
	}
	if !j.ok {
		return r
	}
	e := &j.est
	r.ChangePercent, r.IntervalPercent = rounded(percent(e.mean)), interval(e.lo, e.hi)
	r.ThresholdPercent, r.DetectablePercent = rounded(percent(e.threshold)), rounded(percent(e.detectable))
	r.ThresholdFrom = p.thresholdFrom(j.floor, j.known)
	r.PValue, r.ShiftPercent, r.SpreadPercent = rounded(e.p), rounded(percent(e.shift)), rounded(percent(e.sd))
	if e.signFlip >= 0 {
		r.SignFlipP = rounded(e.signFlip)
	}
	if j.coupled {
		r.ChangeCyclesPercent = cycles(j)
	}
	if j.verdict == Inconclusive {
		n := enough(*e)
		r.EpochsNeeded = &n
	}
	return r
}

// cycles is the change in device cycles: the change in time and that of the
// clock, over the blocks whose clocks are known.
func cycles(j *judgement) *float64 {
	var logs []float64
	for i := range j.blocks {
		if b := &j.blocks[i]; b.fault == sound && b.clockA > 0 && b.clockB > 0 {
			logs = append(logs, math.Log(b.clockB/b.clockA))
		}
	}
	m, ok := stat.Mean(logs)
	if !ok {
		return nil
	}
	return rounded(percent(j.est.mean + m))
}

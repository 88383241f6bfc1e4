package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lathe/bench"
)

// judgement is what is known of one point at the moment.
type judgement struct {
	point   Point
	device  bool
	blocks  []block
	slots   []slot
	coupled bool
	values  []epochValue // of the look that decided, or of all epochs
	est     estimate
	ok      bool // est is defined
	floor   float64
	known   bool // the floor is a stored calibration
	verdict Verdict
	open    bool // undecided with looks left
	skipped bool // was not to be measured after all
	votes   []Vote
	reasons []string
}

// evidence is all that one point is judged by.
type evidence struct {
	slots    []slot
	findings []Finding
	devices  []DeviceState
	line     *bench.Point // nil: not closed
}

// judgePoint applies looks, rule and checks to one point.
func (p Plan) judgePoint(pt Point, ev evidence) judgement {
	j := judgement{point: pt, slots: ev.slots, device: usesDevice(ev.slots)}
	j.blocks = p.blocks(pt, ev.slots, j.device)
	if j.coupled = coupling(j.blocks); j.coupled {
		keepCoupled(j.blocks)
	}
	j.votes = append(j.votes, findingVotes(ev.findings, pt.ID)...)
	j.votes = append(j.votes, lineVotes(ev.line)...)
	j.skipped = ev.line != nil && ev.line.Status == bench.StatusSkipped
	j.votes = append(j.votes, deviceVotes(ev.devices)...)
	if len(ev.slots) > 0 {
		j.votes = append(j.votes, graphVote(ev.slots))
		j.votes = append(j.votes, floorVotes(pt.Floor, [2]*float64{medianOf(ev.slots, false, j.device), medianOf(ev.slots, true, j.device)})...)
	}
	p.look(&j)
	p.tell(&j)
	return j
}

// epochsDone counts the epochs in which all planned blocks are there.
func (p Plan) epochsDone(all []block) int {
	counts := map[int]int{}
	for i := range all {
		if all[i].n >= 4 {
			counts[all[i].epoch]++
		}
	}
	done := 0
	for counts[done] >= p.Blocks {
		done++
	}
	return done
}

// look judges at each look that the data reach, until one decides.
func (p Plan) look(j *judgement) {
	done := p.epochsDone(j.blocks)
	last := p.Looks[len(p.Looks)-1]
	for _, at := range p.Looks {
		if at > done {
			break
		}
		if !p.estimateAt(j, at, nil) || len(j.values) < min(minEpochs, at) {
			continue
		}
		m := twoModes(soundBlocks(j.blocks, at), j.device, j.est)
		j.verdict = decide(j.est, p.Strict)
		if at == last && disagree(j.verdict, j.est, p.Alpha) {
			j.votes = append(j.votes, Vote{"sign flip", MadeInconclusive,
				fmt.Sprintf("the exact test over the signs of the epochs disagrees: p %.3f", j.est.signFlip)})
			j.verdict = Inconclusive
		}
		if v := m.vote(); j.verdict != undecided || at == last {
			if v.Effect == MadeInconclusive && at != last {
				j.verdict = undecided
				continue
			}
			j.votes = append(j.votes, v)
			if v.Effect == MadeInconclusive {
				j.verdict = Inconclusive
			}
		}
		if j.verdict != undecided {
			break
		}
	}
	if j.verdict != undecided {
		return
	}
	j.open = done < last
	p.estimateAt(j, math.MaxInt, nil)
	if !j.ok || len(j.values) < 2 {
		p.estimateAt(j, math.MaxInt, func(b *block) bool { return b.fault != incomplete && b.fault != misordered })
	}
	j.verdict = Inconclusive
}

// estimateAt estimates from the epochs before a look.
func (p Plan) estimateAt(j *judgement, before int, usable func(*block) bool) bool {
	j.values = epochValues(j.blocks, before, usable)
	changes := make([]float64, len(j.values))
	for i, v := range j.values {
		changes[i] = v.change
	}
	ratio, floor, known := p.threshold(j.point, j.values)
	j.floor, j.known = floor, known
	j.est, j.ok = newEstimate(changes, p.Alpha, math.Log1p(ratio))
	return j.ok
}

func soundBlocks(all []block, before int) []block {
	var out []block
	for i := range all {
		if all[i].fault == sound && all[i].epoch < before {
			out = append(out, all[i])
		}
	}
	return out
}

// tell turns the votes into the verdict and both into reasons.
func (p Plan) tell(j *judgement) {
	p.blockVotes(j)
	var invalid, doubtful []string
	for _, v := range j.votes {
		switch v.Effect {
		case MadeInvalid:
			invalid = append(invalid, v.Check+": "+v.Detail)
		case MadeInconclusive:
			doubtful = append(doubtful, v.Check+": "+v.Detail)
		}
	}
	switch {
	case len(invalid) > 0:
		j.verdict, j.open = Invalid, false
		j.reasons = append(invalid, doubtful...)
	case len(doubtful) > 0:
		j.verdict = Inconclusive
		j.reasons = doubtful
	case p.tooNoisy(j.verdict, j.est):
		j.verdict = Inconclusive
		j.reasons = append(j.reasons, noise(j.est))
	}
	if s := p.statement(j); s != "" {
		j.reasons = append(j.reasons, s)
	}
	if !j.known && j.ok && p.Delta == nil {
		j.reasons = append(j.reasons, p.uncalibrated(j))
	}
	if j.coupled {
		j.reasons = append(j.reasons, "power-coupled: the clock follows the variant, the kernel itself moves it; a lower clock lock separates the two")
	}
}

// uncalibrated says what stands in for a stored calibration.
func (p Plan) uncalibrated(j *judgement) string {
	if p.thresholdFrom(j.floor, false) == ThresholdLeast {
		return fmt.Sprintf("no stored calibration: the spread of like slots in this run (%s %%) stands in for it; it asks for no more than the least threshold",
			trim(100*j.floor))
	}
	return fmt.Sprintf("no stored calibration: the threshold of %s %% comes from the spread of like slots in this run (%s %%)",
		trim(percent(j.est.threshold)), trim(100*j.floor))
}

// noise says why a "no difference" was taken back.
func noise(e estimate) string {
	return fmt.Sprintf("too noisy: only a change of %s %% or more would matter here", trim(percent(e.threshold)))
}

// blockVotes says what became of the blocks.
func (p Plan) blockVotes(j *judgement) {
	if len(j.blocks) == 0 {
		return
	}
	text := faults(j.blocks)
	v := Vote{"blocks", Passed, fmt.Sprintf("%d blocks, all sound", len(j.blocks))}
	if text != "" {
		v.Effect, v.Detail = Noted, fmt.Sprintf("%d blocks, left out: %s", len(j.blocks), text)
	}
	enoughEpochs := min(minEpochs, p.Looks[0])
	done := p.epochsDone(j.blocks)
	if valid := len(epochValues(j.blocks, math.MaxInt, nil)); !j.open && done >= p.Looks[0] && valid < enoughEpochs {
		v.Effect = MadeInconclusive
		v.Detail += fmt.Sprintf("; %d epochs have %d sound blocks, want %d epochs", valid, minBlocks, enoughEpochs)
		if j.allThrottled() {
			v.Detail = "throttled in every block: " + v.Detail
		}
	}
	j.votes = append(j.votes, v, dependence(j.slots, j.device))
}

func (j *judgement) allThrottled() bool {
	all := slices.ContainsFunc(j.blocks, func(b block) bool { return b.fault == throttled })
	for i := range j.blocks {
		all = all && (j.blocks[i].fault == throttled || j.blocks[i].fault == incomplete)
	}
	return all
}

// counts are blocks and steps of the estimate.
func (j *judgement) counts() (blocks, steps int) {
	for _, v := range j.values {
		blocks, steps = blocks+v.blocks, steps+v.steps
	}
	return blocks, steps
}

// statement says what the figures say, with its n.
func (p Plan) statement(j *judgement) string {
	if !j.ok {
		return fmt.Sprintf("%d epochs: too few for an estimate", len(j.values))
	}
	blocks, steps := j.counts()
	n := fmt.Sprintf("%d epochs, %d blocks, %d steps", len(j.values), blocks, steps)
	return describe(j.verdict, j.est, n, outlook(j.est, j.open))
}

// outlook is what an undecided look leads to.
func outlook(e estimate, open bool) string {
	if open {
		return "the run ended before its last look"
	}
	return fmt.Sprintf("about %d epochs would decide", enough(e))
}

// describe words a verdict over an estimate; outlook stands behind one that
// decided nothing.
func describe(v Verdict, e estimate, n, outlook string) string {
	change := fmt.Sprintf("%s [%s, %s]", signed(percent(e.mean)), signed(percent(e.lo)), signed(percent(e.hi)))
	limit := trim(percent(e.threshold)) + " %"
	switch v {
	case Faster, Slower:
		return fmt.Sprintf("B is %s: %s, threshold %s; %s", v, change, limit, n)
	case NoDifference:
		text := fmt.Sprintf("no difference of %s or more: %s", limit, change)
		if e.lo > 0 || e.hi < 0 {
			text += ", but consistently " + signed(percent(e.mean))
		}
		return text + "; " + n
	case Invalid:
		return fmt.Sprintf("measured all the same: %s; %s", change, n)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s, threshold %s; %s; %s", change, limit, n, outlook), "; ")
}

// trim prints a percentage with three significant digits and no zeros behind.
func trim(x float64) string {
	if r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64); err == nil {
		x = r
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// Interleaved says whether a file holds a recording of [Run].
func Interleaved(f *bench.File) bool {
	return slices.ContainsFunc(f.Checks, func(c bench.Check) bool { return c.Name == CheckPlan })
}

// Judge judges a recording of [Run] from its records alone. The error is of a
// file that holds no such comparison.
func Judge(f *bench.File) (Result, error) {
	plan, ev, err := evidenceOf(f)
	if err != nil {
		return Result{}, err
	}
	js := make([]judgement, len(plan.Points))
	for i, pt := range plan.Points {
		js[i] = plan.judgePoint(pt, ev[pt.ID])
	}
	r := plan.result(js)
	for i := range r.Points {
		if r.Points[i].Operators, err = operatorTimes(f, r.Points[i].Point); err != nil {
			return Result{}, err
		}
		r.Points[i].kernelVote(plan.B)
	}
	if err := fusedOf(f, &r); err != nil {
		return Result{}, err
	}
	r.Complete = f.Complete()
	if !r.Complete {
		r.Warnings = append(r.Warnings, "the recording is incomplete: judged by what it holds")
	}
	r.Warnings = append(r.Warnings, f.Run.Warnings...)
	r.Warnings = append(r.Warnings, f.Warnings...)
	return r, nil
}

// evidenceOf sorts a file's records by point.
func evidenceOf(f *bench.File) (Plan, map[int]evidence, error) {
	var plan *Plan
	var findings []Finding
	var devices []DeviceState
	for _, c := range f.Checks {
		var err error
		switch c.Name {
		case CheckPlan:
			plan = &Plan{}
			err = json.Unmarshal(c.Detail, plan)
		case CheckFind:
			var one Finding
			err = json.Unmarshal(c.Detail, &one)
			findings = append(findings, one)
		case CheckDevice:
			var one DeviceState
			err = json.Unmarshal(c.Detail, &one)
			devices = append(devices, one)
		}
		if err != nil {
			return Plan{}, nil, fmt.Errorf("judge a comparison: %s record: %w", c.Name, err)
		}
	}
	if plan == nil {
		return Plan{}, nil, fmt.Errorf("judge a comparison: no %s record: the file holds no interleaved comparison", CheckPlan)
	}
	if err := plan.Validate(); err != nil {
		return Plan{}, nil, fmt.Errorf("judge a comparison: %w", err)
	}
	out := map[int]evidence{}
	for _, pt := range plan.Points {
		ev := evidence{slots: slots(f.Steps, pt.ID), findings: findings, devices: devices}
		for i := range f.Points {
			if f.Points[i].Point == pt.ID {
				ev.line = &f.Points[i]
			}
		}
		out[pt.ID] = ev
	}
	return *plan, out, nil
}

// PlanOf is the plan of a recording of [Run].
func PlanOf(f *bench.File) (Plan, error) {
	plan, _, err := evidenceOf(f)
	return plan, err
}

package compare

import (
	"encoding/json"
	"fmt"
	"math"

	"lathe/bench"
	"lathe/bench/stat"
)

// Effect is where a check moved the answer.
type Effect string

// A check confirms nothing: it lets a verdict stand, notes something beside it,
// or moves it.
const (
	Passed           Effect = "ok"
	Noted            Effect = "note"
	MadeInconclusive Effect = "inconclusive"
	MadeInvalid      Effect = "invalid"
)

// Vote is what one validity check said of a point.
type Vote struct {
	Check  string `json:"check"`
	Effect Effect `json:"effect"`
	Detail string `json:"detail"`
}

const (
	modeEpochs = 3     // one epoch of so many must have two levels
	modeShare  = 0.125 // of the slots, for a level to be one and not an outlier
	modeGap    = 0.01
	modeWeight = 0.8 // of the variance
	modeTags   = 0.8 // correlation of a mode with the clock that explains it
	modeClear  = 1.5 // thresholds by which mean and blocks on one level must both be off zero to say the same
)

// modes are two levels between which slots switch within their epochs.
type modes struct {
	found     bool
	explained bool // by the clock
	harmless  bool // blocks that lie on one level say the same
	beyond    bool // the change is larger than the levels could make it
	gap       float64
	apart     float64 // of the levels' means
	share     float64 // of the upper level
	cut       float64 // between the levels
	pure      float64 // change over blocks on one level
	blocks    int     // of these
}

// twoModes looks for epochs whose slots lie on two levels, once the change
// between the variants is taken out of them: two epochs at least, and a third of
// all. A level of a whole epoch is no mode: it cancels.
func twoModes(all []block, device bool, e estimate) modes {
	var out modes
	var pure []float64
	epochs, bimodal, tagged := 0, 0, 0
	for lo := 0; lo < len(all); {
		hi := lo
		for hi < len(all) && all[hi].epoch == all[lo].epoch {
			hi++
		}
		m := epochModes(all[lo:hi], device, e.mean)
		epochs++
		if m.found {
			bimodal++
			out.gap, out.apart, out.share = max(out.gap, m.gap), max(out.apart, m.apart), out.share+m.share
		}
		if m.explained {
			tagged++
		}
		for i := lo; i < hi; i++ {
			if !m.found || all[i].oneLevel(device, e.mean, m.cut) {
				pure = append(pure, all[i].change)
			}
		}
		lo = hi
	}
	out.found = bimodal >= 2 && modeEpochs*bimodal >= epochs
	out.explained = out.found && tagged == bimodal
	out.share /= max(1, float64(bimodal))
	out.blocks = len(pure)
	out.pure, _ = stat.Median(stat.Sorted(pure))
	// What adds the same time to every step is a larger share of the lower level: the
	// blocks on one level then say more than the mean, and the same of the threshold.
	same := math.Abs(out.pure-e.mean) <= e.threshold/2 ||
		min(out.pure, e.mean) >= modeClear*e.threshold || max(out.pure, e.mean) <= -modeClear*e.threshold
	out.harmless = modeEpochs*len(pure) >= len(all) && len(pure) >= 2*minBlocks && same
	// At worst every slot of A lies on one level and every one of B on the other.
	out.beyond = max(e.lo, -e.hi)-out.apart >= e.threshold
	return out
}

// level is a slot's log time with the change between the variants taken out.
func (s *slot) level(device bool, change float64) float64 {
	if s.b {
		return s.of(device).log - change
	}
	return s.of(device).log
}

// oneLevel says whether all slots of a block lie on one side of a cut.
func (b *block) oneLevel(device bool, change, cut float64) bool {
	above := 0
	for i := range b.slots {
		if b.slots[i].level(device, change) > cut {
			above++
		}
	}
	return above == 0 || above == len(b.slots)
}

// epochModes looks for two levels among the slots of one epoch's blocks.
func epochModes(all []block, device bool, change float64) modes {
	var logs, clocks []float64
	tagged := true
	for i := range all {
		for k := range all[i].slots {
			s := &all[i].slots[k]
			logs, clocks = append(logs, s.level(device, change)), append(clocks, s.clock)
			tagged = tagged && s.clock > 0
		}
	}
	m := split(stat.Sorted(logs))
	m.explained = m.found && tagged && correlation(logs, clocks) <= -modeTags
	return m
}

// split finds the two-cluster split of ascending values that explains most of
// their variance.
func split(xs []float64) modes {
	n := len(xs)
	var total, square float64
	for _, x := range xs {
		total += x
		square += x * x
	}
	var m modes
	if n < 8 {
		return m
	}
	spread := square - total*total/float64(n)
	best, at, left := 0.0, 0, 0.0
	for k := 1; k < n; k++ {
		left += xs[k-1]
		right := total - left
		between := left*left/float64(k) + right*right/float64(n-k) - total*total/float64(n)
		if between > best {
			best, at = between, k
			m.apart = right/float64(n-k) - left/float64(k)
		}
	}
	if at == 0 || spread <= 0 {
		return m
	}
	m.gap, m.share, m.cut = xs[at]-xs[at-1], float64(n-at)/float64(n), (xs[at]+xs[at-1])/2
	m.found = best > modeWeight*spread && m.gap > modeGap && min(m.share, 1-m.share) >= modeShare
	return m
}

// correlation is Pearson's; 0 where one side does not vary.
func correlation(x, y []float64) float64 {
	mx, _ := stat.Mean(x)
	my, _ := stat.Mean(y)
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// vote is the bimodality check's.
func (m modes) vote() Vote {
	v := Vote{Check: "modes", Effect: Passed, Detail: "slots do not switch between two levels"}
	if !m.found {
		return v
	}
	v.Detail = fmt.Sprintf("slots switch between two levels %.1f %% apart, %.0f %% of them on the upper one", percent(m.gap), 100*m.share)
	v.Effect = Noted
	switch {
	case m.explained:
		v.Detail += ": the SM clock explains it"
	case m.harmless:
		v.Detail += fmt.Sprintf(": the %d blocks on one level say the same (%s)", m.blocks, signed(percent(m.pure)))
	case m.beyond:
		v.Detail += fmt.Sprintf(": were all slots of A on one and all of B on the other (%.1f %%), the change would still be beyond the threshold", percent(m.apart))
	default:
		v.Effect = MadeInconclusive
		v.Detail += fmt.Sprintf(", and the %d blocks on one level do not say the same", m.blocks)
	}
	return v
}

// dependence reports the lag-1 autocorrelation of steps within slots and what a
// slot's steps count for; it enters no verdict.
func dependence(all []slot, device bool) Vote {
	var lag, power float64
	steps := 0
	for i := range all {
		s := all[i].of(device)
		lag, power = lag+s.lag1, power+s.power
		steps = max(steps, all[i].steps)
	}
	rho := 0.0
	if power > 0 {
		rho = lag / power
	}
	n := float64(steps)
	effective := min(n, max(4, n*(1-rho)/(1+rho)))
	return Vote{Check: "dependence", Effect: Noted,
		Detail: fmt.Sprintf("lag-1 autocorrelation of steps within a slot %.2f: %d steps count as %.0f", rho, steps, effective)}
}

// Names of the Check records of a comparison.
const (
	CheckPlan   = "compare_plan"   // detail: the Plan
	CheckFind   = "compare_check"  // detail: a Finding
	CheckDevice = "compare_device" // detail: a DeviceState
)

// Finding is a numeric check of a variant, before or after it was timed, or
// anything else that can spoil a point.
type Finding struct {
	Name   string          `json:"name"`
	Point  int             `json:"point"` // -1: all points
	Epoch  int             `json:"epoch"`
	When   Moment          `json:"when"`
	OK     bool            `json:"ok"`
	Reason string          `json:"reason,omitempty"`
	Detail json.RawMessage `json:"detail,omitempty"`
}

// Moment is before or after the timing of an epoch.
type Moment string

// Outputs are checked on both sides of the timing, the second time with inputs
// that were not seen before.
const (
	Before Moment = "before"
	After  Moment = "after"
)

// DeviceState is what must not change under a comparison. Unknown is nil.
type DeviceState struct {
	Epoch          int    `json:"epoch"`
	When           Moment `json:"when"`
	MemoryClockMHz *int   `json:"memory_clock_mhz"`
	ECC            *bool  `json:"ecc"`
	MIG            *bool  `json:"mig"`
	OtherProcesses *int   `json:"other_processes"` // on the device, this one left out
}

// deviceVotes judges the states of a run. An unknown value agrees with any.
func deviceVotes(states []DeviceState) []Vote {
	if len(states) == 0 {
		return nil
	}
	vote := Vote{Check: "device", Effect: Passed, Detail: fmt.Sprintf("memory clock, ECC, MIG and other processes read %d times: nothing changed", len(states))}
	var memory *int
	var ecc, mig *bool
	for _, s := range states {
		switch {
		case differs(&ecc, s.ECC):
			return []Vote{{"device", MadeInvalid, fmt.Sprintf("ECC was switched during the run (epoch %d)", s.Epoch)}}
		case differs(&mig, s.MIG):
			return []Vote{{"device", MadeInvalid, fmt.Sprintf("MIG was switched during the run (epoch %d)", s.Epoch)}}
		case s.OtherProcesses != nil && *s.OtherProcesses > 0:
			vote = Vote{"device", MadeInconclusive, fmt.Sprintf("%d other processes on the device (epoch %d)", *s.OtherProcesses, s.Epoch)}
		case differs(&memory, s.MemoryClockMHz):
			vote = Vote{"device", MadeInconclusive, fmt.Sprintf("the memory clock changed from %d to %d MHz (epoch %d)", *memory, *s.MemoryClockMHz, s.Epoch)}
		}
	}
	return []Vote{vote}
}

// differs keeps the first known value and says whether another one is unlike it.
func differs[T comparable](first **T, now *T) bool {
	if now == nil {
		return false
	}
	if *first == nil {
		*first = now
	}
	return **first != *now
}

// findingVotes judges the findings of one point.
func findingVotes(all []Finding, point int) []Vote {
	passed := 0
	var bad []Vote
	for _, f := range all {
		if f.Point != point && f.Point >= 0 {
			continue
		}
		if f.OK {
			passed++
			continue
		}
		bad = append(bad, Vote{f.Name, MadeInvalid, fmt.Sprintf("%s the timing of epoch %d: %s", f.When, f.Epoch, f.Reason)})
	}
	if len(bad) > 0 || passed == 0 {
		return bad
	}
	return []Vote{{"checks", Passed, fmt.Sprintf("%d checks before and after timing passed", passed)}}
}

// graphVote refuses to compare a captured graph with an eager step.
func graphVote(all []slot) Vote {
	var by [2]string
	for i := range all {
		v := 0
		if all[i].b {
			v = 1
		}
		switch by[v] {
		case "", all[i].graph:
			by[v] = all[i].graph
		default:
			by[v] = "mixed"
		}
	}
	if by[0] == "" || by[1] == "" { // cut before both were measured
		return Vote{"graph", Noted, "one variant was not measured"}
	}
	if by[0] != by[1] {
		return Vote{"graph", MadeInvalid, fmt.Sprintf("A ran %s, B ran %s: two experiments", word(by[0]), word(by[1]))}
	}
	return Vote{"graph", Passed, "both variants ran " + word(by[0])}
}

func word(graph string) string {
	if graph == "none" {
		return "without graphs"
	}
	return graph
}

// floorVotes holds the medians against the roofline.
func floorVotes(f *Floor, medians [2]*float64) []Vote {
	if f == nil || f.NS <= 0 {
		return nil
	}
	vote := Vote{"floor", Passed, fmt.Sprintf("both medians are above the floor of %.4g ms (%s)", f.NS/1e6, f.Source)}
	for i, m := range medians {
		name := [...]string{VariantA, VariantB}[i]
		switch {
		case m == nil:
		case f.Binding && *m < f.NS:
			return []Vote{{"floor", MadeInvalid, fmt.Sprintf("impossible: variant %s takes %.4g ms, the floor is %.4g ms (%s)", name, *m/1e6, f.NS/1e6, f.Source)}}
		case !f.Binding && *m < measuredSlack*f.NS:
			vote = Vote{"floor", Noted, fmt.Sprintf("variant %s takes %.4g ms, under %.4g ms at the roof (%s): caches, or less work than the model says", name, *m/1e6, f.NS/1e6, f.Source)}
		}
	}
	return []Vote{vote}
}

// measuredSlack: a rate above 1.25 times the measured roof is doubtful.
const measuredSlack = 0.8

// lineVotes judges how the run closed the point.
func lineVotes(line *bench.Point) []Vote {
	if line == nil || line.Status == bench.StatusOK {
		return nil
	}
	reason := string(line.Status)
	if line.Reason != nil {
		reason += ": " + *line.Reason
	}
	if line.Status == bench.StatusSkipped {
		return []Vote{{"point", MadeInconclusive, reason}}
	}
	return []Vote{{"point", MadeInvalid, reason}}
}

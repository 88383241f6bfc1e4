package gate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Outcome is the answer for one key, or for all.
type Outcome string

// The four outcomes.
const (
	Pass         Outcome = "pass"
	Fail         Outcome = "fail"
	Inconclusive Outcome = "inconclusive"
	Invalid      Outcome = "invalid" // no bound, another machine, an impossible or missing number
)

// ExitCode is 0 for a pass, 1 for a regression, 3 inconclusive, 4 invalid.
func (o Outcome) ExitCode() int {
	switch o {
	case Pass:
		return 0
	case Fail:
		return 1
	case Inconclusive:
		return 3
	}
	return 4
}

// Options change how runs are judged.
type Options struct {
	// Band is a strip above the upper bound, as a ratio of it, in which a miss is
	// inconclusive even after it was measured again.
	Band float64
	// OtherMachine uses bounds of another machine where there is none of this
	// one, and says so.
	OtherMachine bool
	// RequireAll makes bounds of this machine and model that were not measured
	// invalid.
	RequireAll bool
	// RequireStableClocks makes a key invalid of which samples were taken with the
	// clock held down; otherwise that is a note.
	RequireStableClocks bool
}

// Case is the judgement of one key.
type Case struct {
	Key      Key       `json:"key"`
	Outcome  Outcome   `json:"outcome"`
	Reason   string    `json:"reason"`
	ValuesNS []float64 `json:"values_ns"` // one a run
	Bound    *Bound    `json:"bound"`
	// ChangePercent is the median of the runs against the bound's median.
	ChangePercent *float64 `json:"change_percent"`
	Notes         []string `json:"notes"`
	Confirm       bool     `json:"confirm"` // a miss that was not measured again yet
}

// Report is the judgement of all keys.
type Report struct {
	Outcome  Outcome  `json:"outcome"`
	Reasons  []string `json:"reasons"`
	Cases    []Case   `json:"cases"`
	Runs     []string `json:"runs"` // names of the recordings
	Warnings []string `json:"warnings"`
}

// Confirm is the number of further runs that a miss asks for.
const Confirm = 2

const (
	impossible = 0.98 // of the floor
	shiftKeys  = 4    // a shift of the machine shows in so many keys
	shiftRatio = 1.25 // by more than this, or less than its inverse
	shiftSlack = 0.05 // all alike within
)

// Check judges runs against bounds: the first one, and those that were measured
// again after a miss. A key fails if the majority of its runs miss its bound.
//
// One run alone: a miss fails, and Confirm is set on its case; measure the keys
// again, twice, and judge all three runs.
func Check(b Bounds, runs []Run, o Options) Report {
	r := Report{Reasons: []string{}, Cases: []Case{}, Runs: []string{}, Warnings: []string{}}
	for _, run := range runs {
		r.Runs = append(r.Runs, run.Name)
		r.Warnings = append(r.Warnings, run.Warnings...)
		if run.Refused != "" {
			r.Reasons = append(r.Reasons, run.Name+": "+run.Refused)
		}
	}
	if len(r.Reasons) > 0 {
		r.Outcome = Invalid
		return r
	}
	for _, key := range keys(runs) {
		r.Cases = append(r.Cases, judgeKey(b, key, runs, o))
	}
	if shift, ok := environmentShift(r.Cases); ok {
		for i := range r.Cases {
			if c := &r.Cases[i]; c.Outcome != Invalid {
				c.Outcome, c.Confirm = Inconclusive, false
				c.Reason = fmt.Sprintf("environment shift (median %.2fx), no verdict", shift)
			}
		}
	}
	r.unmeasured(b, o)
	r.conclude()
	return r
}

// keys are those of all runs, in the order of the first.
func keys(runs []Run) []Key {
	var out []Key
	for _, run := range runs {
		for _, m := range run.Measurements {
			if !slices.ContainsFunc(out, m.Key.equal) {
				out = append(out, m.Key)
			}
		}
	}
	return out
}

// find gives the bound of a key; where there is none, why.
func find(b Bounds, key Key, o Options) (bound *Bound, note, why string) {
	var near *Bound
	for i := range b.Bounds {
		x := &b.Bounds[i]
		if !x.Key.sameWork(key) {
			continue
		}
		if len(x.Key.environment(key)) == 0 {
			return x, "", ""
		}
		if near == nil {
			near = x
		}
	}
	if near == nil {
		return nil, "", "no bound for this key"
	}
	diff := strings.Join(near.Key.environment(key), "; ")
	if o.OtherMachine {
		return near, "judged by bounds of another machine: " + diff, ""
	}
	return nil, "", "not comparable: " + diff
}

func judgeKey(b Bounds, key Key, runs []Run, o Options) Case {
	c := Case{Key: key, ValuesNS: []float64{}, Notes: []string{}}
	bound, note, why := find(b, key, o)
	if note != "" {
		c.Notes = append(c.Notes, note)
	}
	c.Bound = bound
	var ms []Measurement
	for _, run := range runs {
		for _, m := range run.Measurements {
			if m.Key.equal(key) {
				if m.Unmeasured != "" {
					c.Outcome, c.Reason = Invalid, "not measured: "+m.Unmeasured
					return c
				}
				ms = append(ms, m)
				c.ValuesNS = append(c.ValuesNS, m.ValueNS)
			}
		}
	}
	if bound == nil {
		c.Outcome, c.Reason = Invalid, why
		return c
	}
	change := round(100 * (median(c.ValuesNS)/bound.MedianNS - 1))
	c.ChangePercent = &change
	for _, m := range ms {
		if m.FloorNS != nil && m.ValueNS < impossible**m.FloorNS {
			c.Outcome = Invalid
			c.Reason = fmt.Sprintf("impossible: %s is under the floor of %s", milliseconds(m.ValueNS), milliseconds(*m.FloorNS))
			return c
		}
	}
	c.decide(ms, o)
	c.clocks(ms, o)
	return c
}

// clocks says that a clock was held down.
func (c *Case) clocks(ms []Measurement, o Options) {
	for _, m := range ms {
		if m.Throttled == 0 {
			continue
		}
		text := fmt.Sprintf("throttled in %.0f %% of samples (%s)", 100*m.Throttled, m.Reasons)
		if !o.RequireStableClocks {
			c.Notes = append(c.Notes, text)
			return
		}
		c.Outcome, c.Reason, c.Confirm = Invalid, text, false
		return
	}
}

// decide applies the rule to the values of a key that has a bound.
func (c *Case) decide(ms []Measurement, o Options) {
	x := c.Bound
	over, far, doubtful := 0, 0, 0
	for _, m := range ms {
		if m.ValueNS <= x.UpperNS {
			continue
		}
		over++
		if m.ValueNS > x.UpperNS*(1+o.Band) {
			far++
		}
		if m.Interval != nil && m.Interval[0] <= x.MedianNS {
			doubtful++
		}
	}
	first := ms[0].ValueNS > x.UpperNS
	limit := fmt.Sprintf("limit %s (%s)", milliseconds(x.UpperNS), signed(100*(x.UpperNS/x.MedianNS-1)))
	value := fmt.Sprintf("%s, %s against the bound's median", milliseconds(median(c.ValuesNS)), signed(*c.ChangePercent))
	c.Confirm = first && len(ms) <= Confirm
	majority := len(ms)/2 + 1
	switch {
	case over < majority && !(2*over == len(ms) && over > 0):
		c.Outcome, c.Confirm = Pass, false
		c.Reason = fmt.Sprintf("%s, %s", value, limit)
		if over > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("%d of %d runs missed the limit", over, len(ms)))
		}
		c.remark()
	case over-doubtful < majority:
		c.Outcome = Inconclusive
		c.Reason = fmt.Sprintf("%s, %s: not told apart from the bound's median by the noise of the run", value, limit)
	case far < majority:
		c.Outcome = Inconclusive
		c.Reason = fmt.Sprintf("%s, %s: within %s of the limit, noisy", value, limit, signed(100*o.Band))
	default:
		c.Outcome = Fail
		c.Reason = fmt.Sprintf("%s, %s: %d of %d runs miss it", value, limit, over, len(ms))
	}
}

// remark says what a pass should be remembered for.
func (c *Case) remark() {
	now := median(c.ValuesNS)
	switch {
	case now < c.Bound.LowerNS:
		c.Notes = append(c.Notes, fmt.Sprintf("improved %s %%, update golden", trim(-*c.ChangePercent)))
	case now > c.Bound.MedianNS+(c.Bound.UpperNS-c.Bound.MedianNS)/2:
		c.Notes = append(c.Notes, fmt.Sprintf("slower by %s %%, within the limit", trim(*c.ChangePercent)))
	}
}

// environmentShift says that all keys moved by the same large ratio: that is the
// machine, not the code.
func environmentShift(cases []Case) (ratio float64, ok bool) {
	var ratios []float64
	for _, c := range cases {
		if c.Bound != nil && len(c.ValuesNS) > 0 {
			ratios = append(ratios, median(c.ValuesNS)/c.Bound.MedianNS)
		}
	}
	if len(ratios) < shiftKeys {
		return 0, false
	}
	m := median(ratios)
	for _, x := range ratios {
		if math.Abs(x/m-1) > shiftSlack {
			return 0, false
		}
	}
	return m, m > shiftRatio || m < 1/shiftRatio
}

// unmeasured says which bounds of this machine and model no run measured.
func (r *Report) unmeasured(b Bounds, o Options) {
	if len(r.Cases) == 0 {
		return
	}
	here := r.Cases[0].Key
	for i := range b.Bounds {
		x := &b.Bounds[i]
		if len(x.Key.environment(here)) > 0 || x.Key.Model != here.Model || x.Key.DType != here.DType ||
			slices.ContainsFunc(r.Cases, func(c Case) bool { return c.Bound == x }) {
			continue
		}
		if o.RequireAll {
			r.Cases = append(r.Cases, Case{Key: x.Key, Outcome: Invalid, Reason: "not measured", ValuesNS: []float64{}, Bound: x, Notes: []string{}})
		} else {
			r.Warnings = append(r.Warnings, x.Key.String()+" has a bound and was not measured")
		}
	}
}

// conclude takes the worst outcome: a regression first, for it is sure.
func (r *Report) conclude() {
	if len(r.Cases) == 0 {
		r.Outcome = Invalid
		r.Reasons = append(r.Reasons, "nothing was measured")
		return
	}
	r.Outcome = Pass
	for _, worst := range []Outcome{Fail, Invalid, Inconclusive} {
		for _, c := range r.Cases {
			if c.Outcome == worst {
				if r.Outcome == Pass {
					r.Outcome = worst
				}
				r.Reasons = append(r.Reasons, fmt.Sprintf("%s: %s: %s", worst, c.Key, c.Reason))
			}
		}
	}
}

// Unconfirmed are the keys that are to be measured again.
func (r Report) Unconfirmed() []Key {
	var out []Key
	for _, c := range r.Cases {
		if c.Confirm {
			out = append(out, c.Key)
		}
	}
	return out
}

// milliseconds prints nanoseconds as milliseconds.
func milliseconds(ns float64) string { return strconv.FormatFloat(ns/1e6, 'g', 5, 64) + " ms" }

func signed(pct float64) string {
	if pct < 0 {
		return "-" + trim(-pct) + " %"
	}
	return "+" + trim(pct) + " %"
}

// trim prints three significant digits and no zeros behind.
func trim(x float64) string {
	if r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64); err == nil {
		x = r
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// round keeps nine decimals: what is behind them depends on the machine.
func round(x float64) float64 { return math.Round(x*1e9)/1e9 + 0 }

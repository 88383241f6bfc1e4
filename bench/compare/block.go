package compare

import (
	"fmt"
	"math"

	"lathe/bench"
)

// Bits of NVML's event reasons.
const (
	reasonPowerCap = 0x4
	reasonsHarmful = 0x8 | 0x20 | 0x40 | 0x80 // hardware slowdown, software and hardware thermal, power brake
)

const (
	minBlocks   = 3    // valid ones, for an epoch to count
	minEpochs   = 5    // valid ones, for a verdict
	clockSpread = 0.01 // of a block's slots
	trendLimit  = 0.01 // of a slot's median
	trendSigmas = 4    // standard errors that a trend must exceed too
	trendSteps  = 8    // fewer steps do not know their noise well enough
)

// fault is why a block does not count.
type fault int

const (
	sound      fault = iota
	incomplete       // cut, or a slot without a time
	misordered       // not four slots in one of the two orders
	throttled
	powerUnequal
	clockMoved
	trending
	graphMixed
)

func (f fault) String() string {
	return [...]string{
		"sound", "incomplete", "slots out of order", "thermal or hardware slowdown",
		"power cap on one side only", "SM clock moved", "trend within a slot", "graph mode changed",
	}[f]
}

// block is four slots and what they say.
type block struct {
	epoch, block int
	slots        [4]slot
	n            int     // of slots
	change       float64 // ½(ln b1 + ln b2) − ½(ln a1 + ln a2)
	like         float64 // contrast of like slots, see likeContrast
	fault        fault
	clockA       float64 // mean of the variant's slots, MHz
	clockB       float64
	coupled      int // +1, -1: B's (A's) clocks are all above the other's, more than the spread; 0: neither
}

// blocks groups a point's slots, which are in order, and judges each block.
func (p Plan) blocks(pt Point, all []slot, device bool) []block {
	var out []block
	for i := range all {
		s := &all[i]
		if n := len(out); n == 0 || out[n-1].epoch != s.epoch || out[n-1].block != s.block {
			out = append(out, block{epoch: s.epoch, block: s.block})
		}
		b := &out[len(out)-1]
		if b.n < 4 {
			b.slots[b.n] = *s
		}
		b.n++
	}
	for i := range out {
		p.judgeBlock(pt, &out[i], device)
	}
	return out
}

// wanted is how many recorded steps a whole slot has.
func (p Plan) wanted(pt Point) int {
	if pt.Phase == bench.Prefill {
		return p.PrefillReps
	}
	return p.Steps
}

func (p Plan) judgeBlock(pt Point, b *block, device bool) {
	b.fault = p.shape(pt, b, device)
	if b.fault != sound {
		return
	}
	var logs [4]float64
	for i := range b.slots {
		logs[i] = b.slots[i].of(device).log
	}
	outer, inner := 0.5*(logs[0]+logs[3]), 0.5*(logs[1]+logs[2])
	b.change = inner - outer
	if b.slots[0].b {
		b.change = outer - inner
	}
	b.like = likeContrast(logs)
	b.fault = p.conditions(pt, b, device)
}

// likeContrast compares like slots with like: in units in which independent
// noise gives it the variance of a block's change. The outer two slots and the
// inner two are of one variant each; a linear drift cancels.
//
// With x3-x0 carrying three times the drift of x2-x1, the contrast is
// u*(x3-x0) - 3u*(x2-x1); its variance is 20 u^2 s^2, a change's is s^2.
func likeContrast(x [4]float64) float64 {
	u := 1 / math.Sqrt(20)
	return u*(x[3]-x[0]) - 3*u*(x[2]-x[1])
}

// shape refuses what is not four whole slots in one of the two orders.
func (p Plan) shape(pt Point, b *block, device bool) fault {
	if b.n < 4 {
		return incomplete
	}
	s := &b.slots
	if b.n > 4 || s[0].b != s[3].b || s[1].b != s[2].b || s[0].b == s[1].b {
		return misordered
	}
	for i := range s {
		if s[i].pos != i {
			return misordered
		}
		if s[i].steps < p.wanted(pt) || s[i].of(device).median <= 0 {
			return incomplete
		}
	}
	return sound
}

// conditions refuses a block that the machine disturbed.
func (p Plan) conditions(pt Point, b *block, device bool) fault {
	s := &b.slots
	lo, hi := math.Inf(1), math.Inf(-1)
	var least, most [2]float64 // clocks by variant
	least = [2]float64{lo, lo}
	most = [2]float64{hi, hi}
	var sum [2]float64
	var capped [2]int
	found := sound
	for i := range s {
		v := 0
		if s[i].b {
			v = 1
		}
		if s[i].clock > 0 {
			lo, hi = min(lo, s[i].clock), max(hi, s[i].clock)
			least[v], most[v] = min(least[v], s[i].clock), max(most[v], s[i].clock)
		} else {
			lo = 0
		}
		sum[v] += s[i].clock / 2
		if s[i].reasons&reasonPowerCap != 0 {
			capped[v]++
		}
		switch {
		case s[i].reasons&reasonsHarmful != 0:
			found = throttled
		case found == sound && s[i].graph != s[0].graph:
			found = graphMixed
		case found == sound && trends(pt, s[i].of(device)):
			found = trending
		}
	}
	if found != sound {
		return found
	}
	if lo > 0 {
		b.clockA, b.clockB = sum[0], sum[1]
	}
	if lo > 0 && hi > lo*(1+clockSpread) {
		switch {
		case least[1] > most[0]:
			b.coupled = 1
		case least[0] > most[1]:
			b.coupled = -1
		}
		return clockMoved
	}
	if capped[0] != capped[1] {
		return powerUnequal
	}
	return sound
}

// trends says that a slot's times rise or fall by more than the context explains,
// more than one percent, and more than its own noise explains: its warm-up was
// too short, or the machine changed.
//
// The standard error of a least-squares slope over n equally spaced points is
// sqrt(12/n)*noise over their span; Theil-Sen's is 5 % above it.
func trends(pt Point, s *series) bool {
	if s.span < trendSteps {
		return false
	}
	growth := min(max(s.slope, 0), s.median/float64(pt.ContextLen))
	switch {
	case pt.Phase == bench.Prefill:
		growth = 0
	case pt.GrowthNS != nil:
		growth = *pt.GrowthNS
	}
	excess := math.Abs(s.slope-growth) * s.span
	if excess <= trendLimit*s.median {
		return false
	}
	se := 1.05 * math.Sqrt(12/s.span) * s.noise
	return excess > trendSigmas*se
}

// coupling says whether the clock follows the variant: in three quarters or more
// of the blocks, at least four, the clocks of all slots of one variant lie above
// the other's. Then the kernel itself moves the clock, and leaving those blocks
// out would bias the change.
func coupling(all []block) bool {
	known, above, below := 0, 0, 0
	for i := range all {
		if all[i].clockA > 0 {
			known++
		}
		switch all[i].coupled {
		case 1:
			above++
		case -1:
			below++
		}
	}
	return known >= 4 && 4*max(above, below) >= 3*known
}

// keepCoupled takes back blocks whose clock moved with the variant.
func keepCoupled(all []block) {
	for i := range all {
		if all[i].fault == clockMoved || all[i].fault == powerUnequal {
			all[i].fault = sound
		}
	}
}

// faults counts why blocks do not count, in words; "" where all do.
func faults(all []block) string {
	counts := map[fault]int{}
	for i := range all {
		counts[all[i].fault]++
	}
	text := ""
	for f := incomplete; f <= graphMixed; f++ {
		if counts[f] > 0 {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%d %s", counts[f], f)
		}
	}
	return text
}

package compare

import (
	"math"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	trials = 400
	// A true rate of 5 % gives more than 12 alarms of 400 in 95 % of all cases:
	// at most 12 certify it. At most 27 do not contradict it.
	mostAlarms       = 12
	mostUncorrected  = 27
	leastFoundOf1000 = 990
)

// firstSeed is 1, so that the outcome is always the same; LATHE_FRESH_SEEDS=1
// takes others.
func firstSeed(t *testing.T) uint64 {
	t.Helper()
	if os.Getenv("LATHE_FRESH_SEEDS") == "" {
		return 1
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("fresh seeds from %d", seed)
	return seed
}

// acceptance leaves these tests out of go test -short.
func acceptance(t *testing.T) uint64 {
	t.Helper()
	if testing.Short() {
		t.Skip("400 simulated runs a world")
	}
	return firstSeed(t)
}

// tally counts the verdicts of the trials of one cell.
type tally struct {
	verdicts map[Verdict]int
	epochs   float64 // mean number
	covered  int     // intervals that hold the true change
	plain    int     // p of six epochs at most 0.05, no threshold, one look
}

func (c *tally) add(j judgement, effect float64) {
	c.verdicts[j.verdict]++
	c.epochs += float64(len(j.values)) / trials
	if truth := math.Log1p(effect); j.est.lo <= truth && truth <= j.est.hi {
		c.covered++
	}
	var changes []float64
	for _, v := range epochValues(j.blocks, 6, nil) {
		changes = append(changes, v.change)
	}
	if e, ok := newEstimate(changes, overallAlpha, 0); ok && e.p <= overallAlpha {
		c.plain++
	}
}

func cell(w world, first uint64, effect float64, plan func(seed uint64) Plan) tally {
	out := tally{verdicts: map[Verdict]int{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	const workers = 2
	for k := range workers {
		wg.Go(func() {
			for i := k; i < trials; i += workers {
				seed := first + uint64(i)
				j := simulate(w, seed, effect, plan(seed))
				mu.Lock()
				out.add(j, effect)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out
}

func (c tally) String() string {
	text := ""
	for _, v := range []Verdict{Faster, Slower, NoDifference, Inconclusive, Invalid} {
		text += string(v) + " " + strconv.Itoa(c.verdicts[v]) + ", "
	}
	return text + strconv.FormatFloat(c.epochs, 'f', 2, 64) + " epochs, covered " + strconv.Itoa(c.covered) + ", plain t " + strconv.Itoa(c.plain)
}

// Equal variants: the full rule gives at most 12 alarms of 400 in every world.
func TestAcceptanceEqualVariants(t *testing.T) {
	first := acceptance(t)
	unread := worlds()[3] // the world's clock, on a machine that cannot read it
	unread.name, unread.untagged = "clock, not read", true
	for _, w := range append(worlds(), unread) {
		c := cell(w, first, 0, onePoint)
		t.Logf("%-16s +0 %%: %s", w.name, c)
		if alarms := c.verdicts[Faster] + c.verdicts[Slower]; alarms > mostAlarms {
			t.Errorf("%s: %d alarms of %d, want at most %d", w.name, alarms, trials, mostAlarms)
		}
		if c.plain > mostUncorrected {
			t.Errorf("%s: %d of %d below 0.05 by t over six epochs alone, want at most %d", w.name, c.plain, trials, mostUncorrected)
		}
		if c.verdicts[Invalid] > 0 {
			t.Errorf("%s: %d invalid", w.name, c.verdicts[Invalid])
		}
	}
}

// A true change of 1 % is found at least 99 times of 100 where sessions do not
// differ by variant.
func TestAcceptancePower(t *testing.T) {
	first := acceptance(t)
	for _, w := range worlds()[:4] {
		c := cell(w, first, 0.01, onePoint)
		t.Logf("%-16s +1 %%: %s", w.name, c)
		if c.verdicts[Slower]*1000 < leastFoundOf1000*trials || c.verdicts[Faster] > 0 {
			t.Errorf("%s: found %d of %d", w.name, c.verdicts[Slower], trials)
		}
		if c.covered*100 < 93*trials {
			t.Errorf("%s: %d of %d intervals hold the true change", w.name, c.covered, trials)
		}
	}
}

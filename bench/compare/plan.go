package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"lathe/bench"
)

// The two variants, as they stand in a step record.
const (
	VariantA = "a"
	VariantB = "b"
)

// Plan says what is interleaved and how it is judged. It stands whole in the
// raw file, so that a judgement needs nothing else.
type Plan struct {
	Points []Point `json:"points"`

	// Looks are the numbers of epochs after which the data are judged; the last
	// one ends the run. Alpha is the nominal two-sided level of each look: 0.0221
	// at three equal looks is 5 % over all (Pocock).
	Looks []int   `json:"looks"`
	Alpha float64 `json:"alpha"`

	Blocks      int `json:"blocks"`       // of an epoch
	ExtraBlocks int `json:"extra_blocks"` // most replacements of one block that did not hold

	// A decode slot is Warmup steps and then Steps recorded ones; a prefill slot
	// is PrefillWarmup prefills and then PrefillReps recorded ones.
	Warmup        int `json:"warmup"`
	Steps         int `json:"steps"`
	PrefillWarmup int `json:"prefill_warmup"`
	PrefillReps   int `json:"prefill_reps"`

	// Each variant is warmed up in each epoch by rounds of SettleSteps steps, at
	// least two and at most SettleRounds, until a round is no longer faster than
	// the one before it by more than 0.2 %.
	SettleSteps  int `json:"settle_steps"`
	SettleRounds int `json:"settle_rounds"`

	Seed uint64 `json:"seed"` // of every coin and every prompt

	MinDelta   float64  `json:"min_delta"`   // least threshold, a ratio: 0.005
	Delta      *float64 `json:"delta"`       // asked for; raises the threshold
	ForceDelta bool     `json:"force_delta"` // Delta may lower it too
	Strict     bool     `json:"strict"`      // the whole interval must lie beyond the threshold

	Model        string `json:"model"` // identity, for the workload
	Dataset      string `json:"dataset"`
	Vocab        int    `json:"vocab"`
	MaxPositions int    `json:"max_positions"` // 0: unknown, not checked

	A json.RawMessage `json:"a"` // what the variants are, for the report
	B json.RawMessage `json:"b"`
}

// Point is one point of a comparison.
type Point struct {
	ID         int         `json:"point"` // its number in the raw file
	Batch      int         `json:"batch"`
	ContextLen int         `json:"context_len"` // prompt tokens before the slot's first step
	Phase      bench.Phase `json:"phase"`

	Floor *Floor `json:"floor"` // of the roofline; nil: unknown
	// GrowthNS is what a decode step takes longer a token of context, by the
	// roofline. Nil: anything from nothing to in proportion to the context.
	GrowthNS *float64 `json:"growth_ns"`
	// AAFloor is the stored calibration of this machine and point: the 95th
	// percentile of the change between equal variants, as a ratio (0.002 is
	// 0.2 %). Nil: none is stored.
	AAFloor *float64 `json:"aa_floor"`
}

// Floor is the least time that a step can take.
type Floor struct {
	NS float64 `json:"ns"`
	// Binding: by the datasheet, of a step whose bytes exceed four times the
	// last-level cache; a time below it is impossible. Otherwise the floor is
	// measured or caches can beat it: a time below four fifths of it is a warning.
	Binding bool   `json:"binding"`
	Source  string `json:"source"`
}

// String names a point as messages do.
func (p Point) String() string {
	return fmt.Sprintf("%s at batch %d, context %d", p.Phase, p.Batch, p.ContextLen)
}

// DefaultPlan has the shipped defaults, no points and no model.
func DefaultPlan() Plan {
	return Plan{
		Looks: []int{6, 9, 12}, Alpha: 0.0221,
		Blocks: 4, ExtraBlocks: 2,
		Warmup: 4, Steps: 32, PrefillWarmup: 1, PrefillReps: 5,
		SettleSteps: 8, SettleRounds: 8,
		MinDelta: 0.005,
	}
}

// Validate checks a plan.
func (p Plan) Validate() error {
	if len(p.Points) == 0 {
		return errors.New("plan compare: no point given")
	}
	seen := map[int]bool{}
	for _, pt := range p.Points {
		if err := p.validPoint(pt, seen); err != nil {
			return fmt.Errorf("plan compare: %w", err)
		}
	}
	if len(p.Looks) == 0 {
		return errors.New("plan compare: no look given")
	}
	last := 1
	for _, e := range p.Looks {
		if e <= last {
			return fmt.Errorf("plan compare: looks %v: want at least 2 epochs, ascending", p.Looks)
		}
		last = e
	}
	if !(p.Alpha > 0 && p.Alpha < 0.5) {
		return fmt.Errorf("plan compare: alpha %g: want above 0 and below 0.5", p.Alpha)
	}
	if !(p.MinDelta > 0 && p.MinDelta < 1) || p.Delta != nil && !(*p.Delta > 0 && *p.Delta < 1) {
		return errors.New("plan compare: the threshold must be above 0 and below 1 (0.005 is 0.5 %)")
	}
	return p.validCounts()
}

func (p Plan) validPoint(pt Point, seen map[int]bool) error {
	switch {
	case pt.ID < 0 || seen[pt.ID]:
		return fmt.Errorf("point number %d is negative or given twice", pt.ID)
	case pt.Phase != bench.Prefill && pt.Phase != bench.Decode:
		return fmt.Errorf("point %d: phase %q is neither prefill nor decode", pt.ID, pt.Phase)
	case pt.Batch < 1 || pt.ContextLen < 1:
		return fmt.Errorf("point %d: batch %d, context %d: want at least 1", pt.ID, pt.Batch, pt.ContextLen)
	}
	seen[pt.ID] = true
	for name, x := range map[string]*float64{"A/A floor": pt.AAFloor, "growth": pt.GrowthNS} {
		if x != nil && !(*x >= 0 && !math.IsInf(*x, 0)) {
			return fmt.Errorf("point %d: %s %g", pt.ID, name, *x)
		}
	}
	if pt.Floor != nil && !(pt.Floor.NS >= 0 && !math.IsInf(pt.Floor.NS, 0)) {
		return fmt.Errorf("point %d: floor %g ns", pt.ID, pt.Floor.NS)
	}
	return nil
}

func (p Plan) validCounts() error {
	for _, c := range []struct {
		name    string
		n, want int
	}{
		{"blocks", p.Blocks, minBlocks}, {"extra blocks", p.ExtraBlocks, 0},
		{"steps", p.Steps, 1}, {"warm-up steps", p.Warmup, 0},
		{"prefills", p.PrefillReps, 1}, {"warm-up prefills", p.PrefillWarmup, 0},
		{"settling steps", p.SettleSteps, 1}, {"settling rounds", p.SettleRounds, 2},
		{"vocabulary", p.Vocab, 1},
	} {
		if c.n < c.want {
			return fmt.Errorf("plan compare: %s %d: want at least %d", c.name, c.n, c.want)
		}
	}
	return nil
}

// Workload is the plan's identity.
func (p Plan) Workload() bench.Workload {
	w := bench.Workload{Kind: "compare", Model: p.Model, Dataset: p.Dataset, Seed: p.Seed}
	for _, pt := range p.Points {
		w.BatchSizes = append(w.BatchSizes, pt.Batch)
		w.InputLens = append(w.InputLens, pt.ContextLen)
		w.OutputLens = append(w.OutputLens, p.NewTokens(pt))
	}
	return w
}

// NewTokens is how many new tokens a row of the point has room for.
func (p Plan) NewTokens(pt Point) int {
	if pt.Phase == bench.Prefill {
		return 1
	}
	return 1 + max(p.Warmup+p.Steps, p.SettleSteps)
}

// records is how many steps the longest stretch without a write has.
func (p Plan) records(pt Point) int {
	if pt.Phase == bench.Prefill {
		return 4 * max(p.PrefillWarmup+p.PrefillReps, p.SettleRounds)
	}
	return 4 * max(1+p.Warmup+p.Steps, (1+p.SettleSteps)*p.SettleRounds)
}

// EpochSteps is how many steps one epoch of a point has at most: settling, warm-up
// and recorded ones, with no block replaced. A dry run makes its estimate of it.
func (p Plan) EpochSteps(pt Point) int {
	if pt.Phase == bench.Prefill {
		return 2*p.SettleRounds + p.Blocks*4*(p.PrefillWarmup+p.PrefillReps)
	}
	return 2*p.SettleRounds*p.SettleSteps + p.Blocks*4*(p.Warmup+p.Steps)
}

// over is why a point cannot be run in the model's positions; "" where it can.
func (p Plan) over(pt Point) string {
	if n := pt.ContextLen + p.NewTokens(pt); p.MaxPositions > 0 && n > p.MaxPositions {
		return fmt.Sprintf("context %d + %d steps is over the model's %d positions", pt.ContextLen, p.NewTokens(pt)-1, p.MaxPositions)
	}
	return ""
}

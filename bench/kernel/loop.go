package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"lathe/bench"
)

// Runner calls operators. Copies are numbered 0 .. 2*Schedule.Copies-1 of a mode that rotates.
type Runner interface {
	// Walk reads the first n copies in order, so that the caches hold what a rotation over them leaves.
	Walk(n int) error
	// Time calls a variant once for each copy, batch calls a sample, and returns the nanoseconds of each
	// sample. len(copies) is a multiple of batch.
	Time(mode, variant string, copies []int, batch int) ([]int64, error)
}

// Recorder keeps records.
type Recorder interface{ Write(records ...any) error }

// CheckSamples names the Check records that hold samples; their detail is a Block.
const CheckSamples = "operator_samples"

// CheckSchedule names the Check record that holds the plan of a mode; its detail is a Mode.
const CheckSchedule = "operator_schedule"

// Block is some samples of one variant, taken in a row.
type Block struct {
	Mode      string  `json:"mode"`
	Variant   string  `json:"variant"`
	Footprint int     `json:"footprint"` // 1, or 2: over twice the copies, the proof of coldness
	Index     int     `json:"index"`     // in the order of the run
	TNS       int64   `json:"t_ns"`      // on the run's clock, when it ended
	NS        []int64 `json:"ns"`        // each sample, over the calls of a sample
}

// Mode is the plan of one mode, as recorded.
type Mode struct {
	Mode     string   `json:"mode"`
	Variants []string `json:"variants"`
	Schedule Schedule `json:"schedule"`
	Call     Call     `json:"call"`
	Seed     uint64   `json:"seed"` // of the order
}

// Call is what one call moves and computes.
type Call struct {
	Bytes   uint64 `json:"bytes"`   // that must be read or written once
	Touched uint64 `json:"touched"` // of these, what rotates in this mode
}

// Loop measures modes. Between the stamps of a sample stands nothing but calls of the operator; records
// are written after each block.
type Loop struct {
	Runner   Runner
	Recorder Recorder
	Now      func() int64 // the run's clock
	Progress func(done, total int)
}

// A turn takes from LeastTurn to mostSamples samples, and each variant gets leastBlocks turns at least.
const (
	LeastTurn   = 8
	mostSamples = 64
	leastBlocks = 4
)

// turn is one variant over one footprint.
type turn struct {
	variant   string
	footprint int
}

// samples is how many a turn takes. In a rotation none of its calls may come back to a copy.
func (t turn) samples(m Mode) int {
	n := max(LeastTurn, (m.Schedule.Samples+leastBlocks-1)/leastBlocks)
	if Rotates(m.Mode) {
		n = min(n, max(1, m.Schedule.Copies/m.Schedule.Batch))
	}
	return min(n, mostSamples)
}

// Run measures one mode: variants, and where the mode rotates also footprints, take turns in blocks,
// forwards and backwards by a coin. Before a turn of a rotation all its copies are read once, so that
// the caches hold what this rotation leaves, and not the turn before.
func (l Loop) Run(ctx context.Context, m Mode) error {
	if err := l.record(CheckSchedule, m); err != nil {
		return err
	}
	var turns []turn
	for _, v := range m.Variants {
		turns = append(turns, turn{v, 1})
		if Rotates(m.Mode) {
			turns = append(turns, turn{v, 2})
		}
	}
	coin := rand.New(rand.NewPCG(m.Seed, uint64(len(m.Mode))))
	each := turns[0].samples(m)
	blocks := max(leastBlocks, (m.Schedule.Samples+each-1)/each)
	for b := range blocks {
		forwards := coin.IntN(2) == 0
		for i := range turns {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			t := turns[i]
			if !forwards {
				t = turns[len(turns)-1-i]
			}
			ns, err := l.block(m, t)
			if err != nil {
				return fmt.Errorf("time %s in mode %s: %w", t.variant, m.Mode, err)
			}
			rec := Block{Mode: m.Mode, Variant: t.variant, Footprint: t.footprint, Index: b*len(turns) + i, TNS: l.Now(), NS: ns}
			if err := l.record(CheckSamples, rec); err != nil {
				return err
			}
		}
		if l.Progress != nil {
			l.Progress(b+1, blocks)
		}
	}
	return nil
}

// block takes a turn's samples.
func (l Loop) block(m Mode, t turn) ([]int64, error) {
	copies := make([]int, t.samples(m)*m.Schedule.Batch)
	if !Rotates(m.Mode) {
		if _, err := l.Runner.Time(m.Mode, t.variant, copies[:m.Schedule.Batch], m.Schedule.Batch); err != nil {
			return nil, err
		}
		return l.Runner.Time(m.Mode, t.variant, copies, m.Schedule.Batch)
	}
	all := m.Schedule.Copies * t.footprint
	if err := l.Runner.Walk(all); err != nil {
		return nil, err
	}
	for i := range copies {
		copies[i] = i % all
	}
	return l.Runner.Time(m.Mode, t.variant, copies, m.Schedule.Batch)
}

func (l Loop) record(name string, detail any) error {
	raw, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return l.Recorder.Write(bench.Check{Kind: bench.KindCheck, Name: name, OK: true, Detail: raw})
}

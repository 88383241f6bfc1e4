package kernel

import (
	"fmt"
	"math"
	"time"
)

// The cache states that a measurement can have.
const (
	Cold   = "cold"
	Warm   = "warm"
	Stream = "stream"
)

// Modes are the cache states, the default first.
func Modes() []string { return []string{Cold, Warm, Stream} }

// Rotates says whether calls of a mode go round over copies.
func Rotates(mode string) bool { return mode != Warm }

// Footprint is what decides how many copies a rotation needs; all in bytes.
type Footprint struct {
	LastLevel uint64 // the last-level cache
	Touched   uint64 // that one call reads and writes of what rotates
	Factor    int    // how many times the cache the rotation must exceed
}

// CopiesNeeded is the smallest number of copies whose rotation touches more than Factor times the
// cache before it comes back to the first.
func (f Footprint) CopiesNeeded() (int, error) {
	if f.LastLevel == 0 {
		return 0, fmt.Errorf("plan a rotation: the size of the last-level cache is not known")
	}
	if f.Touched == 0 {
		return 0, fmt.Errorf("plan a rotation: the operator touches nothing that could rotate")
	}
	n := uint64(f.Factor)*f.LastLevel/f.Touched + 1
	if n > math.MaxInt32 {
		return 0, fmt.Errorf("plan a rotation: %d copies of %d bytes to exceed %d times %d bytes", n, f.Touched, f.Factor, f.LastLevel)
	}
	return int(n), nil
}

// Copies is how many copies are made. asked 0 takes what is needed; fewer than needed is an error,
// because such a rotation is silently warm.
func (f Footprint) Copies(asked int) (int, error) {
	needed, err := f.CopiesNeeded()
	if err != nil {
		return 0, err
	}
	if asked == 0 {
		return needed, nil
	}
	if asked < needed {
		return 0, fmt.Errorf("plan a rotation: %d copies touch %d bytes, within %d times the cache of %d: cold mode needs at least %d",
			asked, uint64(asked)*f.Touched, f.Factor, f.LastLevel, needed)
	}
	return asked, nil
}

// Budget says when a mode has enough samples. It has no influence on what one sample is.
type Budget struct {
	MinTime    time.Duration // of the operator's own time, all samples of a variant together
	MinSamples int
	MaxTime    time.Duration // of the wall clock, all samples of all variants together
}

// Pilot is what the first calls showed.
type Pilot struct {
	Call   time.Duration // one call, the operator alone
	Around time.Duration // beside it, a call: reading the copies before a turn, waking threads, stamping
}

// Schedule is how a mode is measured; both times of the pilot stand beside it in the report.
type Schedule struct {
	Copies  int `json:"copies"`           // 1 in warm
	Batch   int `json:"calls_per_sample"` // calls that one time is made of
	Samples int `json:"samples"`          // of each variant and footprint
	Pilot   Pilot
	Cut     bool `json:"cut"` // MaxTime allows fewer samples than MinTime asks for
}

// Plan makes the schedule. variants counts what takes turns: two kernels, or one kernel over two
// footprints. The number of samples follows from the operator's own time: what stands around a call
// must not make a short operator look well measured.
func (b Budget) Plan(p Pilot, copies, batch, variants int) Schedule {
	s := Schedule{Copies: copies, Batch: batch, Pilot: p}
	call := max(p.Call, 1)
	s.Samples = max(b.MinSamples, ceil(b.MinTime, call*time.Duration(batch)))
	whole := (call + max(p.Around, 0)) * time.Duration(batch*variants)
	if most := max(b.MinSamples, int(b.MaxTime/whole)); b.MaxTime > 0 && s.Samples > most {
		s.Samples, s.Cut = most, true
	}
	return s
}

func ceil(a, b time.Duration) int { return int((a + b - 1) / b) }

package load

import (
	"strings"
	"testing"
	"time"
)

// walls is a wall clock that a test moves against the run's clock.
type walls struct{ pair clockPair }

func (w *walls) read() clockPair { return w.pair }

func (w *walls) pass(d, moved time.Duration) {
	w.pair.run += int64(d)
	w.pair.wall += int64(d + moved)
}

func TestWallClockPairs(t *testing.T) {
	const base = int64(1_800_000_000e9)
	w := &walls{clockPair{run: 5e9, wall: base}}
	p := newPairs(w.read)
	ask := func(run, wall int64, want int64, ok bool) {
		t.Helper()
		got, known := p.toRun(wall, run)
		if known != ok || ok && got != want {
			t.Errorf("wall %d read at %d: %d %v, want %d %v", wall-base, run, got, known, want, ok)
		}
	}
	w.pass(500*time.Millisecond, 0)
	p.advance()
	ask(5_300_000_000, base+200_000_000, 5_200_000_000, true)
	ask(5_300_000_000, 0, 0, false) // the kernel gave none

	// Slewed by 500 ppm: a stamp in the middle moves by half of it.
	w.pass(500*time.Millisecond, 250*time.Microsecond)
	p.advance()
	ask(5_800_000_000, base+750_125_000, 5_750_000_000, true)
	if len(p.steps) != 0 {
		t.Errorf("slewing was taken for %v", p.steps)
	}

	// P137: set back by 10 s. Nothing between the pairs is known, nor is data
	// that lay in a socket since before; what comes later is.
	w.pass(500*time.Millisecond, -10*time.Second)
	p.advance()
	ask(6_100_000_000, base+1_100_250_000, 0, false)
	w.pass(500*time.Millisecond, 0)
	p.advance()
	at := w.pair.wall - 100_000_000
	ask(w.pair.run, at, w.pair.run-100_000_000, true)
	ask(w.pair.run, base+1_200_250_000, 0, false)
	if got := p.warnings(); len(got) != 1 || !strings.Contains(got[0], "clock_step_detected") || !strings.Contains(got[0], "-10s") {
		t.Errorf("warnings %q", got)
	}

	// Set forward: a stamp from before would lie in the past by the step.
	w.pass(500*time.Millisecond, time.Hour)
	p.advance()
	ask(w.pair.run, w.pair.wall-int64(time.Hour), 0, false)
	w.pass(500*time.Millisecond, 0)
	p.advance()
	ask(w.pair.run, w.pair.wall-int64(time.Hour)-600_000_000, 0, false)
}

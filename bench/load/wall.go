package load

import (
	"fmt"
	"math"
	"time"

	"lathe/bench"
)

// clockPair is one instant on two clocks.
type clockPair struct {
	run  int64 // the run's clock
	wall int64 // nanoseconds since 1970, as the kernel stamps
}

func (p clockPair) offset() int64 { return p.wall - p.run }

// wallPair reads both clocks: of a few tries the one whose two readings of the
// run's clock lie closest around that of the wall clock.
func wallPair(clock bench.Clock) func() clockPair {
	return func() clockPair {
		var best clockPair
		width := int64(math.MaxInt64)
		for range 20 {
			before := clock.Now()
			wall := time.Now().UnixNano()
			after := clock.Now()
			if after-before < width {
				width, best = after-before, clockPair{run: before + (after-before)/2, wall: wall}
			}
			if width < 300 {
				break
			}
		}
		return best
	}
}

// pairs moves the kernel's wall-clock stamps to the run's clock. It holds the
// two latest pairs: a stamp between them is moved by the offset interpolated
// between theirs, so that a wall clock that is slewed moves nothing.
type pairs struct {
	read       func() clockPair
	older, now clockPair
	first      clockPair
	stepped    bool // between older and now
	steps      []time.Duration
}

// A wall clock is slewed by at most 500 ppm. What goes beyond this was set.
const (
	slewPPM   = 600
	slewFloor = 20_000 // ns: the jitter of reading a pair
)

func newPairs(read func() clockPair) *pairs {
	p := &pairs{read: read}
	p.now = read()
	p.older, p.first = p.now, p.now
	return p
}

// advance takes a new pair.
func (p *pairs) advance() {
	p.older, p.now = p.now, p.read()
	moved := p.now.offset() - p.older.offset()
	allowed := slewFloor + (p.now.run-p.older.run)/1_000_000*slewPPM
	if p.stepped = moved > allowed || -moved > allowed; p.stepped {
		p.steps = append(p.steps, time.Duration(moved))
	}
}

// toRun is a kernel stamp on the run's clock, for data that was read at user. It
// is not known where the wall clock was stepped near it: between the two pairs,
// or somewhere before them.
func (p *pairs) toRun(wall, user int64) (t int64, ok bool) {
	if wall == 0 || p.stepped || len(p.steps) > 0 && wall < p.older.wall {
		return 0, false
	}
	offset := p.now.offset()
	if span := p.now.wall - p.older.wall; span > 0 {
		moved := offset - p.older.offset()
		offset = p.older.offset() + int64(float64(moved)*float64(wall-p.older.wall)/float64(span))
	}
	t = wall - offset
	return t, t <= user+int64(time.Millisecond)
}

// warnings says what the wall clock did.
func (p *pairs) warnings() []string {
	if len(p.steps) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("clock_step_detected: the wall clock was set %d time(s) during the run (first by %v): the kernel's receive stamps of those moments are left out", len(p.steps), p.steps[0])}
}

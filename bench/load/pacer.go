package load

import (
	"sync/atomic"
	"time"

	"lathe/bench"
)

// pacer waits until a moment on the run's clock.
type pacer interface {
	// until returns true once t has come, false as soon as wake was called.
	until(t int64) bool
	wake()
	close()
}

// timerPacer waits with the runtime's timers, which wake in whole milliseconds
// when the process is idle: sends clump. It is for systems without a better one.
type timerPacer struct {
	clock bench.Clock
	woken atomic.Bool
	bell  chan struct{}
}

func newTimerPacer(clock bench.Clock) *timerPacer {
	return &timerPacer{clock: clock, bell: make(chan struct{}, 1)}
}

// spinFor is how long before the moment the timer gives way to a busy wait.
const spinFor = 1500 * time.Microsecond

func (p *timerPacer) until(t int64) bool {
	for {
		if p.woken.Swap(false) {
			return false
		}
		left := time.Duration(t - p.clock.Now())
		if left <= 0 {
			return true
		}
		if left <= spinFor {
			continue
		}
		timer := time.NewTimer(left - spinFor)
		select {
		case <-timer.C:
		case <-p.bell:
		}
		timer.Stop()
	}
}

func (p *timerPacer) wake() {
	p.woken.Store(true)
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

func (p *timerPacer) close() {}

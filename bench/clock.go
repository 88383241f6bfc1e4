package bench

import (
	"fmt"
	"time"
)

// Clock gives the time since the start of a run in nanoseconds. It never goes
// back, and reading it allocates nothing.
type Clock interface {
	Now() int64
}

// ClockFunc makes a function a Clock: a scripted one in a test.
type ClockFunc func() int64

// Now calls f.
func (f ClockFunc) Now() int64 { return f() }

// ClockOrigin ties a run's clock (0 at the start) to the machine's, so that
// files of one boot can be laid over each other.
type ClockOrigin struct {
	MonotonicOriginNS int64  `json:"monotonic_origin_ns"` // CLOCK_MONOTONIC at the run's 0
	BootID            string `json:"boot_id"`
}

// RunClock is the monotonic clock of a run. The wall clock is read for the
// label of the start and to notice that somebody set it, never for an interval.
type RunClock struct {
	start     time.Time    // carries Go's monotonic reading
	mono      func() int64 // replaces start in tests; nil otherwise
	offset    int64        // what Now is at start; 0 in a run that was not resumed
	origin    *ClockOrigin
	wall      func() time.Time
	wallStart time.Time
}

// StartClock starts a run's clock at 0.
func StartClock() *RunClock {
	c := &RunClock{wall: wallNow, start: time.Now()}
	c.wallStart = c.wall()
	if mono, boot, ok := monotonic(); ok {
		c.origin = &ClockOrigin{MonotonicOriginNS: mono - c.Now(), BootID: boot}
	}
	return c
}

// ResumeClock goes on with the clock of a file: on the same boot it is the same
// clock, otherwise it continues one nanosecond after last, the latest time that
// the file holds. before is the file's origin, nil where it has none.
func ResumeClock(before *ClockOrigin, last int64) *RunClock {
	c := StartClock()
	c.resume(before, last)
	return c
}

func (c *RunClock) resume(before *ClockOrigin, last int64) {
	c.offset = last + 1
	if c.origin == nil {
		return
	}
	if before != nil && before.BootID == c.origin.BootID {
		if gone := c.origin.MonotonicOriginNS - before.MonotonicOriginNS; gone > last {
			c.offset = gone
		}
	}
	c.origin.MonotonicOriginNS -= c.offset
}

// Now is the time on the run's clock in nanoseconds.
func (c *RunClock) Now() int64 {
	if c.mono != nil {
		return c.mono() + c.offset
	}
	return int64(time.Since(c.start)) + c.offset
}

// Origin is the machine's monotonic clock at the run's 0, nil where the
// platform does not tell.
func (c *RunClock) Origin() *ClockOrigin { return c.origin }

// StartedAt is the label of the start: RFC 3339 in UTC.
func (c *RunClock) StartedAt() string { return c.wallStart.UTC().Format(time.RFC3339) }

// WallStep is how far the wall clock was set forward (back, where negative)
// since the start. Slewing and the resolution of clocks show as milliseconds.
func (c *RunClock) WallStep() time.Duration {
	gone := time.Duration(c.Now() - c.offset)
	return c.wall().Sub(c.wallStart) - gone
}

// wallSlack is how far the wall clock may move against the run's without a word:
// slewing and the resolution of clocks stay below.
const wallSlack = time.Second

// WallStepWarning says that the wall clock was set while a run lasted; "" where
// it moved by less than a second. step is a RunClock's WallStep.
func WallStepWarning(step time.Duration) string {
	far, way, why := step, "forward", "it was set, or the machine slept"
	if step < 0 {
		far, way, why = step.Abs(), "back", "it was set"
	}
	if far < wallSlack {
		return ""
	}
	return fmt.Sprintf("the wall clock went %s by %v against the run's clock (%s): no time here is computed from it",
		way, far.Round(time.Millisecond), why)
}

// wallNow is the wall clock without the monotonic reading, so that subtracting
// two of them shows a step instead of hiding it.
func wallNow() time.Time { return time.Now().Round(0) }

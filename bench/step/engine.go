package step

import (
	"context"

	"lathe/bench"
)

// Engine is what the loops need of an engine: one static batch, started
// together, all rows of equal age. One goroutine calls it.
type Engine interface {
	// Begin drops every sequence and takes pages for the prompts and maxNew
	// tokens a row. Nothing is computed and nothing may be cached.
	Begin(prompts [][]int32, maxNew int) error
	// Prefill submits the prompts whole; the first new token of each row is wanted.
	Prefill() error
	// Decode submits one row a sequence at the next position; its token is the
	// one that the last step chose.
	Decode() error
	// Wait returns when everything submitted is finished, and surfaces errors of
	// the work. With nothing submitted it returns nil at once and changes nothing.
	Wait() error
	// DeviceNS is the last waited step's time on the device's own clock, -1
	// where it has none.
	DeviceNS() int64
	// Graph says how the last waited step ran: "none", "eager" or "captured".
	Graph() string
	// Cached counts prompt tokens taken from a cache since Begin.
	Cached() int
	// Tokens are those that the last waited step chose, one a sequence.
	Tokens() []int32
}

// Recorder appends records of package bench to the raw file; *bench.Writer is
// one. It is called between passes only. An error ends the loop.
type Recorder interface {
	Write(records ...any) error          // a Point, Iteration or Check each
	WriteSteps(steps []bench.Step) error // the steps of one pass
}

// Opened is an engine sized for one point.
type Opened struct {
	Engine Engine
	// Memory is asked once, after the last pass; nil or a nil result: unknown.
	Memory func() *bench.PointMemory
	// Close ends the engine after the point, whatever happened; nil: nothing to do.
	Close func() error
	// Warnings go into the point's line.
	Warnings []string
}

// Opener makes an engine for a point. A *Skip error skips the point with its
// reason; any other fails the point. The sweep goes on after both.
type Opener func(ctx context.Context, p Point) (Opened, error)

// Skip says that a point cannot be measured here, and why: it does not fit.
type Skip struct{ Reason string }

// Error implements error.
func (s *Skip) Error() string { return s.Reason }

// Events are told what happened, outside every timed region; nil ones are not
// called. They may print. They are called on the loop's goroutine, so the next
// pass waits for them.
type Events struct {
	// Start comes before a point's engine is opened.
	Start func(Point)
	// Pass comes after each pass (one prefill and the decode steps behind it),
	// warm-up passes included, once its records are on disk. The slice is reused.
	Pass func(Point, []bench.Step)
	// Iteration comes after each iteration of Latency.
	Iteration func(bench.Iteration)
	// Done comes after a point's line is on disk.
	Done func(bench.Point)
}

// Rig is what a loop works with. Open, Recorder and Clock must be set.
type Rig struct {
	Open     Opener
	Recorder Recorder
	Clock    bench.Clock
	// Fits is asked before a point's prompts are made, which may be huge: a *Skip
	// error skips the point. nil: everything fits.
	Fits func(Point) error
	// Prompts gives the rows of a point, p.Batch of them; nil: RandomPrompts by
	// the plan's seed. Every pass of a point uses the same rows.
	Prompts func(p Point) ([][]int32, error)
	// Annotate completes the records of a finished pass before they are written
	// (clocks, throttle reasons); nil: nothing to add.
	Annotate func([]bench.Step)
	Events   Events
}

// Tally counts the points that a loop closed.
type Tally struct{ OK, Skipped, Failed int }

func (t *Tally) add(s bench.Status) {
	switch s {
	case bench.StatusOK:
		t.OK++
	case bench.StatusSkipped:
		t.Skipped++
	default:
		t.Failed++
	}
}

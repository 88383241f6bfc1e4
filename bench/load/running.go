package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"lathe/bench"
)

// running is a plan that is carried out.
type running struct {
	c     *Client
	plan  Plan
	clock bench.Clock
	via   transport
	gate  gate
	pool  *gate                 // connections that probes and requests share, where they have an end; else nil
	rec   *recorder             // nil: nothing is kept
	stop  atomic.Bool           // nothing more is to be sent
	ended atomic.Pointer[Class] // what is under way was ended

	mu       sync.Mutex
	pace     pacer // nil while nobody waits
	thinkers *thinkers
	open     int // arrived and not over
	handed   bool
	done     chan struct{}
	res      Result
	err      error
	failed   chan struct{} // closed with err set
}

// Run carries out a plan. What was received is in the capture when it returns,
// whatever the error: of the context when it was cancelled, of the capture's
// file, or of a request that could not be built.
func (c *Client) Run(ctx context.Context, plan Plan) (Result, error) {
	if err := plan.validate(); err != nil {
		return Result{}, fmt.Errorf("run requests: %w", err)
	}
	if !c.busy.CompareAndSwap(false, true) {
		return Result{}, fmt.Errorf("run requests: the client is busy with another plan")
	}
	defer c.busy.Store(false)
	if n := c.opt.Connections.Ahead; n > 0 {
		// A server that is not there fails each request in its own right.
		_ = c.via.ahead(ctx, n)
	}
	before := cpuTime()
	r := newRunning(c, plan)
	probes, err := r.probe()
	if err != nil {
		r.fail(err)
	}
	r.begin()
	if probes != nil {
		ended := context.AfterFunc(ctx, probes.abort)
		r.wait(ctx)
		ended()
		probes.finish(ctx)
	} else {
		r.wait(ctx)
	}
	r.finish(ctx)
	r.res.CPUNS = cpuTime() - before
	return r.res, r.err
}

func newRunning(c *Client, plan Plan) *running {
	r := &running{c: c, plan: plan, clock: c.clock, via: c.via, done: make(chan struct{}), failed: make(chan struct{})}
	if r.gate.limit = plan.Concurrency; plan.Probes != nil && plan.Probes.Shared && plan.Concurrency > 0 {
		r.pool = &gate{limit: plan.Concurrency}
	}
	r.res = Result{Classes: map[Class]int{}, Sent: make([]int64, plan.Count)}
	for i := range r.res.Sent {
		r.res.Sent[i] = -1
	}
	if plan.Capture != nil {
		r.rec = newRecorder(plan.Capture, wallPair(c.clock), r.fail)
	}
	return r
}

// fail ends the run with an error; the first one counts.
func (r *running) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		close(r.failed)
	}
}

// begin starts the goroutines that build and send requests.
func (r *running) begin() {
	ready := make(chan *exchange, 256)
	go r.build(ready)
	go func() {
		pace, err := newPacer(r.clock)
		if err != nil {
			r.fail(err)
		} else {
			r.dispatch(pace, ready)
		}
		for range ready { // lets build end where the run was halted
		}
		r.mu.Lock()
		r.pace, r.handed = nil, true
		r.settle()
		r.mu.Unlock()
		if err == nil {
			pace.close()
		}
	}()
}

// build forms requests ahead of their sends, so that their size is in no time.
func (r *running) build(ready chan<- *exchange) {
	defer close(ready)
	for i := range r.plan.Count {
		x, err := r.exchange(i)
		if err != nil {
			r.fail(fmt.Errorf("request %d: %w", i, err))
			return
		}
		if r.stop.Load() {
			return
		}
		ready <- x
	}
}

func (r *running) exchange(i int) (*exchange, error) {
	job, err := r.plan.Job(i)
	if err != nil {
		return nil, err
	}
	return r.prepared(job, i)
}

func (r *running) prepared(job Job, i int) (*exchange, error) {
	head, err := job.wire(r.c.target)
	if err != nil {
		return nil, err
	}
	return &exchange{job: job, run: r, index: i, head: head}, nil
}

func (r *running) dispatch(pace pacer, ready <-chan *exchange) {
	d := &dispatcher{pace: pace, now: r.clock.Now, start: r.clock.Now(), halted: r.stop.Load, arrive: r.arrive}
	d.next = func() (*exchange, bool) {
		x, ok := <-ready
		return x, ok
	}
	r.mu.Lock()
	r.pace, r.res.StartNS = pace, d.start
	if r.plan.Loop != nil {
		r.thinkers = newThinkers(*r.plan.Loop, d.start, r.wakePacer)
	}
	r.mu.Unlock()
	switch {
	case r.thinkers != nil:
		d.closed(r.thinkers)
	case r.plan.Schedule.Relative():
		d.relative(r.plan.Count, r.plan.Schedule.Sleeps())
	default:
		d.absolute(r.plan.Schedule.Offsets())
	}
}

// arrive is told that a request is due.
func (r *running) arrive(x *exchange, due int64) {
	x.scheduled = due
	r.mu.Lock()
	r.open++
	r.mu.Unlock()
	admitted, queued := r.gate.arrive(x)
	switch {
	case admitted:
		r.admit(x)
	case !queued:
		r.mu.Lock()
		r.open--
		r.settle()
		r.mu.Unlock()
	}
}

func (r *running) admit(x *exchange) {
	x.admitted = r.clock.Now()
	r.connect(x)
}

// settle closes done when nothing is left. r.mu is held.
func (r *running) settle() {
	if r.handed && r.open == 0 {
		select {
		case <-r.done:
		default:
			r.res.EndNS = r.clock.Now()
			close(r.done)
		}
	}
}

// wait lets the run go on until it is over or something ends it.
func (r *running) wait(ctx context.Context) {
	var limit <-chan time.Time
	if r.plan.Duration > 0 {
		limit = time.After(r.plan.Duration)
	}
	select {
	case <-r.done:
		return
	case <-limit:
		r.halt(r.plan.Drain, ClassDeadline, ClassTimeout)
	case <-r.failed:
		r.halt(0, ClassCancelled, ClassCancelled)
	case <-ctx.Done():
		r.res.Interrupted = true
		r.halt(r.plan.Grace, ClassCancelled, ClassCancelled)
	}
	<-r.done
}

// halt sends no more, gives what is running a while, and ends the rest: with the
// first class where there was no while, else with the second.
func (r *running) halt(while time.Duration, at, after Class) {
	r.stop.Store(true)
	dropped := r.gate.close()
	r.mu.Lock()
	r.open -= len(dropped)
	r.settle()
	r.mu.Unlock()
	r.wakePacer()
	if while > 0 {
		at = after
		select {
		case <-r.done:
			return
		case <-r.failed:
		case <-time.After(while):
		}
	}
	r.ended.Store(&at)
	r.via.abort(r, at)
	r.leavePool(func(x *exchange) bool { return x.probe == nil }, at)
}

// aborted is the class with which everything of a run that was aborted ends,
// also what reaches a transport later; "" before.
func (r *running) aborted() Class {
	if c := r.ended.Load(); c != nil {
		return *c
	}
	return ""
}

// wakePacer interrupts the wait for the next due time.
func (r *running) wakePacer() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pace != nil {
		r.pace.wake()
	}
}

// finish flushes the capture and completes the result.
func (r *running) finish(ctx context.Context) {
	r.res.Connected = r.via.figures()
	if r.rec != nil {
		if err := r.rec.stop(); err != nil {
			r.fail(err)
		}
		r.res.Stalls = r.rec.stalls
		r.res.Warnings = append(r.res.Warnings, r.rec.pairs.warnings()...)
	}
	r.res.Unsent = r.plan.Count
	for _, t := range r.res.Sent {
		if t >= 0 {
			r.res.Unsent--
		}
	}
	r.res.judge(r.plan)
	if r.res.Interrupted && r.err == nil {
		r.err = context.Cause(ctx)
	}
}

package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lathe/bench"
)

// Probes are small requests beside a plan, one after the other and outside its
// semaphore: what a caller that has nothing to do with the load waits for. Each
// is a line of its own kind in the capture, so that none is taken for a request
// of the plan.
type Probes struct {
	Call  Call
	Pause time.Duration // from the end of one to the next
	// Shared says that they use the connections of the plan, of which there are
	// then no more than its Concurrency, and that the plan is not over before the
	// pause behind the last one is. Otherwise they have one connection of their
	// own, and the last one ends after the plan.
	Shared    bool
	PromptLen int
}

// probeBody bounds the answer to a probe, which is a line of the capture.
const probeBody = 1 << 20

// prober carries probes out. Its exchanges belong to a running of their own, so
// that a transport can end them and not the plan's.
type prober struct {
	p     *Probes
	plan  *running
	own   *running
	over  chan ending
	stop  chan struct{} // closed once the plan is over
	cut   chan struct{} // closed where they are to end at once
	gone  chan struct{}
	once  sync.Once
	close func() // of their own connection
}

// probe starts the probes of the plan; nil where there are none.
func (r *running) probe() (*prober, error) {
	if r.plan.Probes == nil {
		return nil, nil
	}
	opt := r.c.opt
	opt.Limits.BodySize, opt.Retry = probeBody, Retry{}
	opt.Connections, opt.Loops, opt.UserStamps = VLLMConnections(1), 1, true
	c := &Client{opt: opt, clock: r.clock, target: r.c.target, stamps: -1}
	b := &prober{p: r.plan.Probes, plan: r, over: make(chan ending, 1), stop: make(chan struct{}), cut: make(chan struct{}),
		gone: make(chan struct{}), close: func() {}}
	b.own = &running{c: c, clock: r.clock, via: r.via}
	if !b.p.Shared {
		via, err := newTransport(c)
		if err != nil {
			return nil, fmt.Errorf("connection of the probes: %w", err)
		}
		b.own.via, b.close = via, via.close
	}
	go b.run()
	return b, nil
}

func (b *prober) run() {
	defer close(b.gone)
	for i := 0; ; i++ {
		x, err := b.exchange(i)
		if err != nil {
			b.plan.fail(fmt.Errorf("probe: %w", err))
			return
		}
		b.send(x)
		e := <-b.over
		if b.plan.rec != nil {
			b.plan.rec.close(&bench.Probe{Request: *b.record(x, e)})
		}
		if !b.pause() {
			return
		}
	}
}

// pause waits for the next probe; false where there is none.
func (b *prober) pause() bool {
	wait := time.NewTimer(b.p.Pause)
	defer wait.Stop()
	stop := b.stop
	if b.p.Shared {
		stop = nil // it is asked behind the pause
	}
	select {
	case <-wait.C:
	case <-stop:
		return false
	case <-b.cut:
		return false
	}
	select {
	case <-b.stop:
		return false
	case <-b.cut:
		return false
	default:
		return true
	}
}

func (b *prober) exchange(i int) (*exchange, error) {
	job := Job{ID: fmt.Sprintf("p%d", i), Call: b.p.Call, PromptLen: b.p.PromptLen, RequestedOutputLen: 1}
	x, err := b.own.prepared(job, i)
	if err == nil {
		x.probe = b
	}
	return x, err
}

func (b *prober) send(x *exchange) {
	x.scheduled = b.plan.clock.Now()
	x.admitted = x.scheduled
	if b.p.Shared {
		b.plan.connect(x)
		return
	}
	b.own.via.start(x)
}

// ended is told by a transport that a probe is over.
func (b *prober) ended(x *exchange, e ending) {
	if b.p.Shared {
		b.plan.disconnect(x)
	}
	b.over <- e
}

func (b *prober) record(x *exchange, e ending) *bench.Request {
	q := x.record(e)
	q.Kind, q.Reads = bench.KindProbe, append(q.Reads, x.reads...)
	return q
}

// abort ends the probes at once.
func (b *prober) abort() {
	b.once.Do(func() {
		close(b.cut)
		class := ClassCancelled
		b.own.ended.Store(&class)
		b.own.via.abort(b.own, class)
		b.plan.leavePool(func(x *exchange) bool { return x.probe != nil }, class)
	})
}

// finish lets the last probe end once the plan is over, or ends it where
// something stops the run.
func (b *prober) finish(ctx context.Context) {
	close(b.stop)
	select {
	case <-b.gone:
	case <-b.plan.failed:
	case <-ctx.Done():
		b.plan.res.Interrupted = true
	}
	if ctx.Err() != nil || b.plan.halted() {
		b.abort() // or waits for one that is under way
	}
	<-b.gone
	b.close()
	if b.p.Shared && !b.plan.halted() {
		b.plan.res.EndNS = b.plan.clock.Now()
	}
}

// halted says that the run was cut short from outside.
func (r *running) halted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.res.Interrupted || r.err != nil
}

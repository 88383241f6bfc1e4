package load

import (
	"errors"
	"time"

	"lathe/bench"
)

var errStopped = errors.New("the run was stopped")

func attempt(x *exchange, e ending) bench.Attempt {
	return bench.Attempt{SentNS: x.began, EndNS: e.t, Status: x.status(), ErrorClass: string(e.class)}
}

// over is told by a transport that an attempt ended and that its connection is
// free. It repeats the request, goes on with its conversation, or closes it.
func (r *running) over(x *exchange, e ending) {
	if x.probe != nil {
		x.probe.ended(x, e)
		return
	}
	r.disconnect(x)
	if x.repeats(e) && !r.stop.Load() {
		x.attempts = append(x.attempts, attempt(x, e))
		time.AfterFunc(r.c.opt.Retry.Wait, func() { r.again(x) })
		return
	}
	r.settled(x, e)
}

// again starts the next attempt, or gives up where the run was halted meanwhile.
func (r *running) again(x *exchange) {
	if r.stop.Load() {
		now := r.clock.Now()
		x.begin(now)
		r.settled(x, failed(now, fail(ClassCancelled, errStopped)))
		return
	}
	r.connect(x)
}

// settled closes the request in the capture and passes its permit on.
func (r *running) settled(x *exchange, e ending) {
	if r.rec != nil {
		r.rec.close(x.record(e))
	}
	if r.plan.Over != nil {
		r.plan.Over.Add(1)
	}
	r.mu.Lock()
	r.res.Started++
	if e.class == "" {
		r.res.Completed++
	} else {
		r.res.Classes[e.class]++
	}
	if r.res.Sent[x.index] < 0 {
		r.res.Sent[x.index] = x.sent
	}
	r.mu.Unlock()
	if x.job.Follow != nil && e.class == "" && !r.stop.Load() {
		go r.follow(x, e.t)
		return
	}
	r.release(e.t)
}

// follow sends the next request of a conversation under the permit of the one
// before.
func (r *running) follow(x *exchange, ended int64) {
	job, ok := x.job.Follow(x.kept)
	if !ok {
		r.release(ended)
		return
	}
	next, err := r.prepared(job, x.index)
	if err != nil {
		r.fail(err)
		r.release(ended)
		return
	}
	next.scheduled = r.clock.Now()
	next.admitted = next.scheduled
	r.connect(next)
}

// release passes a permit on and counts one request less.
func (r *running) release(ended int64) {
	if r.thinkers != nil {
		r.thinkers.answered(ended)
	}
	if next := r.gate.leave(); next != nil {
		r.admit(next)
	}
	r.mu.Lock()
	r.open--
	r.settle()
	r.mu.Unlock()
}

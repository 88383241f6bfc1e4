package load

import (
	"container/heap"
	"sync"
	"time"

	"lathe/bench/arrival"
)

// dispatcher hands requests over when they are due. It knows no socket: arrive
// is told which request, and when it was due.
type dispatcher struct {
	pace   pacer
	now    func() int64
	start  int64 // offset 0 of the schedule
	next   func() (*exchange, bool)
	arrive func(x *exchange, due int64)
	halted func() bool
}

// until waits for t; false means that the run was halted.
func (d *dispatcher) until(t int64) bool {
	for !d.halted() {
		if d.pace.until(t) {
			return !d.halted()
		}
	}
	return false
}

// absolute sends at fixed offsets: lateness of one request is not carried over
// to the next.
func (d *dispatcher) absolute(offsets []time.Duration) {
	for _, offset := range offsets {
		x, ok := d.next()
		if !ok || !d.until(d.start+int64(offset)) {
			return
		}
		d.arrive(x, d.start+int64(offset))
	}
}

// relative sleeps each gap from the moment when the request before it was handed
// over, so that the client's own time adds up, and at the end the gap that
// follows the last request.
func (d *dispatcher) relative(n int, gaps []time.Duration) {
	due := d.start
	for i := range n {
		x, ok := d.next()
		if !ok || !d.until(due) {
			return
		}
		d.arrive(x, due)
		due = d.now()
		if i < len(gaps) {
			due += int64(gaps[i])
		}
	}
	if len(gaps) > 0 {
		d.until(due)
	}
}

// thinkers is the closed loop: clients that answer, think, and send again.
type thinkers struct {
	mu   sync.Mutex
	due  moments
	plan arrival.ClosedLoop
	n    int // pauses handed out
	wake func()
}

// moments is a heap of times.
type moments []int64

func (m moments) Len() int           { return len(m) }
func (m moments) Less(i, j int) bool { return m[i] < m[j] }
func (m moments) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(v any)        { *m = append(*m, v.(int64)) }
func (m *moments) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

func newThinkers(plan arrival.ClosedLoop, start int64, wake func()) *thinkers {
	t := &thinkers{plan: plan, wake: wake}
	for range min(plan.Clients, len(plan.ThinkSeconds)) {
		t.schedule(start)
	}
	return t
}

// schedule lets one client think from now on, if a request is left for it.
func (t *thinkers) schedule(now int64) bool {
	if t.n == len(t.plan.ThinkSeconds) {
		return false
	}
	heap.Push(&t.due, now+int64(time.Duration(t.plan.ThinkSeconds[t.n]*float64(time.Second))))
	t.n++
	return true
}

// answered is told that a client got its answer.
func (t *thinkers) answered(now int64) {
	t.mu.Lock()
	more := t.schedule(now)
	t.mu.Unlock()
	if more {
		t.wake()
	}
}

// earliest is the next due time; far in the future where all clients wait for
// an answer.
func (t *thinkers) earliest() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.due) == 0 {
		return 1 << 62
	}
	return t.due[0]
}

func (t *thinkers) take() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return heap.Pop(&t.due).(int64)
}

// closed sends as the thinkers say.
func (d *dispatcher) closed(t *thinkers) {
	for range t.plan.ThinkSeconds {
		x, ok := d.next()
		if !ok {
			return
		}
		for !d.pace.until(t.earliest()) {
			if d.halted() {
				return
			}
		}
		if d.halted() {
			return
		}
		d.arrive(x, t.take())
	}
}

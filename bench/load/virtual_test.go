package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"lathe/bench"
	"lathe/bench/arrival"
	"lathe/bench/pyrand"
)

// world is a run without sockets and without waiting: a clock that jumps to
// whatever comes next, and a server that answers after a time that the test
// gives.
type world struct {
	t       int64
	cost    int64 // of handing one request over
	service func(x *exchange) time.Duration
	events  []event
	sent    []*exchange
}

type event struct {
	t int64
	x *exchange
}

func (w *world) Now() int64 { return w.t }

// until lets the clock go to t, and everything before it happen.
func (w *world) until(t int64) bool {
	for len(w.events) > 0 && w.events[0].t <= t {
		e := w.events[0]
		w.events = w.events[1:]
		w.t = max(w.t, e.t)
		x := e.x
		x.run.over(x, ending{t: w.t, kind: endEOF})
		if x.run.thinkers != nil {
			return false // as a wake would
		}
	}
	w.t = max(w.t, t)
	return true
}

func (w *world) wake()  {}
func (w *world) close() {}

func (w *world) start(x *exchange) {
	x.begin(w.t)
	w.sent = append(w.sent, x)
	w.t += w.cost
	at := w.t + int64(w.service(x))
	i, _ := slices.BinarySearchFunc(w.events, at, func(e event, t int64) int {
		if e.t <= t {
			return -1
		}
		return 1
	})
	w.events = slices.Insert(w.events, i, event{at, x})
}

func (w *world) abort(*running, Class)            {}
func (w *world) ahead(context.Context, int) error { return nil }
func (w *world) figures() Connected               { return Connected{} }

// carryOut runs a plan in w.
func (w *world) carryOut(t *testing.T, p Plan) Result {
	t.Helper()
	p.Job = jobs
	if err := p.validate(); err != nil {
		t.Fatal(err)
	}
	target, err := parseTarget("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	r := newRunning(&Client{clock: w, target: target, via: w}, p)
	ready := make(chan *exchange, p.Count)
	r.build(ready)
	r.dispatch(w, ready)
	for len(w.events) > 0 {
		w.until(w.events[0].t)
	}
	r.mu.Lock()
	r.handed = true
	r.settle()
	r.mu.Unlock()
	<-r.done
	r.finish(context.Background())
	return r.res
}

func takes(d time.Duration) func(*exchange) time.Duration {
	return func(*exchange) time.Duration { return d }
}

func legacy(t *testing.T, seed uint64) *pyrand.Legacy {
	t.Helper()
	g, err := pyrand.NewLegacy(seed)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func closedLoop(t *testing.T, clients, n int, think float64) arrival.ClosedLoop {
	t.Helper()
	l, err := arrival.NewClosedLoop(legacy(t, 1), clients, n, arrival.ConstantThink, think)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// P088: an absolute schedule does not add its delays up; a relative one does,
// and says so.
func TestP088_AbsoluteScheduleDoesNotDrift(t *testing.T) {
	absolute, err := arrival.Constant(2000, 200)
	if err != nil {
		t.Fatal(err)
	}
	cost := int64(450 * time.Microsecond)
	w := &world{cost: cost, service: takes(time.Millisecond)}
	res := w.carryOut(t, Plan{Count: 2000, Schedule: absolute})
	last := w.sent[1999]
	if last.sent != int64(1999)*5e6 || last.scheduled != last.sent || res.Realised == nil || res.Realised.Lag.MaxNS != 0 {
		t.Errorf("last sent %d scheduled %d, realised %+v", last.sent, last.scheduled, res.Realised)
	}
	relative := absolute
	relative.Gaps = slices.Repeat([]float64{0.005}, 2000)
	w = &world{cost: cost, service: takes(time.Millisecond)}
	res = w.carryOut(t, Plan{Count: 2000, Schedule: relative})
	if got := w.sent[1999].sent; got != 1999*(5e6+cost) || res.Realised.DriftNS != 1999*cost {
		t.Errorf("last sent %d, realised %+v", got, res.Realised)
	}
	warned := res.Realised.Warnings(arrival.DefaultLimits(), false)
	if len(warned) == 0 || !strings.Contains(warned[0], "drift") {
		t.Errorf("warnings %q", warned)
	}
	if end := res.EndNS - res.StartNS; end != 2000*(5e6+cost) {
		t.Errorf("the run lasted %d: the surplus gap is part of it", end)
	}
}

// P092: 10 workers cannot reach 10 requests/s at 2 s each. What a request takes
// from its send stays 2 s, from its schedule it grows.
func TestP092_FromSendAndFromSchedule(t *testing.T) {
	s, err := arrival.Constant(300, 10)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{service: takes(2 * time.Second)}
	res := w.carryOut(t, Plan{Count: 300, Schedule: s, Concurrency: 10})
	worst := int64(0)
	for _, x := range w.sent {
		worst = max(worst, x.sent+2e9-x.scheduled)
	}
	if len(w.sent) != 300 || worst < 29e9 || worst > 33e9 {
		t.Errorf("%d sent, latest %v after its schedule", len(w.sent), time.Duration(worst))
	}
	within := w.sent[149]
	if late := within.sent + 2e9 - within.scheduled; late < 15e9 || late > 18e9 {
		t.Errorf("request 149: %v after its schedule", time.Duration(late))
	}
	if len(res.ClientLimits) == 0 || !strings.Contains(res.ClientLimits[0], "client-limited: 10 permits cannot keep up") {
		t.Errorf("%q", res.ClientLimits)
	}
}

// P099: 2 requests/s of 3 s each are 6 in flight.
func TestP099_LittlesLaw(t *testing.T) {
	s, err := arrival.Constant(200, 2)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{service: takes(3 * time.Second)}
	w.carryOut(t, Plan{Count: 200, Schedule: s})
	var starts, ends []time.Duration
	for _, x := range w.sent {
		starts, ends = append(starts, time.Duration(x.sent)), append(ends, time.Duration(x.sent)+3*time.Second)
	}
	o, err := arrival.InFlight(starts, ends)
	if err != nil || o.Steady == nil || math.Abs(*o.Steady-6) > 0.2 {
		t.Errorf("%+v %v", o, err)
	}
}

// P090: with one token a request, a closed loop keeps every client in prefill;
// with longer outputs hardly any.
func TestP090_LockStep(t *testing.T) {
	for _, c := range []struct {
		tokens      int
		low, high   float64
		first, last time.Duration
	}{{1, 3.7, 4.0, 190 * time.Millisecond, 210 * time.Millisecond}, {51, 0.1, 0.4, 40 * time.Millisecond, 60 * time.Millisecond}} {
		var free int64 // when the prefill queue is empty
		first := map[*exchange]int64{}
		w := &world{}
		w.service = func(x *exchange) time.Duration {
			free = max(free, w.t) + 50e6
			first[x] = free
			return time.Duration(free-w.t) + time.Duration(c.tokens-1)*20*time.Millisecond
		}
		loop := closedLoop(t, 4, 40, 0)
		w.carryOut(t, Plan{Count: 40, Loop: &loop, Concurrency: 4})
		var starts, ends []time.Duration
		var ttft []time.Duration
		for i, x := range w.sent {
			starts, ends = append(starts, time.Duration(x.sent)), append(ends, time.Duration(first[x]))
			if i >= 4 {
				ttft = append(ttft, time.Duration(first[x]-x.sent))
			}
		}
		o, err := arrival.InFlight(starts, ends)
		if err != nil || o.Mean < c.low || o.Mean > c.high {
			t.Errorf("%d tokens: %.2f clients in prefill, want %v to %v (%v)", c.tokens, o.Mean, c.low, c.high, err)
		}
		slices.Sort(ttft)
		if m := ttft[len(ttft)/2]; m < c.first || m > c.last {
			t.Errorf("%d tokens: median time to first token %v", c.tokens, m)
		}
	}
}

// A closed loop thinks, and its clients take requests in the order in which
// they are free.
func TestClosedLoopMatchesItsPlan(t *testing.T) {
	service := func(i int) time.Duration { return time.Duration(100+37*(i%5)) * time.Millisecond }
	loop, err := arrival.NewClosedLoop(legacy(t, 7), 3, 30, arrival.ConstantThink, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{service: func(x *exchange) time.Duration { return service(x.index) }}
	w.carryOut(t, Plan{Count: 30, Loop: &loop})
	want := loop.Sends(func(i int) float64 { return service(i).Seconds() })
	for i, x := range w.sent {
		if math.Abs(float64(x.sent)/1e9-want[i]) > 1e-6 {
			t.Errorf("request %d at %v, planned %v", i, time.Duration(x.sent), want[i])
		}
	}
	if len(w.sent) != 30 {
		t.Errorf("%d sent", len(w.sent))
	}
}

// The first request of vLLM's schedule waits its gap, an infinite rate sends at
// once, and the schedule survives a permit that is missing.
func TestScheduledTimes(t *testing.T) {
	w := &world{service: takes(time.Second)}
	w.carryOut(t, Plan{Count: 4, Schedule: arrival.Schedule{Seconds: []float64{0.5, 0.75, 0.75, 3}, Rates: make([]float64, 4)}, Concurrency: 1})
	var got []string
	for _, x := range w.sent {
		got = append(got, fmt.Sprint(x.scheduled/1e6, " ", x.admitted/1e6, " ", x.sent/1e6))
	}
	want := []string{"500 500 500", "750 1500 1500", "750 2500 2500", "3000 3500 3500"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
}

var _ bench.Clock = (*world)(nil)

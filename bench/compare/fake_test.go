package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/step"
)

// machine is a scripted device and clock: time moves only by what its calls
// cost, and every call is logged.
type machine struct {
	now, busy int64
	log       []string
	calls     int
	failAt    int            // the engine call that fails, counted from 1; 0: none
	onCall    func(call int) // before each engine call
	cost      func(e *engine) int64
	graph     func(e *engine) string
	device    func(e *engine) int64 // nil: no clock of its own
	cached    int
	leftKV    int // entries left on the device, over all sessions
	leaking   bool
	begun     []begun
}

// begun is what a Begin was given.
type begun struct {
	variant      string
	epoch, point int
	first        string // row
}

var errInjected = errors.New("injected")

func (m *machine) say(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *machine) Now() int64 { m.say("now"); return m.now }

// engine is one variant of one visit.
type engine struct {
	*machine
	variant string
	visit   Visit
	epoch   int
	phase   bench.Phase
	context int
	decoded int // steps since the prefill
	length  int
}

func (e *engine) call(name string) error {
	e.say("%s %s", e.variant, name)
	e.calls++
	if e.onCall != nil {
		e.onCall(e.calls)
	}
	if e.calls == e.failAt {
		return errInjected
	}
	return nil
}

func (e *engine) Begin(prompts [][]int32, maxNew int) error {
	if !e.leaking {
		e.leftKV = 0
	}
	e.length = len(prompts[0])
	e.begun = append(e.begun, begun{e.variant, e.epoch, e.visit.Point.ID, fmt.Sprint(prompts[0])})
	return e.call(fmt.Sprintf("begin %dx%d+%d", len(prompts), len(prompts[0]), maxNew))
}

func (e *engine) submit(name string) error {
	if err := e.call(name); err != nil {
		return err
	}
	e.leftKV++
	e.busy = max(e.busy, e.now)
	if e.cost != nil {
		e.busy += e.cost(e)
	}
	return nil
}

func (e *engine) Prefill() error {
	e.phase, e.context, e.decoded = bench.Prefill, e.length, 0
	return e.submit("prefill")
}

func (e *engine) Decode() error {
	e.phase = bench.Decode
	e.context++
	e.decoded++
	return e.submit("decode")
}

func (e *engine) Wait() error {
	e.now = max(e.now, e.busy)
	return e.call("wait")
}

func (e *engine) DeviceNS() int64 {
	if e.device == nil {
		return -1
	}
	return e.device(e)
}

func (e *engine) Graph() string {
	if e.graph == nil {
		return "none"
	}
	return e.graph(e)
}

func (e *engine) Cached() int     { return e.cached }
func (e *engine) Tokens() []int32 { return nil }

// rewinding is an engine that can go back.
type rewinding struct{ *engine }

func (e rewinding) Rewind() error {
	e.context, e.decoded = e.length, 0
	return e.call("rewind")
}

// tape is a Recorder in memory.
type tape struct {
	m      *machine
	file   bench.File
	lines  bytes.Buffer
	failAt int
	writes int
}

func (r *tape) put(what string, records ...any) error {
	if r.m != nil {
		r.m.say("write %s", what)
	}
	r.writes++
	if r.writes == r.failAt {
		return errInjected
	}
	for _, rec := range records {
		if err := json.NewEncoder(&r.lines).Encode(rec); err != nil {
			return err
		}
	}
	return nil
}

func (r *tape) Write(records ...any) error {
	for _, rec := range records {
		name := strings.TrimPrefix(fmt.Sprintf("%T", rec), "bench.")
		if err := r.put(name, rec); err != nil {
			return err
		}
		switch v := rec.(type) {
		case bench.Check:
			r.file.Checks = append(r.file.Checks, v)
		case bench.Point:
			r.file.Points = append(r.file.Points, v)
		}
	}
	return nil
}

func (r *tape) WriteSteps(steps []bench.Step) error {
	boxed := make([]any, len(steps))
	for i, s := range steps {
		boxed[i] = s
	}
	if err := r.put(fmt.Sprintf("%d steps", len(steps)), boxed...); err != nil {
		return err
	}
	copied := slices.Clone(steps)
	for i, s := range copied {
		if s.DeviceNS != nil {
			ns := *s.DeviceNS
			copied[i].DeviceNS = &ns
		}
	}
	r.file.Steps = append(r.file.Steps, copied...)
	return nil
}

// end closes the tape as a run that completed.
func (r *tape) end() *bench.File {
	r.file.End = &bench.End{Kind: bench.KindEnd, Reason: bench.EndCompleted}
	return &r.file
}

// rigOf opens engines on m.
func rigOf(m *machine, r *tape, rewind bool) Rig {
	return Rig{Recorder: r, Clock: m, Open: func(_ context.Context, e int, v Visit) (Pair, error) {
		m.say("open %d of epoch %d", v.Point.ID, e)
		of := func(variant string) step.Engine {
			one := &engine{machine: m, variant: variant, visit: v, epoch: e}
			if rewind {
				return rewinding{one}
			}
			return one
		}
		return Pair{A: of(VariantA), B: of(VariantB), Close: func() error { m.say("close"); return nil }}, nil
	}}
}

// shortPlan has slots of one warm-up and four recorded steps.
func shortPlan(points ...Point) Plan {
	p := DefaultPlan()
	p.Seed, p.Vocab, p.Points = 7, 100, points
	p.Warmup, p.Steps, p.SettleSteps, p.SettleRounds, p.PrefillReps = 1, 4, 2, 2, 2
	return p
}

func decodeAt(id, batch, context int) Point {
	return Point{ID: id, Batch: batch, ContextLen: context, Phase: bench.Decode}
}

// measure runs a plan on a machine and gives the recording.
func measure(t *testing.T, m *machine, p Plan, change ...func(*Rig)) *bench.File {
	t.Helper()
	r := &tape{}
	rig := rigOf(m, r, true)
	for _, f := range change {
		f(&rig)
	}
	if err := Run(context.Background(), rig, p); err != nil {
		t.Fatalf("Run: %v", err)
	}
	m.log = nil
	return r.end()
}

func judge(t *testing.T, f *bench.File) Result {
	t.Helper()
	r, err := Judge(f)
	if err != nil {
		t.Fatalf("Judge: %v", err)
	}
	return r
}

// noisy is a machine whose steps take 1 ms with a little noise, and B that much
// longer.
func noisy(seed uint64, effect float64) *machine {
	m := &machine{}
	s := newSession(world{white: 0.003}, seed, effect, shortPlan())
	s.total = 1e9
	m.cost = func(e *engine) int64 {
		ns, _ := s.stepNS(e.variant == VariantB)
		return int64(ns)
	}
	return m
}

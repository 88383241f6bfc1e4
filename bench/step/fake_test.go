package step_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/metric"
	"lathe/bench/step"
)

// machine is a scripted device and clock: time moves only by what its calls
// cost, and every call is logged.
type machine struct {
	now  int64
	busy int64 // the device works until then
	log  []string

	calls  int            // engine calls so far
	failAt int            // the engine call that fails, counted from 1; 0: none
	onCall func(call int) // before each engine call

	launch  int64                  // ns that a submission takes the host
	cost    func(e *engine) int64  // ns that the device needs for a submitted step
	graph   func(e *engine) string // nil: "none"
	device  func(e *engine) int64  // nil: -1
	cached  int
	leftKV  int  // KV entries left on the device, over all engines
	leaking bool // Begin does not drop them
	started int  // steps submitted so far
}

var errInjected = errors.New("injected")

func (m *machine) say(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *machine) Now() int64 { m.say("now"); return m.now }

func (m *machine) call(name string) error {
	m.say("%s", name)
	m.calls++
	if m.onCall != nil {
		m.onCall(m.calls)
	}
	if m.calls == m.failAt {
		return errInjected
	}
	return nil
}

// engine is one opened point of a machine.
type engine struct {
	*machine
	point   step.Point
	phase   bench.Phase
	longest int
	context int
	maxNew  int
}

func (e *engine) Begin(prompts [][]int32, maxNew int) error {
	if !e.leaking {
		e.leftKV = 0
	}
	e.longest, e.maxNew, e.context = 0, maxNew, 0
	for _, row := range prompts {
		e.longest = max(e.longest, len(row))
	}
	return e.call(fmt.Sprintf("begin %dx%d+%d", len(prompts), e.longest, maxNew))
}

func (e *engine) submit(name string) error {
	if err := e.call(name); err != nil {
		return err
	}
	if e.context >= e.longest+e.maxNew {
		return fmt.Errorf("context %d: no pages", e.context)
	}
	e.now += e.launch
	e.started++
	if e.cost != nil {
		e.busy = max(e.busy, e.now) + e.cost(e)
	}
	e.leftKV += e.point.Batch
	return nil
}

func (e *engine) Prefill() error {
	e.phase, e.context = bench.Prefill, e.longest
	return e.submit("prefill")
}

func (e *engine) Decode() error {
	e.phase = bench.Decode
	e.context++
	return e.submit("decode")
}

func (e *engine) Wait() error {
	e.now = max(e.now, e.busy)
	return e.call("wait")
}

func (e *engine) DeviceNS() int64 {
	e.say("device")
	if e.device == nil {
		return -1
	}
	return e.device(e)
}

func (e *engine) Graph() string {
	e.say("graph")
	if e.graph == nil {
		return "none"
	}
	return e.graph(e)
}

func (e *engine) Cached() int     { e.say("cached"); return e.cached }
func (e *engine) Tokens() []int32 { e.say("tokens"); return nil }

// tape is a Recorder in memory whose lines are read back by bench.Reader.
type tape struct {
	m      *machine
	lines  bytes.Buffer
	writes int
	failAt int // the write that fails, counted from 1; 0: none
}

func newTape(t *testing.T, m *machine) *tape {
	t.Helper()
	r := &tape{m: m}
	if err := json.NewEncoder(&r.lines).Encode(bench.Run{Kind: bench.KindRun, Schema: bench.Schema}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *tape) append(records []any) error {
	r.writes++
	if r.writes == r.failAt {
		return errInjected
	}
	for _, record := range records {
		if err := json.NewEncoder(&r.lines).Encode(record); err != nil {
			return err
		}
	}
	return nil
}

func (r *tape) Write(records ...any) error {
	for _, record := range records {
		r.m.say("write %T", record)
	}
	return r.append(records)
}

func (r *tape) WriteSteps(steps []bench.Step) error {
	r.m.say("write %d steps", len(steps))
	boxed := make([]any, len(steps))
	for i := range steps {
		boxed[i] = steps[i]
	}
	return r.append(boxed)
}

var _ step.Recorder = (*bench.Writer)(nil)

// held is what a raw file holds.
type held struct {
	steps      []bench.Step
	points     []bench.Point
	iterations []bench.Iteration
	checks     []bench.Check
}

// read reads the tape back as a file, which must be valid to its last byte.
func (r *tape) read(t *testing.T) held {
	t.Helper()
	var h held
	reader := bench.NewReader(bytes.NewReader(r.lines.Bytes()), "tape")
	for {
		record, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("read the tape back: %v", err)
		}
		switch v := record.(type) {
		case *bench.Step:
			h.steps = append(h.steps, *v)
		case *bench.Point:
			h.points = append(h.points, *v)
		case *bench.Iteration:
			h.iterations = append(h.iterations, *v)
		case *bench.Check:
			h.checks = append(h.checks, *v)
		}
	}
	if w := reader.Warnings(); len(w) > 0 {
		t.Fatalf("read the tape back: %q", w)
	}
	return h
}

// notes are what a report says of a point of these records.
func (h held) notes(t *testing.T, point int) string {
	t.Helper()
	f := &bench.File{Points: h.points, Steps: h.steps, Iterations: h.iterations, Checks: h.checks}
	for _, p := range metric.Points(f) {
		if p.Point.Point == point {
			return strings.Join(p.Notes, "\n")
		}
	}
	t.Fatalf("no point %d", point)
	return ""
}

// hostNS are the times of the steps that keep passes.
func (h held) hostNS(keep func(bench.Step) bool) []int64 {
	var ns []int64
	for _, s := range h.steps {
		if keep(s) {
			ns = append(ns, s.HostNS)
		}
	}
	return ns
}

func measured(phase bench.Phase) func(bench.Step) bool {
	return func(s bench.Step) bool { return s.Phase == phase && !s.Warmup }
}

// median is numpy's: the mean of the middle two of an even number.
func median(ns []int64) float64 {
	s := slices.Sorted(slices.Values(ns))
	n := len(s)
	if n == 0 {
		return -1
	}
	return float64(s[(n-1)/2]+s[n/2]) / 2
}

// rigOf opens engines on m and records to tape.
func rigOf(m *machine, r *tape) step.Rig {
	return step.Rig{
		Recorder: r, Clock: m,
		Open: func(_ context.Context, p step.Point) (step.Opened, error) {
			m.say("open %d", p.ID)
			return step.Opened{
				Engine: &engine{machine: m, point: p},
				Close:  func() error { m.say("close"); return nil },
			}, nil
		},
	}
}

// smallPlan has as few repetitions as a plan can.
func smallPlan(batch, input, output []int) step.Plan {
	return step.Plan{
		BatchSizes: batch, InputLens: input, OutputLens: output,
		PrefillReps: 2, Iterations: 1, PrefillWarmup: 1, StepsWarmup: 1, Vocab: 100,
	}
}

// sweep runs a plan on a machine and reads back what it recorded.
func sweep(t *testing.T, m *machine, plan step.Plan) held {
	t.Helper()
	r := newTape(t, m)
	if _, err := step.OneBatch(context.Background(), rigOf(m, r), plan, plan.Points()); err != nil {
		t.Fatalf("OneBatch: %v", err)
	}
	return r.read(t)
}

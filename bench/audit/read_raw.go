package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"lathe/bench"
	"lathe/bench/frame"
	"lathe/bench/serving"
)

// openRaw reads a raw file of ours: a capture of requests, or a recording of
// steps.
func openRaw(path string, _ Options) (*File, error) {
	r, err := bench.Open(path)
	if err != nil {
		return nil, rawError{err}
	}
	first, err := r.Next()
	if err != nil {
		r.Close()
		return nil, rawError{err}
	}
	run := first.(*bench.Run)
	c := &captured{f: &File{Form: "capture of requests", Kind: Serving, Harness: Lathe, run: run}, first: math.MaxInt64}
	steps, err := c.scan(r)
	r.Close()
	if err != nil {
		return nil, rawError{err}
	}
	if steps || c.requests == 0 && !served(run) {
		return openSteps(path)
	}
	return c.file()
}

// served says whether a run's header is that of a serving client.
func served(run *bench.Run) bool { return strings.HasPrefix(run.Command, "bench serve") }

// rawError is an error that already says what was read.
type rawError struct{ error }

func (e rawError) Unwrap() error { return e.error }

func openSteps(path string) (*File, error) {
	raw, err := bench.ReadFile(path)
	if err != nil {
		return nil, rawError{err}
	}
	f := &File{Form: "recording of " + raw.Run.Command, Kind: Offline, Harness: Lathe, raw: raw}
	f.Work.Model = raw.Run.Workload.Model
	question := "synchronised steps of an engine in the process"
	if len(raw.Steps) == 0 && len(raw.Iterations) > 0 {
		question = "whole generate calls, one batch at a time"
	}
	f.Traits = []Trait{{"timed", question, true}}
	f.Warnings = append(f.Warnings, raw.Warnings...)
	if !raw.Complete() {
		f.warn("the recording is incomplete")
	}
	return f, nil
}

// captured gathers what a capture tells besides its bytes.
type captured struct {
	f                *File
	requests, failed int
	reused, fresh    int
	input            int64
	first            int64
	endpoints        map[string]int
	end              *bench.End
	lens             map[int]int // requested output lengths
	prompts          map[int]int
}

// scan reads the records; steps says that they are of an offline run.
func (c *captured) scan(r *bench.Reader) (steps bool, err error) {
	c.endpoints, c.lens, c.prompts = map[string]int{}, map[int]int{}, map[int]int{}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			c.f.Warnings = append(c.f.Warnings, r.Warnings()...)
			return false, nil
		}
		if err != nil {
			return false, err
		}
		switch v := rec.(type) {
		case *bench.Step, *bench.Point, *bench.Iteration:
			return true, nil
		case *bench.Request:
			c.request(v)
		case *bench.End:
			c.end = v
		}
	}
}

func (c *captured) request(r *bench.Request) {
	c.requests++
	c.endpoints[r.Endpoint]++
	c.input += int64(r.PromptLen)
	c.first = min(c.first, r.ScheduledNS)
	c.lens[r.RequestedOutputLen]++
	c.prompts[r.PromptLen]++
	if r.Status == nil || *r.Status != 200 || r.End == nil || r.End.Kind != "eof" {
		c.failed++
	}
	if r.Reused != nil {
		if *r.Reused {
			c.reused++
		} else {
			c.fresh++
		}
	}
}

func (c *captured) file() (*File, error) {
	f := c.f
	if c.requests == 0 {
		return nil, errors.New("a capture without a request")
	}
	if len(c.endpoints) > 1 {
		f.warn(fmt.Sprintf("its requests went to %d endpoints, which no single reading fits", len(c.endpoints)))
	}
	for name, n := range c.endpoints {
		if 2*n > c.requests {
			f.Backend = name
			f.captureWire(name)
		}
	}
	ok := c.requests - c.failed
	f.Counts = Counts{Completed: &ok, Failed: &c.failed, Input: &c.input}
	f.Detailed = true
	if c.end != nil {
		s := float64(c.end.DurationNS) / 1e9
		f.Counts.Duration = &s
	}
	if c.end == nil || c.end.Reason != bench.EndCompleted {
		f.warn("the run did not end of itself: it holds what was received until then")
	}
	if n := c.reused + c.fresh; n == c.requests && n > 1 {
		each := c.reused == 0
		f.Load.PerConn = &each
	}
	if len(c.prompts) == 1 && len(c.lens) == 1 {
		for n := range c.prompts {
			f.Work.InputLen = &n
		}
		for n := range c.lens {
			f.Work.OutputLen = &n
		}
	}
	f.fromHeader()
	return f, nil
}

func (f *File) captureWire(endpoint string) {
	if fit := serving.Fitting(endpoint); len(fit) > 1 {
		f.Wire, f.WireKnown = fit[0].Wire, true
	}
}

// fromHeader takes what the run's header says: its workload, and those of its
// options that have the names of flags.
func (f *File) fromHeader() {
	w, l := &f.run.Workload, &f.Load
	f.Work.Model, f.Work.Dataset, f.Release = w.Model, w.Dataset, f.run.Build.Version
	if f.run.WorkloadSHA256 != "" {
		seed := int64(w.Seed)
		l.Seed = &seed
	}
	var d frame.Doc
	text := f.run.Options
	if !json.Valid(text) || d.Parse(text) != nil {
		return
	}
	o := flat(d.Root())
	if v, ok := o("dataset_name"); ok && f.Work.Dataset == "" {
		f.Work.Dataset = v.Text()
	}
	if v, ok := o("request_rate"); ok {
		l.Rate = rateOf(v)
	}
	if v, ok := o("burstiness"); ok {
		l.Burstiness = rateOf(v)
	}
	if v, ok := o("max_concurrency"); ok {
		n, _ := whole(v)
		l.Concurrency = Limit{true, int(n)}
	}
	if n, ok := o("num_prompts"); ok {
		if x, is := whole(n); is {
			count := int(x)
			l.Requests = &count
		}
	}
	for _, key := range []string{"num_warmups", "warmup_requests"} {
		if n, ok := o(key); ok {
			if x, is := whole(n); is {
				count := int(x)
				l.Warmups = &count
			}
		}
	}
	if v, ok := o("ramp_up_strategy"); ok && v.Text() != "" {
		l.Ramp = v.Text()
	}
	if l.Rate != nil {
		l.Arrival = w.Arrival
	}
}

// flat finds an option by its name in an object or one level below it.
func flat(root frame.Value) func(key string) (frame.Value, bool) {
	return func(key string) (frame.Value, bool) {
		if v := root.Get(key); !v.Is(frame.Missing) {
			return v, true
		}
		for _, group := range root.Members() {
			if v := group.Get(key); !v.Is(frame.Missing) {
				return v, true
			}
		}
		return frame.Value{}, false
	}
}

// rateOf reads a rate that may be written as text; null is all at once, as no
// JSON number is infinite.
func rateOf(v frame.Value) *float64 {
	x, ok := v.Float()
	switch {
	case v.Is(frame.Null):
		x, ok = math.Inf(1), true
	case v.Is(frame.String):
		var err error
		x, err = strconv.ParseFloat(v.Text(), 64)
		ok = err == nil
	}
	if !ok || math.IsNaN(x) {
		return nil
	}
	return &x
}

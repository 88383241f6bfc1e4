package audit

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"lathe/bench"
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
	c := &captured{f: &File{Form: "capture of requests", Kind: Serving, Harness: Lathe, run: run}, first: math.MaxInt64, firstEnd: math.MaxInt64}
	steps, err := c.scan(r)
	r.Close()
	if err != nil {
		return nil, rawError{err}
	}
	if steps || c.requests == 0 && !served(run) {
		return openSteps(path)
	}
	f, err := c.file()
	if err != nil {
		return nil, err
	}
	return f, f.readSurvivors(path)
}

// readSurvivors reads a capture by every harness that fits its endpoint, for who
// takes which request for a success: an answer of status 200 may end in an error.
func (f *File) readSurvivors(path string) error {
	in, err := bench.Open(path)
	if err != nil {
		return rawError{err}
	}
	defer in.Close()
	_, results, err := serving.Read(in, serving.Fitting(f.Backend), serving.Options{Version: serving.Latest})
	if err != nil {
		return rawError{err}
	}
	f.survived = map[Harness][2]int{}
	for _, r := range results {
		n, by := [2]int{}, Harness(r.Semantics.Harness)
		for i := range r.Requests {
			n[index(r.Requests[i].Success)]++
		}
		for i := range r.Exact {
			n[index(r.Exact[i].Success)]++
			by = Lathe
		}
		f.survived[by] = n
	}
	if n, ok := f.survived[Lathe]; ok {
		f.Counts.Completed, f.Counts.Failed = &n[0], &n[1]
	}
	return nil
}

// index is 0 for a success and 1 for a failure.
func index(success bool) int {
	if success {
		return 0
	}
	return 1
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
	if raw.Run.Command == "" && len(raw.Steps)+len(raw.Iterations) == 0 {
		return nil, errors.New("its header names no command, and it holds no measurement")
	}
	f := &File{Form: strings.TrimSuffix("recording of "+raw.Run.Command, " of "), Kind: Offline, Harness: Lathe, raw: raw}
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
	f                  *File
	requests, failed   int
	reused, fresh      int
	lastSent, firstEnd int64
	input, asked       int64
	first              int64
	endpoints          map[string]int
	end                *bench.End
	client             *bench.ClientRun
	lens               map[int]int // requested output lengths
	prompts            map[int]int
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
		case *bench.ClientRun:
			c.client = v
		case *bench.End:
			c.end = v
		}
	}
}

func (c *captured) request(r *bench.Request) {
	c.requests++
	c.endpoints[r.Endpoint]++
	c.input += int64(r.PromptLen)
	c.first, c.lastSent = min(c.first, r.ScheduledNS), max(c.lastSent, r.SentNS)
	if r.End != nil {
		c.firstEnd = min(c.firstEnd, r.End.TNS)
	}
	c.asked += int64(r.RequestedOutputLen)
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
	f.Load.PerConn = c.perConnection()
	if len(c.prompts) == 1 && len(c.lens) == 1 {
		for n := range c.prompts {
			f.Work.InputLen = &n
		}
		for n := range c.lens {
			f.Work.OutputLen = &n
		}
	}
	f.fromHeader()
	if c.client != nil {
		f.Flags.Proxy = &c.client.Proxy
	}
	f.Work.AskedSum = c.asked
	if n := c.requests; f.Work.Lengths == "" {
		f.Work.Lengths = fmt.Sprintf("%s input tokens a request, %s output tokens asked for", number(float64(c.input)/float64(n)), number(float64(c.asked)/float64(n)))
	}
	return f, nil
}

// perConnection says whether each request had a connection of its own: no where
// one was used again, yes where none was though one was free; nil where all ran
// at the same time.
func (c *captured) perConnection() *bool {
	each := c.reused == 0
	if c.reused+c.fresh < c.requests || each && c.lastSent <= c.firstEnd {
		return nil
	}
	return &each
}

func (f *File) captureWire(endpoint string) {
	if fit := serving.Fitting(endpoint); len(fit) > 1 {
		f.Wire, f.WireKnown = fit[0].Wire, true
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"lathe/bench"
	"lathe/bench/arrival"
	"lathe/bench/load"
	"lathe/bench/workload"
)

// servedRun is a run under way: its client, its capture, and the calls around it.
type servedRun struct {
	app    *application
	o      *benchServeOptions
	tok    servedTokens
	drawn  drawn
	calls  *servedCalls
	side   *sideCalls
	client *load.Client
	rec    *recording
	over   atomic.Int64 // requests that have ended
	out    io.Writer
	report *servedReport // of the run, once it has ended
}

// before is what the harness does between the dataset and the first request that counts.
func (r *servedRun) before(ctx context.Context) error {
	if err := r.firstPrompt(ctx); err != nil {
		return err
	}
	if err := r.warmUp(ctx); err != nil {
		return err
	}
	if r.o.Around.FlushCache {
		if err := r.flushCache(ctx); err != nil {
			return err
		}
	}
	if r.o.Harness == harnessSGLang { // its client waits a second here, whatever was done before
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if r.o.Harness != harnessSGLang {
		r.noteMetrics(ctx)
	}
	if r.o.Around.Profile {
		r.profile(ctx, "/start_profile", r.o.Around.ProfileOptions.body(r.o.Harness))
	}
	return nil
}

// firstPrompt is vLLM's ready check: the first prompt, until it is answered.
func (r *servedRun) firstPrompt(ctx context.Context) error {
	if r.o.Harness != harnessVLLM || r.o.Server.ReadySeconds == 0 {
		return nil
	}
	row := r.calls.row(0)
	row.RequestID = ""
	call, err := r.calls.build(0, row)
	if err != nil {
		return err
	}
	try := func(ctx context.Context) (int, error) {
		status, _, err := r.side.own.Post(ctx, call.Path, call.Body)
		return status, err
	}
	err = load.WaitReady(ctx, load.Readiness{Within: time.Duration(r.o.Server.ReadySeconds) * time.Second, Every: 5 * time.Second, Try: try,
		Waiting: saysWaiting(r.o.Server.ReadySeconds, r.app.term.say)})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return noSuccess(readyHint(err, "--base-url names the server, --model what it calls the model"), "%w", err)
}

// warmUp sends the warm-up requests: the harnesses' repeat the first prompt, ours have prompts that no
// request that counts shares anything with. Nothing of them is kept.
func (r *servedRun) warmUp(ctx context.Context) error {
	n := r.o.Around.Warmups
	if n == 0 {
		return nil
	}
	job, err := r.warmUpJobs(n)
	if err != nil {
		return err
	}
	permits := r.o.concurrency()
	if r.o.Harness == harnessSGLang && r.o.switches().WarmupUnbounded {
		permits = 0
	}
	r.app.term.say("warm-up: %d requests", n)
	res, err := r.client.Run(ctx, load.Plan{Count: n, Job: job, Concurrency: permits, Schedule: arrival.Schedule{Seconds: make([]float64, n), Rates: make([]float64, n)}})
	if err != nil {
		return err
	}
	if res.Completed == 0 && r.o.Harness != harnessVLLM {
		hint, refusal := "", ""
		if res.Classes[load.ClassStatus] > 0 {
			hint, refusal = r.side.answerHint(ctx, r.o.Used.ModelName), r.refusal(ctx, job)
		}
		return noSuccess(hint, "warm-up: none of %d requests succeeded: %s%s", n, classes(res.Classes), refusal)
	}
	return nil
}

// refusal is what the server answers to a warm-up request that it refused: nothing was kept of it, so
// that it is asked once more.
func (r *servedRun) refusal(ctx context.Context, job func(i int) (load.Job, error)) string {
	j, err := job(0)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, r.side.timeouts.quick)
	defer cancel()
	status, body, err := r.side.own.Post(ctx, j.Call.Path, j.Call.Body)
	if err != nil {
		return ""
	}
	if status == 200 { // it refuses some and answers others
		return "; asked once more, the server answered with status 200"
	}
	const quoted = 300
	return fmt.Sprintf(": status %d: %s", status, strings.ToValidUTF8(string(body[:min(len(body), quoted)]), "\ufffd"))
}

func (r *servedRun) warmUpJobs(n int) (func(i int) (load.Job, error), error) {
	o, c := r.o, r.calls
	from := c
	if o.Harness == harnessExact && r.tok.Tokenizer != nil {
		warm, err := workload.WarmUp(r.drawn.set, n, uint64(o.Dataset.Seed)^0x5eed^o.Used.SaltSeed, r.tok.Tokenizer)
		if err != nil {
			return nil, usageError("--num-warmups 0 sends none", "%w", err)
		}
		own := *c
		own.set, own.lora = warm, nil
		from = &own
	}
	return func(i int) (load.Job, error) {
		at := 0
		if from != c {
			at = i
		}
		row := from.row(at)
		row.RequestID = ""
		if o.Harness == harnessSGLang {
			row.OutputLen = min(row.OutputLen, 32)
			if turns := c.set.Requests[0].Turns; turns != nil {
				row.Messages = conversation(turns[:1], nil)
			}
		}
		call, err := from.build(at, row)
		return load.Job{ID: fmt.Sprintf("w%d", i), Call: call, RequestedOutputLen: row.OutputLen}, err
	}, nil
}

// flushCache empties the server's prefix cache, as SGLang's client asks for it.
func (r *servedRun) flushCache(ctx context.Context) error {
	path := "/flush_cache"
	seconds := r.o.Around.FlushCacheLimit
	switch {
	case strings.HasPrefix(r.o.Server.Backend, "sglang"):
		text, err := json.Marshal(seconds)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), ".") {
			text = append(text, ".0"...)
		}
		path += "?timeout=" + string(text)
	case strings.HasPrefix(r.o.Server.Backend, "vllm"):
		path = "/reset_prefix_cache"
	}
	status, _, err := post(ctx, r.side.plain, path, nil, time.Duration(seconds*float64(time.Second))+5*time.Second)
	if err == nil && (status < 200 || status > 299) {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil && ctx.Err() == nil {
		return noSuccess("without --flush-cache the cache keeps what the warm-up left", "--flush-cache: POST %s: %w", path, err)
	}
	return nil
}

// profile starts or stops the server's profiler; a server without one is only said.
func (r *servedRun) profile(ctx context.Context, path string, body any) {
	side := r.side.own
	if r.o.Harness == harnessSGLang {
		side = r.side.bare
	}
	var status int
	var err error
	if r.o.Harness == harnessVLLM && r.o.switches().ProfileBody {
		var call load.Call
		if call, err = r.calls.call(0); err == nil {
			status, _, err = side.Post(ctx, path, call.Body)
		}
	} else {
		status, _, err = post(ctx, side, path, body, r.side.timeouts.slow)
	}
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		r.app.term.warn("--profile: POST %s: %v", path, err)
	}
}

// body is what SGLang's client asks the profiler for; vLLM's asks with nothing.
func (p servedProfile) body(harness string) any {
	if harness != harnessSGLang {
		return nil
	}
	m := map[string]any{"activities": p.Activities, "num_steps": p.NumSteps, "profile_by_stage": p.ByStage, "profile_stages": p.Stages,
		"output_dir": orNil(p.OutputDir), "profile_prefix": orNil(p.Prefix)}
	switch {
	case p.Steps != nil:
		m["num_steps"] = fmt.Sprint(*p.Steps)
	case p.ByStage && p.NumSteps == nil:
		m["num_steps"] = 5
	}
	if p.StartStep != nil {
		m["start_step"] = fmt.Sprint(*p.StartStep)
	}
	return m
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// after is what the harness does behind the last request; the duration of SGLang's own backends holds
// its question for the server's state.
func (r *servedRun) after(ctx context.Context) {
	p := r.o.Around.ProfileOptions
	if r.o.Around.Profile && p.Steps == nil && p.NumSteps == nil {
		var body any
		if r.o.Harness == harnessSGLang {
			body = map[string]any{}
		}
		r.profile(ctx, "/stop_profile", body)
	}
	if r.o.Harness == harnessSGLang || r.o.Server.Backend == "sglang" {
		r.note(ctx, "/server_info", func(body []byte) string { return string(body) })
	}
}

// noteMetrics keeps the counters that vLLM's speculation figures are made of.
func (r *servedRun) noteMetrics(ctx context.Context) {
	r.note(ctx, "/metrics", func(body []byte) string {
		var kept strings.Builder
		for line := range strings.Lines(string(body)) {
			if t := strings.TrimSpace(line); strings.HasPrefix(t, "vllm:spec_decode") || strings.HasPrefix(t, "vllm:diffusion") {
				kept.WriteString(t + "\n")
			}
		}
		return kept.String()
	})
}

// note asks the server something and keeps the answer in the capture. A server that does not answer is
// no failure: the figure is then missing, as in the harness.
func (r *servedRun) note(ctx context.Context, path string, keep func(body []byte) string) {
	status, body, err := get(ctx, r.side.plain, path, r.side.timeouts.slow)
	if err != nil {
		return
	}
	a := bench.Answer{Kind: bench.KindAnswer, Path: path, TNS: r.rec.clock.Now(), Status: status}
	if status == 200 {
		a.Body = keep(body)
	}
	_ = r.rec.writer.Write(a) // an error of the file sticks and is told at its end
}

// classes tells what became of requests that failed.
func classes(all map[load.Class]int) string {
	var parts []string
	for _, c := range sortedClasses(all) {
		parts = append(parts, fmt.Sprintf("%d %s", all[c], c))
	}
	return strings.Join(parts, ", ")
}

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"lathe/bench/arrival"
	"lathe/bench/workload"
)

// dryRun prints what would be sent and when, and sends nothing.
func (r *servedRun) dryRun(t traffic) error {
	schedule := t.schedule
	if t.loop != nil { // who is free decides; with answers that take no time this is when
		schedule.Seconds = t.loop.Sends(func(int) float64 { return 0 })
		schedule.Rates = make([]float64, len(schedule.Seconds))
	}
	if r.o.Result.Format == "json" {
		e := json.NewEncoder(r.app.term.out)
		e.SetEscapeHTML(false)
		return e.Encode(struct {
			Arrivals arrival.Schedule  `json:"arrivals"`
			Requests []workload.DryRow `json:"requests"`
		}{schedule, r.drawn.set.DryRun()})
	}
	return r.planText(t, schedule)
}

func (r *servedRun) planText(t traffic, schedule arrival.Schedule) error {
	o, set := r.o, r.drawn.set
	in, out := set.Lengths()
	call, err := r.calls.call(0)
	if err != nil {
		return err
	}
	bytes := 0
	for i := range set.Requests {
		bytes += len(set.Requests[i].Prompt) + 6*len(set.Requests[i].IDs)
	}
	w := r.app.term.out
	fmt.Fprintf(w, "harness: %s, version %s; nothing is sent\n", o.Harness, o.HarnessVersion)
	fmt.Fprintf(w, "server: POST %s%s, backend %s, model %s\n", o.Used.BaseURL, call.Path, o.Server.Backend, o.Used.ModelName)
	fmt.Fprintf(w, "tokenizer: %s\n", o.Used.Tokenizer)
	fmt.Fprintf(w, "dataset: %s, %d requests, %d unique prompts, %.1f MB of prompts\n", o.Dataset.Name, len(set.Requests), o.Used.Unique, float64(bytes)/1e6)
	fmt.Fprintf(w, "input tokens: %d to %d, mean %.1f; output tokens: %d to %d, mean %.1f\n", in.Min, in.Max, in.Mean, out.Min, out.Max, out.Mean)
	fmt.Fprintf(w, "arrivals: %s\n", o.arrivalText(t))
	if o.Traffic.ProbeRate > 0 {
		fmt.Fprintf(w, "probes: %s\n", o.probeText())
	}
	if n := o.Around.Warmups; n > 0 {
		fmt.Fprintf(w, "warm-up: %d requests\n", n)
	}
	if o.asksCacheDetails() {
		fmt.Fprintf(w, "cache report: each request asks for %s\n", cacheDetailsField)
	}
	end := max(schedule.EndSeconds, last(schedule.Seconds))
	line := fmt.Sprintf("estimate: the last request is sent after %.1f s", end)
	if d := o.Traffic.Duration; d > 0 && d.Seconds() < end {
		line = fmt.Sprintf("estimate: sending ends after %v of %.1f s", d, end)
	}
	_, err = fmt.Fprintln(w, line)
	return err
}

func last(x []float64) float64 {
	if len(x) == 0 || math.IsInf(x[len(x)-1], 0) {
		return 0
	}
	return x[len(x)-1]
}

// progressEvery is how often a run says how far it is.
const progressEvery = 500 * time.Millisecond

// showSending shows how long a run has been sending, where there is somebody to see it; the function
// it returns ends that.
func (r *servedRun) showSending(n int) func() {
	if !r.app.term.showsProgress() {
		return func() {}
	}
	var wait sync.WaitGroup
	done := make(chan struct{})
	began := time.Now()
	wait.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				r.app.term.showProgress(min(int(r.over.Load()), n), n, fmt.Sprintf("requests answered, %.0f s", time.Since(began).Seconds()))
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
		r.app.term.clearProgress()
	}
}

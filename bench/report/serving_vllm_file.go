package report

import (
	"math"
	"strings"

	"lathe/bench/serving"
)

// VLLMResult is vLLM's result file: one JSON object without a line end, its
// keys in vLLM's order.
func VLLMResult(run VLLMRun, r *serving.Result) ([]byte, error) {
	m := r.VLLM
	if m == nil {
		return nil, unfinished(r)
	}
	d := &members{}
	run.head(d)
	d.set("duration", durationSeconds(r))
	d.set("completed", m.Completed)
	d.set("failed", m.Failed)
	d.set("total_input_tokens", m.TotalInput)
	d.set("total_output_tokens", m.TotalOutput)
	d.set("request_throughput", m.RequestThroughput)
	if d.set("request_goodput", nil); m.GoodputAsked {
		d.set("request_goodput", m.RequestGoodput)
	}
	d.set("output_throughput", m.OutputThroughput)
	d.set("total_token_throughput", m.TotalTokenThroughput)
	run.lists(d, r)
	d.set("max_output_tokens_per_s", m.MaxOutputTokensPerS)
	d.set("max_concurrent_requests", m.MaxConcurrentRequests)
	d.set("rtfx", 0.0)
	if run.SaveDetailed {
		serverTimes(d, r)
	}
	run.extras(d)
	for _, x := range run.chosen(m, r.Version) {
		d.set("mean_"+x.name+"_ms", x.stats.Mean)
		d.set("median_"+x.name+"_ms", x.stats.Median)
		d.set("std_"+x.name+"_ms", x.stats.Std)
		for _, q := range x.stats.Percentiles {
			d.set("p"+percentileName(q.P)+"_"+x.name+"_ms", q.Value)
		}
	}
	return d.json(), nil
}

func (run *VLLMRun) head(d *members) {
	d.set("date", run.Date.Format("20060102-150405"))
	d.set("endpoint_type", run.Backend)
	d.set("backend", run.Backend)
	d.set("label", run.Label)
	d.set("model_id", run.ModelID)
	d.set("tokenizer_id", run.TokenizerID)
	d.set("num_prompts", run.NumPrompts)
	for _, item := range run.Metadata {
		name, value, _ := strings.Cut(item, "=")
		d.set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if d.set("request_rate", run.RequestRate); math.IsInf(run.RequestRate, 0) {
		d.set("request_rate", "inf")
	}
	d.set("burstiness", run.Burstiness)
	d.set("max_concurrency", run.MaxConcurrency)
	if run.RampUpStrategy != "" {
		d.set("ramp_up_strategy", run.RampUpStrategy)
		d.set("ramp_up_start_rps", run.RampStart)
		d.set("ramp_up_end_rps", run.RampEnd)
	}
}

// lists is what is saved a request: everything with SaveDetailed, latencies and
// queue times always since November 2026.
func (run *VLLMRun) lists(d *members, r *serving.Result) {
	each := func(name string, value func(o *serving.Outcome) any) {
		d.put(name, func(w *pyJSON) {
			w.array(func() {
				for i := range r.Requests {
					w.value(value(&r.Requests[i]))
				}
			})
		})
	}
	sw, _ := serving.SwitchesOf(r.Version)
	if run.SaveDetailed {
		each("input_lens", func(o *serving.Outcome) any { return countValue(o.Prompt) })
		d.put("output_lens", func(w *pyJSON) { outputLens(w, r) })
		each("ttfts", func(o *serving.Outcome) any { return o.TTFT })
		each("itls", func(o *serving.Outcome) any { return o.ITL })
	}
	if sw.QueueTime {
		each("latencies", func(o *serving.Outcome) any { return o.Latency })
	}
	if run.SaveDetailed {
		each("start_times", func(o *serving.Outcome) any { return o.StartOn(run.ClockOriginNS) })
	}
	if sw.QueueTime {
		each("queue_times", func(o *serving.Outcome) any { return float64(o.QueueNS) / 1e9 })
	}
	if run.SaveDetailed {
		each("generated_texts", func(o *serving.Outcome) any { return o.Text })
		each("errors", errorOf)
	}
}

// errorOf is the text of a failure. Where the harness would write a traceback,
// the class stands for it.
func errorOf(o *serving.Outcome) any {
	switch {
	case o.ErrorText != "" || o.ErrorClass == "http_status":
		return o.ErrorText
	default:
		return o.ErrorClass
	}
}

func serverTimes(d *members, r *serving.Result) {
	seen := false
	for i := range r.Requests {
		seen = seen || r.Requests[i].ServerQueue != nil || r.Requests[i].ServerTTFT != nil
	}
	if !seen {
		return
	}
	d.put("server_queue_times", func(w *pyJSON) {
		w.list(len(r.Requests), func(i int) { w.value(r.Requests[i].ServerQueue) })
	})
	d.put("server_ttfts", func(w *pyJSON) {
		w.list(len(r.Requests), func(i int) { w.value(r.Requests[i].ServerTTFT) })
	})
}

func (run *VLLMRun) extras(d *members) {
	if p := run.Probe; p != nil {
		d.set("probe_completed", p.Completed)
		d.set("probe_failed", p.Failed)
		d.set("probe_median_e2el_ms", p.MedianE2ELMS)
		d.set("probe_p99_e2el_ms", p.P99E2ELMS)
		d.set("probe_max_e2el_ms", p.MaxE2ELMS)
	}
	if run.RampUpStrategy != "" {
		d.put("rps_change_events", func(w *pyJSON) {
			w.array(func() {
				for _, c := range run.RPSChanges {
					w.object(func() {
						w.set("rps", c.RPS)
						w.set("timestamp", c.Timestamp)
					})
				}
			})
		})
	}
	if s := run.Speculation; s != nil {
		d.set("spec_decode_acceptance_rate", s.AcceptanceRate)
		d.set("spec_decode_acceptance_length", s.AcceptanceLength)
		d.set("spec_decode_num_drafts", s.Drafts)
		d.set("spec_decode_draft_tokens", s.DraftTokens)
		d.set("spec_decode_accepted_tokens", s.Accepted)
		d.set("spec_decode_per_position_acceptance_rates", listed(s.PerPosition))
	}
	if x := run.Diffusion; x != nil {
		d.set("diffusion_committed_throughput", x.CommittedThroughput)
		d.set("diffusion_steps_per_canvas", x.StepsPerCanvas)
		d.set("diffusion_committed_per_step", x.CommittedPerStep)
		d.set("diffusion_committed_tokens", x.CommittedTokens)
		d.set("diffusion_denoising_steps", x.DenoisingSteps)
		d.set("diffusion_canvas_positions", x.CanvasPositions)
	}
}

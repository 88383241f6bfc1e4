package audit

import (
	"fmt"
	"math"
	"strings"

	"lathe/bench/frame"
	"lathe/bench/serving"
)

func isVLLM(v frame.Value) bool {
	return !v.Get("model_id").Is(frame.Missing) && !v.Get("completed").Is(frame.Missing) && !v.Get("request_throughput").Is(frame.Missing) && !v.Get("total_token_throughput").Is(frame.Missing)
}

// readVLLM reads the result of vLLM's bench serve, of its Python or its Rust
// client.
func readVLLM(v frame.Value, o Options) (*File, error) {
	d := &fields{v: v}
	f := &File{Form: "vLLM result as its Python client writes it", Kind: Serving, Harness: VLLM, Versions: vllmVersions(v), Stats: d.statistics()}
	if !v.Get("max_model_len").Is(frame.Missing) || !v.Get("steady_state").Is(frame.Missing) || !v.Get("input_throughput").Is(frame.Missing) {
		f.Form, f.Harness, f.Versions = "vLLM result as its Rust client writes it", VLLMRust, serving.Versions()
	}
	if f.Backend = d.text("backend"); f.Backend == "" {
		f.Backend = d.text("endpoint_type")
	}
	if s, err := serving.ParseSemantics("vllm:" + f.Backend); err == nil {
		f.Wire, f.WireKnown = s.Wire, true
	}
	f.Work.Model = d.text("model_id")
	f.Work.TokenizerKnown = v.Get("tokenizer_id").Is(frame.String)
	f.vllmLoad(d)
	f.Counts = Counts{Completed: asInt(d.count("completed")), Failed: asInt(d.count("failed")), Input: d.count("total_input_tokens"),
		Output: d.count("total_output_tokens"), Duration: d.seconds("duration")}
	d.need("completed")
	if d.number("spec_decode_acceptance_length") != nil {
		f.Work.AcceptLength = d.number("spec_decode_acceptance_length")
	}
	f.Work.GoodputAsked = d.number("request_goodput") != nil
	if !v.Get("input_throughput").Is(frame.Missing) {
		f.Other = append(f.Other, string(InputRate))
	}
	if d.err != nil {
		return nil, d.err
	}
	if f.Counts.Output == nil && f.Counts.Input != nil {
		f.warn("a run without output tokens: embeddings, pooling or the like, of which the tables say little")
	}
	if f.Counts.Failed == nil {
		f.warn("failed requests are not counted in it: written before October 2025, or a pooling run")
	}
	return f, f.details(v, o)
}

// vllmVersions is which releases write such a file: since November every one
// has the latencies.
func vllmVersions(v frame.Value) []serving.Version {
	queue := !v.Get("latencies").Is(frame.Missing)
	var fit []serving.Version
	for _, version := range serving.Versions() {
		if sw, _ := serving.SwitchesOf(version); sw.QueueTime == queue {
			fit = append(fit, version)
		}
	}
	return fit
}

func (f *File) vllmLoad(d *fields) {
	l := &f.Load
	l.Rate, l.Burstiness, l.Requests = d.number("request_rate"), d.number("burstiness"), asInt(d.count("num_prompts"))
	if c := d.v.Get("max_concurrency"); !c.Is(frame.Missing) {
		l.Concurrency.Known = true
		if n := d.count("max_concurrency"); n != nil {
			l.Concurrency.N = int(*n)
		}
	}
	if s := d.text("ramp_up_strategy"); s != "" {
		l.Ramp = fmt.Sprintf("%s from %s to %s req/s", s, shownNumber(d.number("ramp_up_start_rps")), shownNumber(d.number("ramp_up_end_rps")))
	}
	l.Trace = l.Rate != nil && *l.Rate == 0 // what a timed trace leaves in the file
	l.Probes = !d.v.Get("probe_completed").Is(frame.Missing)
	l.Arrival = "gamma"
	if l.Rate != nil && math.IsInf(*l.Rate, 1) && l.Ramp == "" {
		l.Arrival = "all at once"
	}
}

// details reads the per-request lists where they are there.
func (f *File) details(v frame.Value, o Options) error {
	l, err := listsOf(v)
	if err != nil || l == nil {
		return err
	}
	if f.Requests, err = l.requests(o.Count); err != nil {
		return err
	}
	f.Detailed = l.errorsKnown
	ok, retokens, counted := 0, int64(0), false
	for i := range f.Requests {
		r := &f.Requests[i]
		if !r.OK {
			continue
		}
		ok++
		if r.Tokens >= 0 {
			retokens, counted = retokens+r.Tokens, true
		}
		if r.Latency < 0 && f.Harness == VLLM && f.Wire == serving.Completions && f.WireKnown {
			r.Latency = r.TTFT + r.GapSum // vLLM's completions end at the last sample
		}
	}
	if counted && f.Counts.Retokenised == nil {
		f.Counts.Retokenised, f.RetokensByTexts = &retokens, true
	}
	if f.Detailed && f.Counts.Completed != nil && ok != *f.Counts.Completed {
		f.Detailed = false
		f.warn(fmt.Sprintf("its lists hold %d requests without an error, its count says %d: a failure without a text is not told from a success", ok, *f.Counts.Completed))
	}
	if l.inputN {
		sum := int64(0)
		for i, x := range l.inputs {
			if x >= 0 && x <= maxCount && f.Requests[i].OK {
				sum += int64(x)
			}
		}
		f.Counts.InputSum = &sum
	}
	return nil
}

func shownNumber(x *float64) string {
	if x == nil {
		return "?"
	}
	return number(*x)
}

// number is x in six significant digits.
func number(x float64) string {
	if math.IsInf(x, 1) {
		return "inf"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.6g", x), ".0")
}

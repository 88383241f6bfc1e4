package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"lathe/bench/frame"
	"lathe/bench/serving"
)

// longText is from how many characters on a text is told by its checksum only.
const longText = 2000

// ServingJSON writes the JSON report of a capture: an object with a member a
// semantics. Equal results give equal bytes; they are written as they come.
func ServingJSON(out io.Writer, results []*serving.Result) error {
	return ServedJSON(out, results, nil)
}

// ServedJSON is ServingJSON with a last member "client" of JSON text, where there
// is some: what the client says of its own run.
func ServedJSON(out io.Writer, results []*serving.Result, client []byte) error {
	w := &pyJSON{out: out}
	w.object(func() {
		for _, r := range results {
			w.with(r.Semantics.String(), func() { servingResult(w, r) })
		}
		if client != nil {
			w.with("client", func() { w.raw(string(client)) })
		}
	})
	w.b = append(w.b, '\n')
	if w.flush(); w.err != nil {
		return fmt.Errorf("write report: %w", w.err)
	}
	return nil
}

func servingResult(w *pyJSON, r *serving.Result) {
	w.object(func() {
		w.with("requests", func() {
			w.array(func() {
				for i := range r.Requests {
					servingRequest(w, r.Semantics, &r.Requests[i])
				}
				for i := range r.Exact {
					exactRequest(w, &r.Exact[i])
				}
			})
		})
		w.with("output_lens", func() { outputLens(w, r) })
		w.with("metrics", func() {
			switch {
			case r.VLLM != nil:
				vllmMetricsJSON(w, r.VLLM, r.Version)
			case r.SGLang != nil:
				sglangMetricsJSON(w, r.SGLang)
			case r.ExactM != nil:
				exactMetricsJSON(w, r.ExactM)
			default:
				w.value(nil)
			}
		})
		if r.Err == "" {
			w.set("error", nil)
		} else {
			w.set("error", r.Err)
		}
		if r.Goodput != nil || r.GoodputErr != "" {
			w.with("goodput", func() { sglangGoodputJSON(w, r.Goodput) })
		}
		if r.GoodputErr != "" {
			w.set("goodput_error", r.GoodputErr)
		}
		servingCache(w, r)
		if len(r.Warnings) > 0 {
			w.set("warnings", r.Warnings)
		}
	})
}

func outputLens(w *pyJSON, r *serving.Result) {
	if r.OutputLens == nil {
		w.value(nil)
		return
	}
	w.array(func() {
		for _, n := range r.OutputLens {
			w.value(countValue(n))
		}
	})
}

func countValue(c serving.Count) any {
	if !c.Valid {
		return nil
	}
	return c.N
}

// text writes a text, or null and its checksum where it is long.
func text(w *pyJSON, name, s string) {
	n := chars(s)
	if n <= longText {
		w.set(name, s)
		return
	}
	w.set(name, nil)
	w.set(name+"_sha256", sumOf(s))
	w.set(name+"_chars", n)
}

func sumOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// chars counts code points as Python does.
func chars(s string) int {
	n := 0
	for len(s) > 0 {
		_, size := frame.DecodeRune(s)
		s, n = s[size:], n+1
	}
	return n
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func servingRequest(w *pyJSON, sem serving.Semantics, o *serving.Outcome) {
	w.object(func() {
		w.set("id", o.ID)
		w.set("success", o.Success)
		w.set("start_time", o.Start())
		w.set("ttft", o.TTFT)
		w.set("itl", o.ITL)
		w.set("latency", o.Latency)
		w.set("prompt_len", countValue(o.Prompt))
		text(w, "generated_text", o.Text)
		w.set("error_class", orNull(o.ErrorClass))
		if w.key("error_text"); o.Success {
			w.value(nil)
		} else {
			w.value(o.ErrorText)
		}
		w.done()
		if sem.Harness == serving.VLLM {
			w.set("output_tokens", countValue(o.Output))
			return
		}
		w.set("output_len", countValue(o.Output))
		w.with("text_chunks", func() { chunks(w, o) })
		if o.Cache != nil {
			w.set("cached_tokens", countValue(o.Cache.Tokens))
			w.with("cached_tokens_details", func() { w.raw(o.Cache.Details) })
		}
	})
}

func chunks(w *pyJSON, o *serving.Outcome) {
	w.array(func() {
		for _, c := range o.Chunks() {
			n := chars(c)
			if n <= longText {
				w.value(c)
				continue
			}
			w.object(func() {
				w.set("sha256", sumOf(c))
				w.set("chars", n)
			})
		}
	})
}

func vllmMetricsJSON(w *pyJSON, m *serving.VLLMMetrics, v serving.Version) {
	w.object(func() {
		w.set("completed", m.Completed)
		w.set("failed", m.Failed)
		w.set("total_input", m.TotalInput)
		w.set("total_output", m.TotalOutput)
		w.set("request_throughput", m.RequestThroughput)
		w.set("request_goodput", m.RequestGoodput)
		w.set("output_throughput", m.OutputThroughput)
		w.set("total_token_throughput", m.TotalTokenThroughput)
		stats := []namedStats{{"ttft", m.TTFT}, {"tpot", m.TPOT}, {"itl", m.ITL}, {"e2el", m.E2EL}}
		for _, s := range stats {
			w.set("mean_"+s.name+"_ms", s.stats.Mean)
			w.set("median_"+s.name+"_ms", s.stats.Median)
			w.set("std_"+s.name+"_ms", s.stats.Std)
			w.with("percentiles_"+s.name+"_ms", func() { quantiles(w, s.stats.Percentiles) })
		}
		w.set("max_output_tokens_per_s", m.MaxOutputTokensPerS)
		w.set("max_concurrent_requests", m.MaxConcurrentRequests)
		w.set("rtfx", 0.0)
		if sw, _ := serving.SwitchesOf(v); !sw.QueueTime {
			return
		}
		for _, s := range []namedStats{{"client_queue_time", m.QueueTime}, {"e2el_including_client_queue", m.E2ELWithQueue}} {
			w.set("mean_"+s.name+"_ms", s.stats.Mean)
			w.set("median_"+s.name+"_ms", s.stats.Median)
			w.set("std_"+s.name+"_ms", s.stats.Std)
			w.with("percentiles_"+s.name+"_ms", func() { quantiles(w, s.stats.Percentiles) })
		}
	})
}

type namedStats struct {
	name  string
	stats serving.Stats
}

func quantiles(w *pyJSON, all []serving.Quantile) {
	w.array(func() {
		for _, q := range all {
			w.array(func() {
				w.value(plainNumber(q.P))
				w.value(q.Value)
			})
		}
	})
}

// plainNumber is an int where x is whole.
func plainNumber(x float64) any {
	if x == float64(int64(x)) {
		return int64(x)
	}
	return x
}

func sglangMetricsJSON(w *pyJSON, m *serving.SGLangMetrics) {
	w.object(func() {
		w.set("completed", m.Completed)
		w.set("total_input", m.TotalInput)
		w.set("total_input_text", m.TotalText)
		w.set("total_input_vision", m.TotalVision)
		w.set("total_output", m.TotalOutput)
		w.set("total_output_retokenized", countValue(m.TotalOutputRetokenized))
		w.set("request_throughput", m.RequestThroughput)
		w.set("input_throughput", m.InputThroughput)
		w.set("output_throughput", m.OutputThroughput)
		w.set("output_throughput_retokenized", m.OutputThroughputRetokenized)
		w.set("total_throughput", m.TotalThroughput)
		w.set("total_throughput_retokenized", m.TotalThroughputRetokenized)
		sglangStats(w, "ttft", m.TTFT)
		sglangStats(w, "tpot", m.TPOT)
		sglangStats(w, "itl", m.ITL)
		w.set("max_itl_ms", m.ITL.Max)
		sglangStats(w, "e2e_latency", m.E2E)
		w.set("concurrency", m.Concurrency)
		w.set("max_output_tokens_per_s", m.MaxOutputTokensPerS)
		w.set("max_concurrent_requests", m.MaxConcurrentRequests)
	})
}

func sglangStats(w *pyJSON, name string, s serving.Stats) {
	w.set("mean_"+name+"_ms", s.Mean)
	w.set("median_"+name+"_ms", s.Median)
	w.set("std_"+name+"_ms", s.Std)
	for _, q := range s.Percentiles {
		w.set("p"+sig0(q.P)+"_"+name+"_ms", q.Value)
	}
}

func sglangGoodputJSON(w *pyJSON, g *serving.SGLangGoodput) {
	if g == nil {
		w.value(nil)
		return
	}
	w.object(func() { sglangGoodputKeys(w, g) })
}

func sglangGoodputKeys(w *pyJSON, g *serving.SGLangGoodput) {
	w.with("goodput_slos_ms", func() {
		w.object(func() {
			for _, s := range g.SLOs {
				w.set(s.Name, s.MS)
			}
		})
	})
	w.set("request_goodput", g.RequestGoodput)
	w.set("slo_attainment", g.Attainment)
	w.with("slo_attainment_by_metric", func() {
		w.object(func() {
			for i, s := range g.SLOs {
				w.set(s.Name, g.AttainmentByIndex[i])
			}
		})
	})
}

package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"lathe/bench/frame"
	"lathe/bench/serving"
)

// SGLangRun is what an SGLang report says besides its figures: flags of the run
// and what the server said of itself.
type SGLangRun struct {
	Date              time.Time
	Tag               *string
	Backend           string
	Dataset           string
	NumPrompts        int
	RequestRate       float64 // +Inf for no limit
	TraceTimestamps   bool    // the rate is told as "trace"
	MaxConcurrency    *int
	ShareGPTOutputLen *int
	RandomInputLen    int
	RandomOutputLen   int
	RandomRangeRatio  float64
	ImageCount        int // of the image dataset
	ImageResolution   string
	ServerInfo        json.RawMessage // body of GET /server_info; nil for none
	OutputDetails     bool
	OutputFile        string
}

func (run *SGLangRun) rate() string {
	switch {
	case run.TraceTimestamps:
		return "trace"
	case math.IsInf(run.RequestRate, 1):
		return "inf"
	}
	return pyFloat(run.RequestRate)
}

// SGLangBlock is the block that SGLang prints, from its title on; an error
// where SGLang ends in an exception instead.
func SGLangBlock(run SGLangRun, r *serving.Result) (string, error) {
	m := r.SGLang
	if m == nil || r.CacheErr != "" {
		return "", unfinished(r)
	}
	k := &block{}
	k.title(" Serving Benchmark Result ", '=')
	k.line("Backend:", run.Backend)
	k.line("Traffic request rate:", run.rate())
	if run.MaxConcurrency != nil && *run.MaxConcurrency != 0 {
		k.line("Max request concurrency:", *run.MaxConcurrency)
	} else {
		k.line("Max request concurrency:", "not set")
	}
	k.line("Successful requests:", m.Completed)
	k.line("Benchmark duration (s):", durationSeconds(r))
	k.line("Total input tokens:", m.TotalInput)
	k.line("Total input text tokens:", m.TotalText)
	if run.Dataset == "image" || run.Dataset == "mmmu" {
		k.line("Total input vision tokens:", m.TotalVision)
	}
	k.line("Total generated tokens:", m.TotalOutput)
	k.line("Total generated tokens (retokenized):", unknown(m.TotalOutputRetokenized))
	k.line("Request throughput (req/s):", m.RequestThroughput)
	k.line("Input token throughput (tok/s):", m.InputThroughput)
	k.line("Output token throughput (tok/s):", m.OutputThroughput)
	k.line("Peak output token throughput (tok/s):", m.MaxOutputTokensPerS)
	k.line("Peak concurrent requests:", m.MaxConcurrentRequests)
	k.line("Total token throughput (tok/s):", m.TotalThroughput)
	k.line("Concurrency:", m.Concurrency)
	if _, length := serving.AcceptLength(run.ServerInfo, run.Backend); length != 0 {
		k.line("Accept length:", length)
	}
	if r.Goodput != nil {
		k.goodput(r.Goodput)
	}
	for _, x := range sglangStatsOf(m) {
		k.title(x.title, '-')
		k.line("Mean "+x.label+" (ms):", x.stats.Mean)
		k.line("Median "+x.label+" (ms):", x.stats.Median)
		for _, q := range x.stats.Percentiles {
			k.line("P"+percentileName(q.P)+" "+x.label+" (ms):", q.Value)
		}
		if x.label == "ITL" {
			k.line("Max ITL (ms):", x.stats.Max)
		}
	}
	if r.Cache != nil {
		k.cache(r.Cache)
	}
	return k.close(), nil
}

func unknown(c serving.Count) any {
	if !c.Valid {
		return none
	}
	return c.N
}

type titled struct {
	key, title, label string
	stats             serving.Stats
}

func sglangStatsOf(m *serving.SGLangMetrics) []titled {
	return []titled{
		{"e2e_latency", "End-to-End Latency", "E2E Latency", m.E2E}, {"ttft", "Time to First Token", "TTFT", m.TTFT},
		{"tpot", "Time per Output Token (excl. 1st token)", "TPOT", m.TPOT}, {"itl", "Inter-Token Latency", "ITL", m.ITL},
	}
}

func (k *block) goodput(g *serving.SGLangGoodput) {
	k.title("Goodput", '-')
	var slos []string
	for _, s := range g.SLOs {
		slos = append(slos, s.Name+":"+percentG(s.MS))
	}
	k.line("SLOs (ms):", strings.Join(slos, " "))
	k.line("Request goodput (req/s):", g.RequestGoodput)
	k.line("SLO attainment (%):", g.Attainment*100)
	for i, s := range g.SLOs {
		k.line(strings.ToUpper(s.Name)+" SLO attainment (%):", g.AttainmentByIndex[i]*100)
	}
}

// percentG is C's %g: six significant digits, none that says nothing.
func percentG(x float64) string {
	s := strconv.FormatFloat(x, 'e', 5, 64)
	exp, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if exp < -4 || exp >= 6 {
		digits, e, _ := strings.Cut(s, "e")
		if strings.Contains(digits, ".") {
			digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
		}
		return digits + "e" + e
	}
	s = strconv.FormatFloat(x, 'f', 5-exp, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// SGLangResultName is the file that SGLang appends its line to.
func SGLangResultName(run SGLangRun) string {
	if run.OutputFile != "" {
		return run.OutputFile
	}
	stem := fmt.Sprintf("%s_%s_%d", run.Backend, run.Date.Format("0102"), run.NumPrompts)
	switch {
	case run.Dataset == "image":
		return fmt.Sprintf("%s_%d_%d_%dimgs_%s.jsonl", stem, run.RandomInputLen, run.RandomOutputLen, run.ImageCount, run.ImageResolution)
	case strings.HasPrefix(run.Dataset, "random"):
		return fmt.Sprintf("%s_%d_%d.jsonl", stem, run.RandomInputLen, run.RandomOutputLen)
	}
	return fmt.Sprintf("%s_%s.jsonl", stem, run.Dataset)
}

// SGLangResult is SGLang's line of a result file, its keys in SGLang's order.
func SGLangResult(run SGLangRun, r *serving.Result) ([]byte, error) {
	m := r.SGLang
	if m == nil || r.CacheErr != "" {
		return nil, unfinished(r)
	}
	d := &members{}
	run.head(d)
	d.set("duration", durationSeconds(r))
	d.set("completed", m.Completed)
	d.set("total_input_tokens", m.TotalInput)
	d.set("total_input_text_tokens", m.TotalText)
	d.set("total_input_vision_tokens", m.TotalVision)
	d.set("total_output_tokens", m.TotalOutput)
	d.set("total_output_tokens_retokenized", countValue(m.TotalOutputRetokenized))
	d.set("request_throughput", m.RequestThroughput)
	d.set("input_throughput", m.InputThroughput)
	d.set("output_throughput", m.OutputThroughput)
	d.set("total_throughput", m.TotalThroughput)
	for _, x := range sglangStatsOf(m) {
		d.set("mean_"+x.key+"_ms", x.stats.Mean)
		d.set("median_"+x.key+"_ms", x.stats.Median)
		d.set("std_"+x.key+"_ms", x.stats.Std)
		for _, q := range x.stats.Percentiles {
			d.set("p"+percentileName(q.P)+"_"+x.key+"_ms", q.Value)
		}
	}
	d.set("concurrency", m.Concurrency)
	length, _ := serving.AcceptLength(run.ServerInfo, run.Backend)
	d.put("accept_length", func(w *pyJSON) { w.raw(length) })
	d.set("max_output_tokens_per_s", m.MaxOutputTokensPerS)
	d.set("max_concurrent_requests", m.MaxConcurrentRequests)
	line := d.json()
	w := &pyJSON{b: line[:len(line)-1], open: []bool{true}}
	if r.Goodput != nil {
		sglangGoodputKeys(w, r.Goodput)
	}
	if r.Cache != nil {
		w.with("cache_report", func() { sglangCacheKeys(w, r.Cache) })
	}
	if run.OutputDetails {
		run.details(w, r)
	}
	return append(w.b, "}\n"...), nil
}

func (run *SGLangRun) head(d *members) {
	d.set("tag", run.Tag)
	d.set("backend", run.Backend)
	d.set("dataset_name", run.Dataset)
	if d.set("request_rate", run.RequestRate); run.TraceTimestamps {
		d.set("request_rate", "trace")
	}
	d.set("max_concurrency", run.MaxConcurrency)
	d.set("sharegpt_output_len", run.ShareGPTOutputLen)
	d.set("random_input_len", run.RandomInputLen)
	d.set("random_output_len", run.RandomOutputLen)
	d.set("random_range_ratio", run.RandomRangeRatio)
	d.put("server_info", func(w *pyJSON) { w.raw(string(run.ServerInfo)) })
}

// raw writes JSON text as Python would after reading it; null where it is none.
func (w *pyJSON) raw(text string) {
	var d frame.Doc
	if d.Parse([]byte(text)) != nil {
		w.value(nil)
		return
	}
	w.copy(d.Root())
}

func (run *SGLangRun) details(w *pyJSON, r *serving.Result) {
	each := func(name string, value func(o *serving.Outcome) any) {
		w.with(name, func() {
			w.array(func() {
				for i := range r.Requests {
					w.value(value(&r.Requests[i]))
				}
			})
		})
	}
	each("input_lens", func(o *serving.Outcome) any { return countValue(o.Prompt) })
	w.with("output_lens", func() { outputLens(w, r) })
	each("ttfts", func(o *serving.Outcome) any { return o.TTFT })
	each("itls", func(o *serving.Outcome) any { return o.ITL })
	each("generated_texts", func(o *serving.Outcome) any { return o.Text })
	each("errors", errorOf)
	if r.Cache != nil {
		cacheLists(w, r)
	}
}

// SteadyLine is SGLang's line of a steady-state file, its keys in SGLang's
// order.
func SteadyLine(s *serving.Steady) []byte {
	d := &members{}
	d.set("concurrency_ratio", s.ConcurrencyRatio)
	d.set("window_start", s.WindowStart)
	d.set("window_end", s.WindowEnd)
	d.set("duration", s.Duration)
	d.set("concurrency_threshold", s.Threshold)
	d.set("completed", s.Completed)
	d.set("total_input", s.TotalInput)
	d.set("input_throughput", s.InputThroughput)
	d.set("total_output", s.TotalOutput)
	d.set("total_output_retokenized", s.TotalOutputRetokenized)
	d.set("output_throughput", s.OutputThroughput)
	d.set("output_throughput_retokenized", s.OutputThroughputRetok)
	d.set("average_concurrency", s.AverageConcurrency)
	d.set("peak_concurrency", s.PeakConcurrency)
	d.set("peak_output_throughput", s.PeakOutputThroughput)
	return append(d.json(), '\n')
}

// Select finds the result of a semantics; nil where it is not among them.
func Select(results []*serving.Result, s serving.Semantics) *serving.Result {
	if i := slices.IndexFunc(results, func(r *serving.Result) bool { return r.Semantics == s }); i >= 0 {
		return results[i]
	}
	return nil
}

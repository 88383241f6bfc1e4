package audit

import (
	"errors"
	"fmt"
	"math"

	"lathe/bench/frame"
)

func isGuideLLM(v frame.Value) bool {
	first := v.Get("benchmarks").First()
	return !v.Get("metadata").Get("guidellm_version").Is(frame.Missing) || !first.Get("scheduler_metrics").Is(frame.Missing) ||
		!first.Get("metrics").Get("time_to_first_token_ms").Is(frame.Missing)
}

// readGuideLLM reads guidellm's report: one benchmark of it, the last where entry
// is 0. What it calls
// inter_token_latency is (last - first) / (n - 1) of a request, weighted by its
// tokens: the tables' TPOT. Its time_per_output_token holds the first token.
func readGuideLLM(v frame.Value, entry int) (*File, error) {
	f := &File{Form: "guidellm report", Kind: Serving, Harness: GuideLLM, Stats: map[Figure]map[string]float64{}}
	f.Release = v.Get("metadata").Get("guidellm_version").Text()
	all := v.Get("benchmarks")
	f.Entries, f.Entry = all.Len(), entry
	if entry == 0 {
		f.Entry = f.Entries
	}
	if f.Entries == 0 {
		return nil, errors.New("no benchmark in it")
	}
	if entry > f.Entries {
		return nil, fmt.Errorf("it holds %s, not %d", plural(f.Entries, "benchmark"), entry)
	}
	var b frame.Value
	at := 0
	for b = range all.All() {
		if at++; at == f.Entry {
			break
		}
	}
	f.severalResults(entry)
	metrics := b.Get("metrics")
	f.guideStats(TTFT, metrics.Get("time_to_first_token_ms"), 1)
	f.guideStats(TPOT, metrics.Get("inter_token_latency_ms"), 1)
	f.guideStats(E2EL, metrics.Get("request_latency"), 1000)
	totals := metrics.Get("request_totals")
	if totals.Is(frame.Missing) {
		totals = b.Get("scheduler_metrics").Get("requests_made")
	}
	d := &fields{v: totals}
	f.Counts.Completed = asInt(d.count("successful"))
	failed, made := 0, false
	for _, key := range []string{"errored", "incomplete"} {
		if n := d.count(key); n != nil {
			failed, made = failed+int(*n), true
		}
	}
	if made {
		f.Counts.Failed = &failed
	}
	f.Counts.Output, f.Counts.Input = guideSum(metrics.Get("output_token_count")), guideSum(metrics.Get("prompt_token_count"))
	if x, ok := b.Get("duration").Float(); ok && x >= 0 && !math.IsInf(x, 0) {
		f.Counts.Duration = &x
	}
	args := v.Get("args")
	if args.Is(frame.Missing) {
		args = v.Get("config")
	}
	f.guideLoad(b, args)
	f.Other = []string{string(Concurrency), string(InputTokens), string(OutputTokens)}
	f.warn("guidellm's inter_token_latency is what the tables call TPOT, weighted by tokens; its time_per_output_token also holds the first token")
	return f, d.err
}

// guideStats reads a distribution of the successful requests.
func (f *File) guideStats(figure Figure, v frame.Value, toMS float64) {
	ok := v.Get("successful")
	stats := map[string]float64{}
	put := func(name string, x frame.Value) {
		if value, is := x.Float(); is && !math.IsNaN(value) {
			stats[name] = value * toMS
		}
	}
	put("mean", ok.Get("mean"))
	put("median", ok.Get("median"))
	put("std", ok.Get("std_dev"))
	for _, p := range []string{"p90", "p95", "p99"} {
		put(p, ok.Get("percentiles").Get(p))
	}
	if len(stats) > 0 {
		f.Stats[figure] = stats
	}
}

func guideSum(v frame.Value) *int64 {
	x, ok := v.Get("successful").Get("total_sum").Float()
	if !ok || !(x >= 0 && x <= maxCount) {
		return nil
	}
	n := int64(math.Round(x))
	return &n
}

func (f *File) guideLoad(b, args frame.Value) {
	l := &f.Load
	strategy := b.Get("config").Get("strategy")
	kind := strategy.Get("type_").Text()
	if kind == "" {
		kind = strategy.Get("kind").Text()
	}
	if kind == "" {
		kind = args.Get("profile").Text()
	}
	d := &fields{v: strategy}
	switch kind {
	case "synchronous":
		l.Closed, l.Concurrency = true, Limit{true, 1}
	case "concurrent":
		l.Closed = true
		if n := d.count("streams"); n != nil {
			l.Concurrency = Limit{true, int(*n)}
		}
	case "throughput":
		inf := math.Inf(1)
		l.Rate, l.Arrival = &inf, "all at once"
		if n := d.count("max_concurrency"); n != nil {
			l.Concurrency = Limit{true, int(*n)}
		}
	case "constant", "poisson":
		l.Arrival, l.Rate = kind, d.number("rate")
	}
	if n, ok := args.Get("random_seed").Int(); ok {
		l.Seed = &n
	}
	f.Work.Dataset = clip(args.Get("data").First().Text(), 120)
	for _, place := range []frame.Value{b.Get("config").Get("backend"), args} {
		if m := place.Get("model").Text(); m != "" {
			f.Work.Model = m
		}
	}
	f.Backend = args.Get("request_type").Text()
	if f.Backend == "" {
		f.Backend = args.Get("request_format").Text()
	}
	f.wireOf(f.Backend)
}

package audit

import (
	"math"
	"strings"

	"lathe/bench/frame"
	"lathe/bench/serving"
)

func isAIPerf(v frame.Value) bool {
	return !v.Get("aiperf_version").Is(frame.Missing) ||
		v.Get("input_config").Is(frame.Object) && !v.Get("request_throughput").Get("unit").Is(frame.Missing)
}

// readAIPerf reads AIPerf's profile export. What it calls inter_token_latency is
// (E2EL - TTFT) / (n - 1) of a request, the tables' TPOT; its
// inter_chunk_latency is the tables' ITL by frames.
func readAIPerf(v frame.Value, _ Options) (*File, error) {
	f := &File{Form: "AIPerf profile export", Kind: Serving, Harness: AIPerf, Stats: map[Figure]map[string]float64{}}
	f.Release = v.Get("aiperf_version").Text()
	for figure, key := range map[Figure]string{TTFT: "time_to_first_token", TPOT: "inter_token_latency", ITL: "inter_chunk_latency", E2EL: "request_latency"} {
		f.aiperfStats(figure, v.Get(key))
	}
	config := v.Get("input_config")
	endpoint := config.Get("endpoint")
	f.Backend = endpoint.Get("type").Text()
	f.wireOf(f.Backend)
	if f.Work.Model = config.Get("models").Get("items").First().Get("name").Text(); f.Work.Model == "" {
		f.Work.Model = endpoint.Get("model_names").First().Text()
	}
	f.aiperfLoad(config)
	average := func(key string) *int64 {
		if n, ok := whole(v.Get(key).Get("avg")); ok {
			return &n
		}
		return nil
	}
	f.Counts = Counts{Completed: asInt(average("request_count")), Failed: asInt(average("error_request_count")), Output: average("total_output_tokens"), Input: average("total_isl")}
	if f.Counts.Output == nil {
		f.Counts.Output = average("total_osl")
	}
	if n := f.Counts.Completed; n != nil && f.Counts.Failed == nil {
		none := 0
		if errors := v.Get("error_summary"); errors.Is(frame.Array) && errors.Len() == 0 {
			f.Counts.Failed = &none
		}
	}
	if x, ok := v.Get("benchmark_duration").Get("avg").Float(); ok && x >= 0 && !math.IsInf(x, 0) {
		f.Counts.Duration = &x
	}
	f.Other = []string{string(Concurrency)}
	if v.Get("was_cancelled").Is(frame.True) {
		f.warn("the run was cancelled")
	}
	f.warn("AIPerf's inter_token_latency is what the tables call TPOT; its inter_chunk_latency is their ITL by frames, and is read as that")
	return f, nil
}

func (f *File) aiperfStats(figure Figure, v frame.Value) {
	for key, x := range v.Members() {
		value, ok := x.Float()
		switch {
		case !ok || math.IsNaN(value):
			continue
		case key == "avg":
			key = "mean"
		case key == "p50":
			key = "median"
		case key != "std" && (key[:min(1, len(key))] != "p"):
			continue
		}
		if f.Stats[figure] == nil {
			f.Stats[figure] = map[string]float64{}
		}
		f.Stats[figure][key] = value
	}
}

// wireOf takes the endpoint from its usual names.
func (f *File) wireOf(endpoint string) {
	switch {
	case strings.Contains(endpoint, "chat"):
		f.Wire, f.WireKnown = serving.Chat, true
	case strings.Contains(endpoint, "completions"):
		f.Wire, f.WireKnown = serving.Completions, true
	case strings.Contains(endpoint, "responses"):
		f.Wire, f.WireKnown = serving.Responses, true
	}
}

// aiperfLoad reads the phase that was measured, or what older files have in its
// place.
func (f *File) aiperfLoad(config frame.Value) {
	l := &f.Load
	phase := config.Get("loadgen")
	for p := range config.Get("phases").All() {
		switch p.Get("kind").Text() {
		case "warmup":
			if n, ok := whole(p.Get("requests")); ok {
				w := int(n)
				l.Warmups = &w
			}
		default:
			phase = p
		}
	}
	d := &fields{v: phase}
	l.Rate = d.number("rate")
	if l.Rate == nil {
		l.Rate = d.number("request_rate")
	}
	kind := d.text("type")
	if kind == "" {
		kind = d.text("arrival_pattern")
	}
	if n := d.count("concurrency"); n != nil {
		l.Concurrency = Limit{Known: true, N: int(*n)}
		l.Closed = l.Rate == nil
	}
	if l.Rate != nil {
		l.Arrival = kind
		l.Concurrency.Known = true
	}
	if l.Requests = asInt(d.count("requests")); l.Requests == nil {
		l.Requests = asInt(d.count("request_count"))
	}
	for set := range config.Get("datasets").All() {
		if f.Work.Dataset = set.Get("format").Text(); f.Work.Dataset == "" {
			f.Work.Dataset = set.Get("type").Text()
		}
	}
	if n, ok := config.Get("input").Get("random_seed").Int(); ok {
		l.Seed = &n
	}
}

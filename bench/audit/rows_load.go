package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// loadRows are the rows of table 1A.
func loadRows() []row {
	loaded := slices.Concat(times(), rates(), []Figure{PeakRate, PeakConcurrent})
	return []row{
		{id: "A1", topic: "loop type", moves: loaded, state: loopType,
			keeps: "nothing under load; token counts"},
		{id: "A2", topic: "request rate", moves: loaded, state: requestRate, directed: byRate,
			arises: func(a, b side) bool {
				return a.Load.Ramp == "" && b.Load.Ramp == "" && !a.Load.Trace && !b.Load.Trace && !a.Load.Closed && !b.Load.Closed
			},
			keeps: "token counts; times only where the server was idle in both"},
		{id: "A3", topic: "law of the gaps between arrivals", moves: []Figure{TTFT, E2EL, PeakConcurrent}, arises: bothFinite, state: gapLaw,
			directed: byBurstiness, keeps: "ITL and TPOT where decoding is not slowed by queueing; token counts"},
		{id: "A4", topic: "first and last send", moves: []Figure{Duration, RequestRate, InputRate, OutputRate, TotalRate, Concurrency}, arises: bothFinite,
			rules: []rule{
				{is: acts(VLLM, VLLMRust), does: "request 0 waits its own gap, and the last goes out at exactly N / rate"},
				{is: acts(SGLang, SGLangRust), does: "request 0 goes out at once, and one more gap is slept after the last", reads: join(up(Duration), down(RequestRate, InputRate, OutputRate, TotalRate, Concurrency))},
			}, keeps: "latencies; token counts"},
		{id: "A5", topic: "normalisation of the schedule", moves: rates(), arises: bothFinite,
			rules: []rule{
				{is: acts(VLLM, VLLMRust), does: "all offsets are scaled so that the last one is N / rate"},
				{is: acts(SGLang, SGLangRust), does: "none: the realised rate varies with the draw"},
			}, keeps: "latencies, as far as the realised rates agree; token counts"},
		{id: "A6", topic: "drift of the schedule", moves: append([]Figure{TTFT, E2EL}, rates()...), arises: bothFinite,
			rules: []rule{
				{is: acts(VLLM, VLLMRust), does: "sleeps to absolute times, so that lateness is not carried over"},
				{is: acts(SGLang, SGLangRust), does: "sleeps each gap after sending, so that lateness adds up and the realised rate is lower",
					reads: join(up(Duration), down(RequestRate, InputRate, OutputRate, TotalRate, TTFT, E2EL, Goodput, Concurrency))},
			}, keeps: "ITL and TPOT; token counts; times where the realised rates are known and agree"},
		{id: "A7", topic: "ramp-up of the rate", moves: loaded, state: rampUp,
			arises: func(a, b side) bool { return a.Load.Ramp != "" || b.Load.Ramp != "" }, keeps: "token counts"},
		{id: "A8", topic: "ramp from 0", never: "such a run is refused or dies at its start"},
		{id: "A9", topic: "trace replay", moves: loaded, state: traceReplay,
			arises: func(a, b side) bool { return a.Load.Trace || b.Load.Trace }, keeps: "token counts"},
		{id: "A10", topic: "trace flag without effect", moves: loaded, state: traceLabel,
			arises: func(a, b side) bool { return falseTrace(a) || falseTrace(b) }, keeps: "token counts"},
		{id: "A11", topic: "mooncake data set broken", never: "such a run dies at its start"},
		{id: "A12", topic: "client's semaphore; the wait in it is in no latency", moves: slices.Concat(times(), rates(), []Figure{PeakConcurrent}), state: semaphore,
			directed: byConcurrency, keeps: "token counts"},
		{id: "A13", topic: "max-concurrency of 0", never: "it is no limit where it is taken at all, and is read as that"},
		{id: "A14", topic: "seed", moves: append(times(), InputTokens, OutputTokens), state: seed,
			keeps: "figures over many requests, where lengths are fixed"},
		{id: "A15", topic: "random stream of the arrivals", moves: []Figure{TTFT, E2EL, PeakConcurrent}, arises: bothFinite, state: arrivalStream,
			keeps: "means over many requests"},
	}
}

func loopType(s side) stance {
	l := &s.Load
	switch {
	case l.Closed:
		return told("a fixed number of clients, each of which sends when its answer is there")
	case l.Rate != nil && math.IsInf(*l.Rate, 1) && l.Concurrency.Known && l.Concurrency.N > 0 && !loads(s):
		return told("a fixed number of clients, each of which sends when its answer is there")
	case loads(s), l.Rate != nil, l.Ramp != "", l.Trace:
		return told("open: sends do not wait for answers, but for the semaphore's permits")
	}
	return untold("how requests were sent is not told")
}

func requestRate(s side) stance {
	switch r := s.Load.Rate; {
	case r == nil && s.Load.TraceRate:
		return untold("the rate is told as \"trace\"")
	case r == nil:
		return untold("the rate is not told")
	case math.IsInf(*r, 1):
		return told("all at once (rate inf)")
	default:
		return told(number(*r) + " req/s")
	}
}

// byRate: the higher rate loads the server more.
func byRate(a, b side) map[Figure]int {
	by := 1
	if *a.Load.Rate > *b.Load.Rate {
		by = -1
	}
	m := shift(by, slices.Concat(times(), []Figure{RequestRate, InputRate, OutputRate, TotalRate, Concurrency, PeakRate, PeakConcurrent}))
	m[Duration] = -by
	return m
}

// cv2 is the squared coefficient of variation of the gaps.
func cv2(s side) (v float64, ok bool) {
	switch {
	case acts(SGLang, SGLangRust)(s), s.Load.Arrival == "poisson":
		return 1, true
	case s.Load.Arrival == "constant":
		return 0, true
	case s.Load.Burstiness != nil && *s.Load.Burstiness > 0:
		return 1 / *s.Load.Burstiness, true
	}
	return 0, false
}

func gapLaw(s side) stance {
	v, ok := cv2(s)
	switch {
	case !ok:
		return untold("the law of the gaps is not told")
	case v == 1:
		return told("exponential gaps (squared variation 1)")
	case v == 0:
		return told("constant gaps")
	}
	return told(fmt.Sprintf("gamma gaps of burstiness %s (squared variation %s)", number(1/v), number(v)))
}

// byBurstiness: queueing grows with the variation of the gaps.
func byBurstiness(a, b side) map[Figure]int {
	x, _ := cv2(a)
	y, _ := cv2(b)
	if y > x {
		return up(TTFT, E2EL, PeakConcurrent)
	}
	return down(TTFT, E2EL, PeakConcurrent)
}

func rampUp(s side) stance {
	switch {
	case s.Load.Ramp != "":
		return told(s.Load.Ramp)
	case s.Load.Rate != nil || loads(s):
		return told("no ramp")
	}
	return untold("the rate is not told")
}

func traceReplay(s side) stance {
	switch {
	case s.Load.Trace && acts(VLLM)(s):
		return told("the stamps of a timed trace as they are: not rebased, not sorted")
	case s.Load.Trace:
		return told("the stamps of a mooncake trace, sorted and rebased; rounds of one session as a burst")
	case s.Load.Rate != nil || loads(s):
		return told("no trace")
	}
	return untold("the rate is not told")
}

// falseTrace says that a rate told as "trace" is a mere label.
func falseTrace(s side) bool { return s.Load.TraceRate && !s.Load.Trace }

func traceLabel(s side) stance {
	if falseTrace(s) {
		return told("the rate is labelled \"trace\", which has no effect: the true rate is not in the file")
	}
	return told("the rate is what the file says")
}

func semaphore(s side) stance {
	switch c := s.Load.Concurrency; {
	case !c.Known:
		return untold("the limit of requests at a time is not told")
	case c.N == 0:
		return told("no limit")
	default:
		return told(fmt.Sprintf("at most %d at a time", c.N))
	}
}

// byConcurrency: the lower limit loads the server less and hides more waiting.
func byConcurrency(a, b side) map[Figure]int {
	x, y := a.Load.Concurrency.N, b.Load.Concurrency.N
	by := 1
	if y > 0 && (x == 0 || y < x) {
		by = -1
	}
	return shift(by, append(times(), PeakConcurrent, Concurrency))
}

func seed(s side) stance {
	if s.Load.Seed == nil {
		switch {
		case of(VLLM, VLLMRust)(s):
			return untold("the seed is not told (default 0)")
		case of(SGLang, SGLangRust)(s):
			return untold("the seed is not told (default 42, and 1 before June 2026)")
		}
		return untold("the seed is not told")
	}
	return told(fmt.Sprintf("seed %d", *s.Load.Seed))
}

func arrivalStream(s side) stance {
	switch {
	case s.Harness == VLLMRust, s.Harness == SGLangRust:
		return told("a stream of Rust's generator of " + strings.TrimSuffix(string(s.Harness), "-rust"))
	case acts(SGLang)(s) && strings.HasPrefix(s.Work.Dataset, "random"):
		return told("numpy's stream, after the lengths were drawn from it")
	case acts(SGLang, VLLM)(s):
		return told("numpy's stream, fresh from the seed")
	}
	return untold("the stream of the arrivals is not told")
}

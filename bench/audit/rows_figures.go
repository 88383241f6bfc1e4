package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lathe/bench/serving"
)

// aggregateRows are the rows of table 1E.
func aggregateRows() []row {
	exact := of(Lathe)
	return []row{
		{id: "E1", topic: "percentiles", reading: true, oneSided: true, state: statistic, list: onlyStatistics, keeps: "the statistics that both hold",
			arises: func(a, b side) bool { return len(a.Stats) > 0 && len(b.Stats) > 0 }},
		{id: "E2", topic: "interpolation of percentiles", never: "numpy's linear one in all four clients, to the last bit or nearly"},
		{id: "E3", topic: "mean, median, deviation", never: "the same arithmetic in all"},
		{id: "E4", topic: "maximum", never: "SGLang prints one and saves none"},
		{id: "E5", topic: "TPOT", reading: true, moves: []Figure{TPOT, Goodput}, keeps: "TTFT, ITL, E2EL; token counts", arises: bothHarnessed, rules: []rule{
			{is: of(VLLM, VLLMRust), does: "(E2EL - TTFT) / (n - 1), E2EL to the last frame and n as the server counted"},
			{is: func(s side) bool { return countsAreProduced(s) || s.MultiTurn && s.sw.MultiTurnAsksUsage }, does: "(E2EL - TTFT) / (n - 1), E2EL to [DONE]", reads: up(TPOT)},
			{does: "(E2EL - TTFT) / (n - 1), E2EL to [DONE] and n possibly the requested length"},
		}},
		{id: "E6", topic: "pool of ITL", reading: true, moves: []Figure{ITL}, keeps: "TTFT, TPOT, E2EL; token counts", arises: oneSplits, rules: []rule{
			{is: splitsGaps, does: "the split gaps of all successful requests, a sample a token", reads: down(ITL)},
			{is: harnessed, does: "the gaps of all successful requests"},
			{is: exact, does: "the gaps of all successful requests"},
		}, ruledOut: oneTokenAFrame},
		{id: "E7", topic: "peak output tok/s", reading: true, moves: []Figure{PeakRate}, keeps: "everything else", rules: []rule{
			{is: on(serving.Native, SGLang, SGLangRust), does: "tokens in a second", reads: up(PeakRate)},
			{is: harnessed, does: "frames in a second"},
		}, ruledOut: oneTokenAFrame},
		{id: "E8", topic: "peak concurrent requests", never: "the same inclusive whole seconds in all four clients, which can exceed the true concurrency"},
		{id: "E9", topic: "concurrency", reading: true, oneSided: true, moves: []Figure{Concurrency}, keeps: "everything else", arises: bothHarnessed, state: held(Concurrency, "sum of E2EL over the duration")},
		{id: "E10", topic: "goodput", reading: true, moves: []Figure{Goodput}, keeps: "everything else", state: goodput,
			arises: func(a, b side) bool { return a.Work.GoodputAsked && b.Work.GoodputAsked }},
		{id: "E10", topic: "goodput", reading: true, oneSided: true, moves: []Figure{Goodput}, keeps: "everything else", state: held(Goodput, "asked for"), arises: bothHarnessed},
		{id: "E11", topic: "failed requests", reading: true, moves: append(times(), Completed, FailedCount), keeps: "nothing, until the failures of both are known", state: failures, ruledOut: noFailures,
			arises: func(a, b side) bool { return bothHarnessed(a, b) && a.Harness != b.Harness }},
		{id: "E12", topic: "failed requests in the statistics", reading: true, captures: true, moves: append(times(), Tails, InputTokens, OutputTokens, Duration, RequestRate, InputRate, OutputRate, TotalRate), keeps: "nothing: the times are those of the survivors", state: survivors,
			arises: func(a, b side) bool { return harnessed(a) && harnessed(b) || !lacksFailures(a) && !lacksFailures(b) }},
		{id: "E13", topic: "no successful request", moves: []Figure{Everything}, keeps: "nothing", state: func(s side) stance {
			if s.Counts.Completed != nil && *s.Counts.Completed == 0 {
				return told("no request succeeded: the zeros are no measurements")
			}
			return told("requests succeeded")
		}},
		{id: "E14", topic: "duration", moves: []Figure{Duration}, keeps: "latencies; token counts", rules: durationRules(up(Duration)), arises: bothLoad},
		{id: "E15", topic: "denominator of the throughputs", moves: []Figure{RequestRate, InputRate, OutputRate, TotalRate, Concurrency, Goodput}, keeps: "latencies; token counts", arises: bothLoad,
			rules: durationRules(down(RequestRate, InputRate, OutputRate, TotalRate, Concurrency, Goodput))},
		{id: "E16", topic: "input throughput", reading: true, oneSided: true, moves: []Figure{InputRate}, keeps: "everything else", arises: bothHarnessed, state: held(InputRate, "input tokens over the duration")},
	}
}

// durationRules are what the duration ends with; asked is what a question to the
// server inside it does.
func durationRules(asked map[Figure]int) []rule {
	return []rule{
		{is: where(acts(SGLang), func(s side) bool { return strings.Contains(s.actsBackend(), "sglang") }), does: "until the server has answered GET /server_info, which it is asked inside the duration", reads: asked},
		{is: sharedProbes, does: "until the loop of the probes has slept its last pause", reads: asked},
		{is: loads, does: "until the last request has ended"},
	}
}

func held(f Figure, does string) func(s side) stance {
	return func(s side) stance {
		if s.holds(f) {
			return told(does)
		}
		return told(absent)
	}
}

// statistic is the list of a file's statistics.
func statistic(s side) stance {
	var parts []string
	for _, m := range times() {
		if names := statNames(s.Stats[m]); len(names) > 0 {
			parts = append(parts, string(m)+": "+strings.Join(names, " "))
		}
	}
	return told(strings.Join(parts, "; "))
}

// statNames are the names of statistics: mean, median, deviation, then the
// percentiles by size.
func statNames(stats map[string]float64) []string {
	rank := func(name string) float64 {
		if p, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64); err == nil {
			return p
		}
		return float64(slices.Index([]string{"std", "median", "mean"}, name)) * -1
	}
	return slices.SortedFunc(maps.Keys(stats), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
}

// onlyStatistics lists what one of two files lacks.
func onlyStatistics(a, b side) []Move {
	var moves []Move
	one := func(x, y side, only string) {
		for _, m := range times() {
			if len(x.Stats[m]) > 0 && len(y.Stats[m]) == 0 {
				moves = append(moves, Move{m, only})
				continue
			}
			for _, name := range statNames(x.Stats[m]) {
				if _, ok := y.stat(m, name); !ok {
					moves = append(moves, Move{Figure(name + " of " + string(m)), only})
				}
			}
		}
	}
	one(a, b, "only in A")
	one(b, a, "only in B")
	return moves
}

func goodput(s side) stance {
	if s.Work.ReportedSLOs != "" {
		return told("objectives " + s.Work.ReportedSLOs)
	}
	return untold("the objectives are not in the file")
}

func failures(s side) stance {
	switch {
	case s.Counts.Failed != nil:
		return told("counted")
	case s.Detailed:
		return told("not counted, but listed with the details")
	case of(SGLang, SGLangRust)(s):
		return told("not counted: how many failed is not in the file")
	}
	return untold("failed requests are not told")
}

// lacksFailures says that a file does not tell how many requests failed.
func lacksFailures(s side) bool { _, known := s.failed(); return !known }

// survivors says which share of the requests the statistics are of.
func survivors(s side) stance {
	failed, known := s.failed()
	if !known {
		return untold("how many requests failed is not in the file, so that its figures may be those of the survivors")
	}
	total, _ := s.total()
	switch share := 100 * float64(failed) / float64(max(1, total)); {
	case failed == 0:
		return told("every request is in them")
	case share < 1:
		return told("less than 1 % of the requests failed and are in none")
	default:
		return told(fmt.Sprintf("%.1f %% of the requests failed and are in none", share))
	}
}

// fileRows are the rows of table 1F.
func fileRows() []row {
	both := func(a, b side) bool { return a.Work.AcceptLength != nil && b.Work.AcceptLength != nil }
	one := func(a, b side) bool { return (a.Work.AcceptLength != nil) != (b.Work.AcceptLength != nil) }
	const form = "it is the form of a file or of a printed block"
	return []row{
		{id: "F1", topic: "source of the speculation figures", moves: []Figure{Acceptance}, keeps: "everything else", arises: both, rules: []rule{
			{is: of(VLLM, VLLMRust), does: "the server's counters before and after the run"},
			{is: of(SGLang, SGLangRust), does: "the server's average since its start or last flush, warm-up and other traffic included"},
		}},
		{id: "F1", topic: "speculation figures", oneSided: true, moves: []Figure{Acceptance}, keeps: "everything else", arises: one, state: held(Acceptance, "told")},
		{id: "F2", topic: "definition of the acceptance length", moves: []Figure{Acceptance}, keeps: "everything else", arises: both, rules: []rule{
			{is: of(VLLM, VLLMRust), does: "1 + accepted tokens / drafts, of the whole run"},
			{is: of(SGLang, SGLangRust), does: "tokens, the bonus one included, a verify step of a request"},
		}},
		{id: "F3", topic: "when speculation is printed", never: form},
		{id: "F4", topic: "when a result file is written", never: form},
		{id: "F5", topic: "name of the file", never: form},
		{id: "F6", topic: "infinity in JSON", never: "all its forms are read"},
		{id: "F7", topic: "per-request details", never: "they change what can be checked, no figure"},
		{id: "F8", topic: "server's configuration in the file", never: "it is kept by SGLang only, and no figure"},
		{id: "F9", topic: "printed block", never: form},
		{id: "F10", topic: "plots", never: form},
	}
}

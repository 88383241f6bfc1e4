package audit

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"lathe/bench/serving"
)

// lifecycleRows are the rows of table 1G.
func lifecycleRows() []row { return slices.Concat(warmRows(), askedRows(), subjectRows()) }

func warmRows() []row {
	warm := []Figure{TTFT, E2EL}
	return []row{
		{id: "G1", topic: "ready check", moves: warm, keeps: "every request but those of the first prompt", state: func(s side) stance {
			switch {
			case s.Flags.Ask != nil:
				return told(*s.Flags.Ask)
			case of(SGLang, SGLangRust)(s):
				return told("no prompt is sent")
			case of(VLLM, VLLMRust)(s):
				return untold("not told (off by default; where it is on, the first prompt is sent in full)")
			}
			return untold("whether the server was asked first is not told")
		}},
		{id: "G2", topic: "warm-up", moves: warm, keeps: "ITL and TPOT of a warm server; token counts", state: func(s side) stance {
			switch {
			case s.Load.Warmups != nil:
				return told(plural(*s.Load.Warmups, "warm-up request"))
			case of(VLLM, VLLMRust)(s):
				return untold("not told (default none)")
			case of(SGLang, SGLangRust)(s):
				return untold("not told (default 1, the first prompt)")
			}
			return untold("not told")
		}},
		{id: "G3", topic: "cache flush", moves: warm, keeps: "ITL, TPOT; token counts", state: func(s side) stance {
			switch {
			case s.Flags.Flush != nil && *s.Flags.Flush:
				return told("before the run")
			case of(VLLM, VLLMRust)(s), s.Flags.Flush != nil:
				return told("never")
			case of(SGLang, SGLangRust)(s):
				return untold("not told (only with --flush-cache)")
			}
			return untold("not told")
		}},
		{id: "G4", topic: "pause before the run", never: "it lies outside every figure"},
		{id: "G5", topic: "state of the prefix cache", moves: warm, keeps: "ITL, TPOT; token counts", state: func(side) stance { return untold("what the server had cached is not told") }},
	}
}

func flagged(of func(Flags) *string, why string) func(side) stance {
	return func(s side) stance {
		if v := of(s.Flags); v != nil {
			return told(orNone(*v))
		}
		return untold(why)
	}
}

// askedRows are about what is asked of the server besides the prompt.
func askedRows() []row {
	return []row{
		{id: "G6", topic: "ignore_eos", moves: []Figure{OutputTokens, OutputRate, TotalRate, E2EL}, keeps: "TTFT, ITL", state: func(s side) stance {
			switch {
			case s.Flags.IgnoreEOS != nil && *s.Flags.IgnoreEOS:
				return told("sent", up(OutputTokens, OutputRate, TotalRate, E2EL))
			case s.Flags.IgnoreEOS != nil:
				return told("not sent")
			case of(VLLM, VLLMRust)(s):
				return untold("not told (sent for the random data sets or where asked)")
			case of(SGLang, SGLangRust)(s):
				return untold("not told (sent as true by default)")
			}
			return untold("not told")
		}},
		{id: "G7", topic: "temperature", moves: []Figure{OutputTokens, Acceptance, ITL}, keeps: "TTFT", state: func(s side) stance {
			switch {
			case s.Flags.Temperature != nil:
				return told(*s.Flags.Temperature)
			case of(SGLang, SGLangRust)(s) && openAI(s):
				return told("0.0, whatever the flag")
			case of(SGLang, SGLangRust)(s):
				return untold("not told (default 0.0)")
			case of(VLLM, VLLMRust)(s):
				return untold("not told (the server's own by default)")
			}
			return untold("not told")
		}},
		{id: "G8", topic: "probe requests", moves: append(times(), rates()...), keeps: "token counts", arises: func(a, b side) bool { return a.Load.Probes || b.Load.Probes }, state: func(s side) stance {
			if s.Load.Probes {
				return told("single-token requests beside the load", up(TTFT, ITL, TPOT, E2EL, Duration))
			}
			return told("none")
		}},
		{id: "G9", topic: "probes in the pool and in the duration", moves: rates(), keeps: "latencies of the load; token counts", arises: func(a, b side) bool { return a.Load.Probes || b.Load.Probes }, rules: []rule{
			{is: sharedProbes, does: "they share the pool of connections, and the duration waits for their loop", reads: join(up(Duration), down(RequestRate, InputRate, OutputRate, TotalRate, Concurrency, Goodput))},
			{does: "no probe is in the duration"},
		}},
		{id: "G10", topic: "profiler", moves: append(times(), rates()...), keeps: "token counts", arises: bothLoad, state: func(s side) stance {
			switch {
			case s.Flags.Profile == nil:
				return untold("whether a profiler ran is not told")
			case *s.Flags.Profile:
				return told("ran", up(TTFT, ITL, TPOT, E2EL))
			}
			return told("none")
		}},
		{id: "G11", topic: "LoRA", moves: append(times(), rates()...), keeps: "token counts", arises: bothLoad, state: flagged(func(f Flags) *string { return f.LoRA }, "whether adapters were used is not told")},
		{id: "G12", topic: "extra body", moves: append(times(), OutputTokens), keeps: "what it does not touch", arises: bothLoad, state: flagged(func(f Flags) *string { return f.ExtraBody }, "fields added to the bodies are not told")},
	}
}

// subjectRows are about what was asked of what.
func subjectRows() []row {
	return []row{
		{id: "G13", topic: "data set and lengths", moves: []Figure{Everything}, keeps: "nothing: the work was not the same", state: dataset, equal: sameWork},
		{id: "G14", topic: "server", moves: []Figure{Everything}, keeps: "nothing", arises: bothLoad, state: func(s side) stance {
			if s.Flags.Server == nil {
				return untold("host, port and machine of the server are not told")
			}
			return told(*s.Flags.Server)
		}, equal: func(a, b side) (bool, string) {
			if x, y := *a.Flags.Server, *b.Flags.Server; x != y {
				return true, "A, " + x + "; B, " + y + ": whether the machines are alike is not told"
			}
			return true, ""
		}},
		{id: "G15", topic: "model", moves: []Figure{Everything}, keeps: "nothing", state: func(s side) stance {
			if s.Work.Model == "" {
				return untold("the model is not told")
			}
			return told(s.Work.Model)
		}, equal: func(a, b side) (bool, string) { return baseName(a.Work.Model) == baseName(b.Work.Model), "" }},
		{id: "G16", topic: "prompts cut to the server's tokenizer", moves: []Figure{InputTokens, TTFT}, keeps: "ITL, TPOT", arises: bothHarnessed, rules: []rule{
			{is: of(VLLM, VLLMRust), does: "checked by /tokenize for random prompts"},
			{does: "never"},
		}, rare: always("the two tokenizers differ")},
		{id: "G17", topic: "multi-turn", moves: []Figure{Everything}, keeps: "nothing", arises: bothHarnessed, state: func(s side) stance {
			if s.MultiTurn {
				return told("conversations, each round with the server's own replies: input tokens of 0 tell it")
			}
			return told("single requests")
		}},
		{id: "G18", topic: "shape of a chat message", moves: []Figure{InputTokens, TTFT}, keeps: "ITL, TPOT", arises: func(a, b side) bool { return bothChat(a, b) && bothHarnessed(a, b) }, rules: []rule{
			{is: of(VLLM, VLLMRust), does: "a list of parts"},
			{does: "a plain string"},
		}, rare: always("the server picks its template by the shape")},
	}
}

func baseName(model string) string {
	for i := len(model) - 1; i >= 0; i-- {
		if model[i] == '/' {
			return model[i+1:]
		}
	}
	return model
}

// dataset says what was asked, as far as the file does.
func dataset(s side) stance {
	in, out, ok := meanLengths(s)
	lens := "lengths not told"
	if s.Work.Lengths != "" {
		lens = s.Work.Lengths
	} else if ok {
		lens = fmt.Sprintf("%s input and %s output tokens a request", number(in), number(out))
	}
	if s.Work.Dataset == "" {
		return told("data set not told; " + lens)
	}
	return told(shortSums(s.Work.Dataset) + "; " + lens)
}

// shortSums shortens the checksums in a text.
func shortSums(s string) string {
	return regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllStringFunc(s, func(sum string) string { return sum[:12] + "…" })
}

// meanLengths are the mean lengths of the successful requests.
func meanLengths(s side) (in, out float64, ok bool) {
	c := &s.Counts
	if c.Completed == nil || *c.Completed == 0 || c.Input == nil || c.Output == nil {
		return 0, 0, false
	}
	n := float64(*c.Completed)
	return float64(*c.Input) / n, float64(*c.Output) / n, true
}

// lengthTolerance and specialTokens are how far mean lengths may differ before
// the work is taken for another one: a draw of another seed stays below it, as
// do a tokenizer that disagrees a little and the special tokens of a prompt.
const (
	lengthTolerance = 0.1
	specialTokens   = 4
	// otherTokenizer is how far the counts of two tokenizers are apart at most for
	// the same text to be likely.
	otherTokenizer = 1.5
)

// fromServer says that a file's input tokens are the server's count and not that
// of the client's rows.
func fromServer(s side) bool { return of(VLLM, GuideLLM)(s) }

// sameWork compares what was asked: data sets where both tell them, and mean
// lengths. A count that is only the requested length may also agree by the
// retokenised one.
func sameWork(a, b side) (same bool, unknown string) {
	if of(SGLang, SGLangRust)(a) && of(SGLang, SGLangRust)(b) && a.Work.Dataset != b.Work.Dataset {
		return false, ""
	}
	if a.Harness == Lathe && b.Harness == Lathe && a.Work.Dataset != "" && b.Work.Dataset != "" && a.Work.Dataset != b.Work.Dataset {
		return otherDraw(a, b), ""
	}
	inA, outA, okA := meanLengths(a)
	inB, outB, okB := meanLengths(b)
	if !okA || !okB {
		return sameRequested(a, b)
	}
	for _, s := range []side{a, b} {
		if failed, known := s.failed(); known && float64(failed) > lengthTolerance*float64(failed+*s.Counts.Completed) {
			return true, "so many requests failed that the lengths of the rest say nothing of the data set"
		}
	}
	otherSource := fromServer(a) != fromServer(b)
	input := near(inA, inB, specialTokens) || otherSource && max(inA, inB) <= otherTokenizer*min(inA, inB) || a.MultiTurn || b.MultiTurn || chatTemplate(a, b)
	output := near(outA, outB, 0) || near(retokened(a, outA), retokened(b, outB), 0)
	if !input || !output {
		return false, ""
	}
	if a.Work.Dataset != "" && a.Work.Dataset == b.Work.Dataset {
		if a.Harness != b.Harness && strings.HasPrefix(a.Work.Dataset, "random") {
			return true, "lengths agree, but the Rust client draws other prompts than the Python one from the same seed"
		}
		return true, ""
	}
	if !near(inA, inB, specialTokens) {
		return true, fmt.Sprintf("mean lengths agree but for who counted the input: %s and %s input, %s and %s output tokens a request", number(inA), number(inB), number(outA), number(outB))
	}
	return true, fmt.Sprintf("the data sets are not told by both; mean lengths agree: %s and %s input, %s and %s output tokens a request", number(inA), number(inB), number(outA), number(outB))
}

// otherDraw says that two captures have rows of one data set, drawn by two seeds:
// which row A14 tells.
func otherDraw(a, b side) bool {
	nameA, _, _ := strings.Cut(a.Work.Dataset, ",")
	nameB, _, _ := strings.Cut(b.Work.Dataset, ",")
	x, y := a.Load.Seed, b.Load.Seed
	n, m := float64(max(1, *a.Counts.Completed+*a.Counts.Failed)), float64(max(1, *b.Counts.Completed+*b.Counts.Failed))
	return nameA == nameB && x != nil && y != nil && *x != *y && near(float64(*a.Counts.Input)/n, float64(*b.Counts.Input)/m, specialTokens) &&
		near(float64(a.Work.AskedSum)/n, float64(b.Work.AskedSum)/m, 0)
}

// sameRequested compares the lengths that were asked for, where a file tells no
// counts.
func sameRequested(a, b side) (bool, string) {
	x, y := &a.Work, &b.Work
	if x.OutputLen != nil && y.OutputLen != nil && *x.OutputLen != *y.OutputLen || x.InputLen != nil && y.InputLen != nil && *x.InputLen != *y.InputLen {
		return false, ""
	}
	if x.Dataset != "" && x.Dataset == y.Dataset && x.OutputLen != nil && y.OutputLen != nil {
		return true, ""
	}
	return true, "data set or lengths are not told by both"
}

// chatTemplate says that the input counts may differ by a template, which only a
// server's count holds.
func chatTemplate(a, b side) bool {
	return a.WireKnown && b.WireKnown && (a.Wire == serving.Chat) != (b.Wire == serving.Chat) || bothChat(a, b) && (a.Harness == VLLM) != (b.Harness == VLLM)
}

func retokened(s side, otherwise float64) float64 {
	if s.Counts.Retokenised == nil {
		return otherwise
	}
	return float64(*s.Counts.Retokenised) / float64(*s.Counts.Completed)
}

func near(x, y, slack float64) bool { return math.Abs(x-y) <= slack+lengthTolerance*max(x, y) }

// workRows are what no harness decides but must be the same.
func workRows() []row {
	return []row{
		{id: "W1", topic: "number of requests", moves: []Figure{Everything}, keeps: "nothing: all started at once, so that their number is the load", arises: func(a, b side) bool {
			return allAtOnce(a) && allAtOnce(b)
		}, state: func(s side) stance {
			n, ok := s.total()
			if !ok {
				return untold("the failed requests are not counted, so that their number is not told")
			}
			return told(plural(n, "request") + ", all at once")
		}},
		{id: "W2", topic: "machine of the client", moves: []Figure{Everything}, keeps: "nothing", state: func(s side) stance {
			if s.run == nil {
				return untold("the machine is not told")
			}
			h := &s.run.Host
			if h.CPU == "" && h.Cores == 0 {
				return untold("the machine is not told")
			}
			return told(fmt.Sprintf("%s, %s, %d cores, %s", h.OS, h.Arch, h.Cores, h.CPU))
		}},
		{id: "W5", topic: "endpoint", moves: []Figure{TTFT, E2EL, InputTokens}, keeps: "ITL, TPOT", arises: func(a, b side) bool { return a.WireKnown && b.WireKnown && a.Wire != b.Wire },
			state: func(s side) stance { return told(wireName(s.File)) }, equal: func(a, b side) (bool, string) {
				return true, "A, " + wireName(a.File) + "; B, " + wireName(b.File) + ": what the server does besides (chat template, parsers) is not told"
			}},
		{id: "W4", topic: "whose rules", moves: []Figure{Everything}, keeps: "the numbers of requests, where both count them alike", state: func(s side) stance {
			if harnessed(s) || s.Harness == Lathe {
				return told("those of the tables")
			}
			return told("those of " + string(s.Harness) + ", which the tables do not cover")
		}, arises: func(a, b side) bool { return a.Harness != b.Harness }},
		{id: "W4", topic: "whose release", moves: []Figure{Everything}, keeps: "what both releases compute alike", state: func(s side) stance {
			if s.Release == "" {
				return untold("the release of " + string(s.Harness) + " is not told")
			}
			return told(string(s.Harness) + " " + s.Release)
		}, rare: always("the two releases compute a figure differently, which the tables do not cover"),
			arises: func(a, b side) bool { return a.Harness == b.Harness && !harnessed(a) && a.Harness != Lathe }},
	}
}

func allAtOnce(s side) bool {
	return s.Load.Rate != nil && math.IsInf(*s.Load.Rate, 1) && s.Load.Ramp == "" && s.Load.Concurrency.Known && s.Load.Concurrency.N == 0
}

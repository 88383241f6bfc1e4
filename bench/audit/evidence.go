package audit

import (
	"fmt"
	"strings"

	"lathe/bench/serving"
)

// framesPerToken sums up a file with details: the samples of ITL and the tokens
// behind the first of the successful requests.
func framesPerToken(s side) (events, tokens int64, even bool) {
	even = true
	for i := range s.Requests {
		r := &s.Requests[i]
		if !r.OK {
			continue
		}
		events, tokens = events+int64(r.Events), tokens+max(0, r.Output-1)
		even = even && int64(r.Events) == r.Output-1
	}
	return events, tokens, even
}

// oneTokenAFrame says by what two files show that every frame held one token, so
// that frames and tokens are the same.
func oneTokenAFrame(a, b side) string {
	for _, s := range []side{a, b} {
		events, _, even := framesPerToken(s)
		if !s.Detailed || !even || events == 0 || !countsAreProduced(s) {
			return ""
		}
	}
	return "in both, every answer of n tokens has n - 1 samples of ITL: each frame held one token"
}

// countsAreProduced says that a file's output lengths are those produced and not
// those asked for.
func countsAreProduced(s side) bool {
	if !of(SGLang, SGLangRust)(s) || native(s) {
		return true
	}
	return s.Counts.Output != nil && s.Counts.Retokenised != nil && *s.Counts.Output == *s.Counts.Retokenised
}

// oneTokenFirst says by what native files show that first frames held one token.
func oneTokenFirst(a, b side) string {
	for _, s := range []side{a, b} {
		if !native(s) {
			continue
		}
		if events, _, even := framesPerToken(s); !s.Detailed || !even || events == 0 {
			return ""
		}
	}
	return "every answer of n tokens has n - 1 samples of ITL: the first frame held one"
}

// severalTokensFirst says by what a native file shows that first frames held
// several tokens: those have no sample.
func severalTokensFirst(a, b side) string {
	for i, s := range []side{a, b} {
		n := 0
		for k := range s.Requests {
			if r := &s.Requests[k]; r.OK && int64(r.Events) < r.Output-1 {
				n++
			}
		}
		if native(s) && s.Detailed && n > 0 {
			return fmt.Sprintf("in %s, %s of n tokens with fewer than n - 1 samples of ITL", letter(i), plural(n, "answer"))
		}
	}
	return ""
}

// everyAnswerHadTokens says by what two files show that no answer was empty.
func everyAnswerHadTokens(a, b side) string {
	for _, s := range []side{a, b} {
		failed, known := s.failed()
		switch {
		case emptyIsFailure(s) && known && failed == 0:
		case s.Detailed && countEmpty(s) == 0 && (!emptyIsFailure(s) || known && failed == 0):
		default:
			return ""
		}
	}
	return "neither file has an answer without a token"
}

func emptyIsFailure(s side) bool {
	return s.Harness == SGLangRust || of(VLLM, VLLMRust)(s) && !chatOfAugust(s)
}

// countEmpty counts successes whose TTFT is 0.
func countEmpty(s side) int {
	n := 0
	for i := range s.Requests {
		if s.Requests[i].OK && s.Requests[i].TTFT == 0 {
			n++
		}
	}
	return n
}

func emptyAnswer(a, b side) string {
	for i, s := range []side{a, b} {
		if n := countEmpty(s); s.Detailed && n > 0 {
			return fmt.Sprintf("%s holds %s with a TTFT of 0", letter(i), plural(n, "successful answer"))
		}
	}
	return ""
}

// onlyOneSawTokens says by what two chat files show that frames counted in one
// and not in the other: answers without a first token here, and none there.
func onlyOneSawTokens(a, b side) string {
	for i, s := range []side{a, b} {
		other := []side{b, a}[i]
		failed, known := other.failed()
		if n := countEmpty(s); s.Detailed && n > 0 && other.Detailed && countEmpty(other) == 0 && known && failed == 0 {
			return fmt.Sprintf("%s holds %s with a TTFT of 0, %s a first token in every answer", letter(i), plural(n, "successful answer"), letter(1-i))
		}
	}
	return ""
}

// noEarlyStop says by what a file shows that nothing stopped before the length
// that it reports.
func noEarlyStop(a, b side) string {
	asked := false
	for _, s := range []side{a, b} {
		if of(SGLang, SGLangRust)(s) && openAI(s) {
			if asked = true; !countsAreProduced(s) {
				return ""
			}
		}
	}
	if !asked {
		return ""
	}
	return "the requested and the retokenised lengths are equal: no answer stopped early"
}

// sameInput says that two files count the same prompt tokens.
func sameInput(a, b side) string {
	x, y := a.Counts.Input, b.Counts.Input
	if x == nil || y == nil || *x != *y || a.Counts.Completed == nil || b.Counts.Completed == nil || *a.Counts.Completed != *b.Counts.Completed || *x == 0 {
		return ""
	}
	return fmt.Sprintf("both count %d input tokens in %s", *x, plural(*a.Counts.Completed, "request"))
}

func noFailures(a, b side) string {
	for _, s := range []side{a, b} {
		if n, known := s.failed(); !known || n > 0 {
			return ""
		}
	}
	return "no request failed in either"
}

// usageFrameFailure finds the exception that a usage frame raises in SGLang's
// completions.
func usageFrameFailure(a, b side) string {
	for i, s := range []side{a, b} {
		n := 0
		for k := range s.Requests {
			if e := s.Requests[k].Error; on(serving.Completions, SGLang)(s) && e != "" && containsAny(e, "IndexError", "list index out of range") {
				n++
			}
		}
		if n > 0 {
			return fmt.Sprintf("%s holds %s of an index error, which a usage frame raises", letter(i), plural(n, "failure"))
		}
	}
	return ""
}

func noSGLangFailure(a, b side) string {
	for _, s := range []side{a, b} {
		if !on(serving.Completions, SGLang)(s) {
			continue
		}
		if n, known := s.failed(); !known || n > 0 {
			return ""
		}
	}
	return "no request failed"
}

func letter(i int) string { return string(rune('A' + i)) }

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

package audit

import "lathe/bench/serving"

// tokenRows are the rows of table 1D.
func tokenRows() []row {
	return []row{
		{id: "D1", topic: "output tokens of a request", reading: true, moves: []Figure{OutputTokens, OutputRate, TotalRate, TPOT}, state: outputTokens,
			keeps: "TTFT, ITL, E2EL, req/s", rare: byClass("a server said no count, or said it on a frame of another kind"), ruledOut: noEarlyStop},
		{id: "D2", topic: "usage on the last frame with text", reading: true, moves: []Figure{OutputTokens, OutputRate, TotalRate, TPOT}, arises: func(a, b side) bool { return openAI(a) && openAI(b) },
			keeps: "TTFT, ITL, E2EL, req/s", rules: []rule{
				{is: on(serving.Completions, VLLM), does: "ignored: the text is encoded again"},
				{is: on(serving.Chat, VLLM), does: "ignored where the frame has a token"},
				{is: of(VLLMRust), does: "used"},
				{is: of(SGLang), does: "used"},
				{is: of(SGLangRust, Lathe), does: "used"},
				{is: on(serving.Responses, VLLM), does: "there is none"},
			}, rare: always("the server puts usage there and sends no frame of its own for it")},
		{id: "D3", topic: "usage is asked for", reading: true, moves: []Figure{OutputTokens, OutputRate, TotalRate, TPOT}, arises: func(a, b side) bool { return openAI(a) && openAI(b) && bothHarnessed(a, b) },
			keeps: "TTFT, ITL, E2EL, req/s", ruledOut: noEarlyStop, rules: []rule{
				{is: of(VLLM, VLLMRust), does: "in every request (stream_options.include_usage)"},
				{is: func(s side) bool { return s.Harness == SGLang && s.MultiTurn && s.sw.MultiTurnAsksUsage }, does: "in every request (stream_options.include_usage)"},
				{does: "never"},
			}},
		{id: "D4", topic: "a frame of usage alone", reading: true, moves: []Figure{Completed, FailedCount}, keeps: "runs without one", rules: []rule{
			{is: on(serving.Completions, SGLang), does: "fails the request after all of it was generated", reads: down(Completed)},
			{is: harnessed, does: "is read"},
			{is: of(Lathe), does: "is read"},
		}, rare: always("the server sends one unasked"), shown: usageFrameFailure, ruledOut: noSGLangFailure},
		{id: "D5", topic: "retokenised count", reading: true, oneSided: true, moves: []Figure{Retokens}, keeps: "everything else", state: func(s side) stance {
			switch {
			case s.holds(Retokens) || s.Harness == Lathe:
				return told("always counted, as a second figure")
			case harnessed(s):
				return told(absent)
			}
			return untold("not told")
		}, arises: bothHarnessed},
		{id: "D6", topic: "input tokens", reading: true, moves: []Figure{InputTokens, InputRate, TotalRate}, keeps: "times, output tokens, req/s", ruledOut: sameInput, directed: byInput, rare: byClass("the server tells it on a finish frame"), rules: []rule{
			{is: func(s side) bool { return s.MultiTurn && s.Harness == SGLang }, does: "0, as in every multi-turn run", reads: shift(-2, []Figure{InputTokens, InputRate, TotalRate})},
			{is: func(s side) bool { return chatOfNovember(s) && s.sw.ChatUsageFrame }, does: "the server's count, on a frame without a token", class: "server", reads: up(InputTokens, InputRate, TotalRate)},
			{is: of(VLLM), does: "the server's count, on a frame without choices", class: "server", reads: up(InputTokens, InputRate, TotalRate)},
			{is: of(VLLMRust, SGLang, SGLangRust), does: "that of the data set's rows"},
			{is: of(GuideLLM), does: "the server's count", reads: up(InputTokens, InputRate, TotalRate)},
		}},
		{id: "D7", topic: "tokens of the chat template", reading: true, captures: true, moves: []Figure{InputTokens, InputRate, TotalRate}, keeps: "times, output tokens, req/s", ruledOut: sameInput,
			arises: func(a, b side) bool {
				return (bothHarnessed(a, b) || a.Harness == Lathe && b.Harness == Lathe) && a.WireKnown && b.WireKnown && (a.Wire == serving.Chat || b.Wire == serving.Chat)
			}, rules: []rule{
				{is: on(serving.Chat, VLLM, Lathe), does: "in the input tokens, as the server counts them", reads: up(InputTokens, InputRate, TotalRate)},
				{does: "not in the input tokens"},
			}},
		{id: "D8", topic: "correction of ITL for speculation", reading: true, moves: []Figure{ITL}, keeps: "TTFT, TPOT, E2EL; token counts",
			arises: func(a, b side) bool { return splitsGaps(a) || splitsGaps(b) }, rare: byClass("the tokenizer does not give the server's tokens back"), rules: []rule{
				{is: splitsGaps, does: "each gap is split over the tokens of its text, encoded again, as the server told an acceptance length", class: "token", reads: down(ITL)},
				{is: where(of(SGLang, SGLangRust), native), does: "none needed: gaps are split over the server's count", class: "token", reads: down(ITL)},
				{is: harnessed, does: "none"},
				{is: of(Lathe), does: "none"},
			}, ruledOut: oneTokenAFrame},
		{id: "D9", topic: "a chunk of no token under D8", never: "such a report aborts: there is no file"},
	}
}

// byInput is the direction that the totals of two files show, where they are of
// as many answers; nil leaves it to the rules.
func byInput(a, b side) map[Figure]int {
	x, y := &a.Counts, &b.Counts
	switch {
	case x.Input == nil || y.Input == nil || x.Completed == nil || y.Completed == nil || *x.Completed != *y.Completed || *x.Input == *y.Input:
		return nil
	case *x.Input < *y.Input:
		return up(InputTokens, InputRate, TotalRate)
	}
	return down(InputTokens, InputRate, TotalRate)
}

// splitsGaps says that SGLang's aggregation splits gaps over re-encoded text;
// its Rust client does not, whatever acceptance length it is told.
func splitsGaps(s side) bool {
	return s.Harness == SGLang && s.Work.AcceptLength != nil && (s.Backend == "sglang-oai" || s.Backend == "sglang-oai-chat")
}

// bothByToken says that both files have gaps split over tokens, the one by the
// server's count and the other by its text.
func bothByToken(a, b side) bool {
	return splitsGaps(a) && native(b) || splitsGaps(b) && native(a)
}

// oneSplits says that one of two files has split gaps and the other has gaps.
func oneSplits(a, b side) bool {
	return splitsGaps(a) != splitsGaps(b) && !bothByToken(a, b)
}

func outputTokens(s side) stance {
	asked := join(up(OutputTokens, OutputRate, TotalRate), down(TPOT))
	st := func(does, class string, reads map[Figure]int) stance {
		return stance{rule: rule{does: does, class: class, reads: reads}}
	}
	switch {
	case !s.WireKnown && harnessed(s):
		return untold("the backend is not one for text")
	case s.Harness == VLLM && s.Wire == serving.Chat && s.sw.ChatUsageFrame:
		return st("the server's count on a frame without a token, else the text encoded again", "server", nil)
	case s.Harness == VLLM && s.Wire == serving.Responses:
		return st("the server's count of its last event", "server", nil)
	case s.Harness == VLLM:
		return st("the server's count on a frame without choices, else the text encoded again", "server", nil)
	case s.Harness == VLLMRust:
		return st("the server's count on any frame, else 1 and the samples of ITL", "server", nil)
	case of(SGLang, SGLangRust)(s) && native(s):
		return st("the server's count on the last frame with text", "server", nil)
	case s.Harness == SGLang && s.MultiTurn && s.sw.MultiTurnAsksUsage:
		return st("the server's count, which is asked for in a multi-turn run", "server", nil)
	case of(SGLang, SGLangRust)(s) && s.Wire == serving.Chat:
		return st("the requested length, unless a frame tells a count unasked", "asked", asked)
	case of(SGLang, SGLangRust)(s):
		return st("the requested length, unless the last frame with text tells a count", "asked", asked)
	case s.Harness == GuideLLM:
		return st("the server's count, else the frames", "server", nil)
	case s.Harness == Lathe:
		return st("the server's count, else frames", "server", nil)
	}
	return untold("what counts an output token is not told")
}

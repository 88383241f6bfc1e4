package audit

import "lathe/bench/serving"

// stampRows are the rows of table 1C.
func stampRows() []row {
	return append(frameRows(), endRows()...)
}

// Who the rows of frames are about, in the words of the table.
func chatOfAugust(s side) bool {
	return on(serving.Chat, VLLM)(s) && !s.sw.ChatTokenFrame || on(serving.Chat, VLLMRust)(s)
}

func chatOfNovember(s side) bool { return on(serving.Chat, VLLM)(s) && s.sw.ChatTokenFrame }

const (
	emptyOrTool = "frames without text came (empty text, tool calls, reasoning in a field of its own)"
	lateFinish  = "a frame without a token came behind the last one with one"
)

func frameRows() []row {
	return []row{
		{id: "C1", topic: "unit of parsing", reading: true, moves: append(times(), Completed, FailedCount, InputTokens, OutputTokens), rules: []rule{
			{is: where(of(VLLM), func(s side) bool { return s.sw.SSETrim && s.Wire != serving.Responses }), does: "socket reads, trimmed, then messages"},
			{is: of(VLLM), does: "socket reads as they are, then messages"},
			{is: of(VLLMRust), does: "socket reads, trimmed, then messages; what cannot be read is skipped"},
			{is: of(SGLang), does: "lines"},
			{is: of(SGLangRust), does: "lines; what cannot be read is skipped"},
			{is: of(Lathe), does: "events of the standard"},
		}, rare: always("comments, CRLF, frames over several lines or reads cut beside a blank came"), keeps: "runs whose server sends one whole frame a write"},
		{id: "C2", topic: "frame that starts TTFT", reading: true, moves: []Figure{TTFT, ITL}, keeps: "E2EL; token counts", rare: byClass(emptyOrTool), rules: []rule{
			{is: on(serving.Completions, VLLM, VLLMRust), does: "the first with choices, its text may be empty", class: "choices", reads: down(TTFT)},
			{is: chatOfAugust, does: "the first with choices, which is the role frame", class: "role", reads: down(TTFT)},
			{is: chatOfNovember, does: "the first with something generated, reasoning, tool calls and empty text included", class: "choices"},
			{is: on(serving.Responses, VLLM), does: "the first text delta", class: "delta"},
			{is: on(serving.Completions, SGLang, SGLangRust), does: "the first with text", class: "text"},
			{is: on(serving.Chat, SGLang, SGLangRust), does: "the first with text or reasoning", class: "text"},
			{is: on(serving.Native, SGLang, SGLangRust), does: "the first with text (native)", class: "text"},
			{is: of(Lathe), does: "the first with something generated", class: "text"},
		}, ruledOut: oneTokenAFrame},
		{id: "C3", topic: "what a sample of ITL is", reading: true, moves: []Figure{ITL}, keeps: "TTFT, TPOT, E2EL; token counts", rare: byClass(emptyOrTool), arises: func(a, b side) bool { return !bothByToken(a, b) }, rules: []rule{
			{is: on(serving.Completions, VLLM, VLLMRust), does: "a gap between frames with choices, empty text included", class: "choices"},
			{is: chatOfAugust, does: "a gap between frames with choices: role, finish and tool frames included", class: "role", reads: down(ITL)},
			{is: chatOfNovember, does: "a gap between frames with something generated, empty text included", class: "choices"},
			{is: on(serving.Responses, VLLM), does: "a gap between text deltas", class: "delta"},
			{is: on(serving.Completions, SGLang, SGLangRust), does: "a gap between frames with text", class: "text"},
			{is: on(serving.Chat, SGLang, SGLangRust), does: "a gap between frames with text or reasoning", class: "text"},
			{is: on(serving.Native, SGLang, SGLangRust), does: "a token: each gap split over the growth of the server's count", class: "count", reads: shift(-2, []Figure{ITL})},
			{is: of(Lathe), does: "a token: each gap split over the server's count", class: "count", reads: shift(-2, []Figure{ITL})},
		}, ruledOut: oneTokenAFrame},
		{id: "C4", topic: "frames that add nothing", reading: true, moves: []Figure{ITL}, keeps: "TTFT, E2EL; token counts", rare: byClass(emptyOrTool), rules: []rule{
			{is: on(serving.Completions, VLLM, VLLMRust), does: "those without choices", class: "choices"},
			{is: chatOfAugust, does: "those without choices, though they move the end; one without delta fails the request", class: "choices"},
			{is: chatOfNovember, does: "those without something generated; empty text is not among them", class: "choices"},
			{is: on(serving.Responses, VLLM), does: "those that are no text delta", class: "delta"},
			{is: on(serving.Completions, SGLang, SGLangRust), does: "those without text; their gap goes to the next sample", class: "text", reads: up(ITL)},
			{is: on(serving.Chat, SGLang, SGLangRust), does: "those without text or reasoning; their gap goes to the next sample", class: "text", reads: up(ITL)},
			{is: on(serving.Native, SGLang, SGLangRust), does: "those in which the server's count does not grow; their gap goes to the next sample", class: "text", reads: up(ITL)},
		}, ruledOut: oneTokenAFrame},
		{id: "C5", topic: "tokens of the first frame", reading: true, moves: []Figure{ITL, PeakRate}, keeps: "TTFT, TPOT, E2EL; token counts", arises: func(a, b side) bool { return !bothByToken(a, b) }, rules: []rule{
			{is: on(serving.Native, SGLang, SGLangRust), does: "none of them has a sample of ITL"},
			{is: harnessed, does: "they are one event"},
		}, rare: always("the first frame of an answer held more than one token"), ruledOut: oneTokenFirst, shown: severalTokensFirst},
		{id: "C6", topic: "stamp and parsing", reading: true, moves: []Figure{TTFT, ITL}, keeps: "everything but microseconds",
			arises: func(a, b side) bool { return of(VLLM, SGLang)(a) && of(VLLM, SGLang)(b) && a.WireKnown && b.WireKnown }, rules: []rule{
				{is: func(s side) bool { return s.Harness == VLLM && s.Wire != serving.Completions }, does: "stamped before the frame is parsed", reads: down(TTFT)},
				{does: "stamped after the frame is parsed"},
			}, rare: always("the time of parsing a frame matters, which is microseconds")},
	}
}

func endRows() []row {
	return []row{
		{id: "C7", topic: "end of the end-to-end latency", reading: true, moves: []Figure{E2EL, TPOT, Goodput, Concurrency}, keeps: "TTFT, ITL; token counts", rare: byClass(lateFinish), rules: []rule{
			{is: on(serving.Completions, VLLM, VLLMRust), does: "the last frame with choices", class: "token"},
			{is: chatOfAugust, does: "the last frame of any kind, usage and finish frames included", reads: up(E2EL, TPOT, Concurrency)},
			{is: chatOfNovember, does: "the last frame with something generated", class: "token"},
			{is: on(serving.Responses, VLLM), does: "the last text delta", class: "token"},
			{is: of(SGLang, SGLangRust), does: "the last line, normally [DONE]", reads: shift(2, []Figure{E2EL, TPOT, Concurrency})},
			{is: of(Lathe), does: "the last frame with something generated (exact)", class: "token"},
		}},
		{id: "C8", topic: "reasoning text", reading: true, moves: []Figure{TTFT, ITL, TPOT, Retokens}, arises: bothChat, keeps: "models that do not reason in a field of their own", rules: []rule{
			{is: chatOfAugust, does: "its frames count, its text is not kept"},
			{is: chatOfNovember, does: "frames of \"reasoning\" count, those of \"reasoning_content\" do not; its text is not kept"},
			{is: of(SGLang, SGLangRust), does: "its frames count and its text is kept"},
			{is: of(Lathe), does: "its frames count"},
		}, rare: always("the model reasons in a field of its own")},
		{id: "C9", topic: "tool calls", reading: true, moves: []Figure{TTFT, ITL, TPOT, E2EL}, arises: bothChat, keeps: "answers without tool calls", rules: []rule{
			{is: chatOfAugust, does: "their frames count"},
			{is: chatOfNovember, does: "their frames count unless they are empty"},
			{is: of(SGLang), does: "they never count: an answer of nothing else has a TTFT of 0"},
			{is: of(SGLangRust), does: "they never count: an answer of nothing else fails"},
			{is: of(Lathe), does: "their frames count"},
		}, rare: always("answers held tool calls"), shown: onlyOneSawTokens},
		{id: "C10", topic: "an answer without a token", reading: true, moves: append(times(), Completed, FailedCount, InputTokens, OutputTokens), keeps: "runs in which every answer held a token", rules: []rule{
			{is: chatOfAugust, does: "a success with times of 0", reads: up(Completed)},
			{is: of(VLLM, VLLMRust), does: "a failure"},
			{is: of(SGLang), does: "a success with a TTFT of 0 and, on OpenAI's endpoints, the requested length", reads: join(up(Completed, OutputTokens), down(TTFT))},
			{is: of(SGLangRust, Lathe), does: "a failure"},
		}, rare: always("an answer held no token"), ruledOut: everyAnswerHadTokens, shown: emptyAnswer},
		{id: "C11", topic: "where to read it", never: "a list of places"},
	}
}

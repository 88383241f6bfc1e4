package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lathe/bench/serving"
)

// generatedAndRetokenised is the second check: the output tokens against those
// of the text, encoded again.
func generatedAndRetokenised(v *View) Outcome {
	o := Outcome{Check: 2, Title: "generated against retokenised tokens"}
	say := func(format string, args ...any) { o.Words = append(o.Words, fmt.Sprintf(format, args...)) }
	if v.Completed != nil {
		o.N = *v.Completed
	}
	if v.Output == nil || v.Retokens == nil {
		o.NotMade = true
		say("The check cannot be made: %s.", v.whyNoSecond())
		return o
	}
	first, second := *v.Output, *v.Retokens
	o.Values = []Value{{"generated", float64(first), "tokens"}, {"retokenised", float64(second), "tokens"}}
	if first == second {
		say("Both counts are %d tokens in %s.", first, plural(o.N, "answer"))
		say("%s", v.equalMeans())
		return o
	}
	if first == 0 || second == 0 {
		o.Doubt = true
		say("%d tokens were counted as generated and %d by encoding the text again: one of the two was not counted.", first, second)
		return o
	}
	ratio := float64(second) / float64(first)
	o.Values = append(o.Values, Value{"ratio", ratio, ""})
	o.Doubt = math.Abs(ratio-1) > 0.001
	say("%d tokens are reported as generated, %d are found by encoding the text again: %s to 1.", first, second, number(ratio))
	v.gapMeans(&o, ratio)
	return o
}

func (v *View) whyNoSecond() string {
	switch {
	case v.Output == nil:
		return "the output tokens are not told"
	case v.Label != "":
		return "it needs --tokenizer"
	case v.Harness == VLLM || v.Harness == VLLMRust:
		if v.Detailed {
			return "vLLM saves no second count; with --tokenizer it is made from the texts in the file"
		}
		return "vLLM saves no second count, and the file no texts (--save-detailed) to make one from"
	}
	return "the file holds no retokenised count"
}

// equalMeans says what equal counts show.
func (v *View) equalMeans() string {
	switch {
	case v.Encoded:
		return "The server told no count, so that both were made by encoding the text: this says nothing."
	case v.Label != "" && !v.isSGLang():
		return "The tokenizer and the server agree on the tokens of the text."
	case !v.isSGLang():
		return "Either the tokenizer agrees with the server, or the server told no count and vLLM encoded the text itself."
	case v.Wire == serving.Native:
		return "On the native backend that says that the client's tokenizer agrees with the server's."
	}
	switch {
	case v.RequestedLen == nil:
		return "On an OpenAI backend the first is the requested length, unless the server told a count unasked: no answer stopped early, or it was told; and the tokenizer gives the text back token for token."
	case v.producedOther():
		return "The first is not the requested length: the server told its count unasked, and the tokenizer agrees with it."
	}
	return "On an OpenAI backend the first is the requested length: no answer stopped early, and the tokenizer gives the text back token for token."
}

// producedOther says that lengths in the file are not those asked for.
func (v *View) producedOther() bool {
	return v.RequestedLen != nil && v.Output != nil && v.Completed != nil && *v.Output != int64(*v.RequestedLen)*int64(*v.Completed)
}

func (v *View) isSGLang() bool { return v.Harness == SGLang || v.Harness == SGLangRust }

// gapMeans explains a gap by what the backend counts.
func (v *View) gapMeans(o *Outcome, ratio float64) {
	say := func(format string, args ...any) { o.Words = append(o.Words, fmt.Sprintf(format, args...)) }
	percent := number(100 * math.Abs(1-ratio))
	switch {
	case v.isSGLang() && v.Wire == serving.Native && ratio < 0.5:
		say("The native backend reports the server's count, so that the text is not all there: a server that streams increments leaves only the last one in this client's text.")
		say("The first figure is then the right one; the retokenised one means nothing.")
	case v.isSGLang() && v.Wire == serving.Native:
		say("The native backend reports the server's count: the client's tokenizer does not agree with the server's, or special tokens are not in the text, and figures by the one are off by %s %% against the other.", percent)
	case v.isSGLang() && v.producedOther():
		say("The first is not the requested length: the server told its count unasked, and the client's tokenizer does not agree with it by %s %%.", percent)
	case v.isSGLang() && ratio < 1:
		say("On an OpenAI backend the first figure is the requested length, unless the server told a count unasked: generation stopped early, by %s %% of the tokens as the tokenizer counts them.", percent)
		say("Output tok/s is too high by about %s %% and TPOT too low, because tokens are counted that were never made.", number(100*(1/ratio-1)))
	case v.isSGLang():
		say("The text holds more tokens than were asked for, which no server makes: the client's tokenizer does not give the server's tokens back (%s %% more).", percent)
	case v.Recounted:
		say("The first is the server's count; the second was made here from the texts: the tokenizer does not agree with the server's, or special tokens are not in the text (%s %%).", percent)
	default:
		say("The two counts differ by %s %%, and the file does not tell which is the server's.", percent)
	}
}

// askedAndSucceeded is the third check: the requests asked for less those that
// succeeded.
func askedAndSucceeded(v *View) Outcome {
	o := Outcome{Check: 3, Title: "requested minus successful"}
	say := func(format string, args ...any) { o.Words = append(o.Words, fmt.Sprintf(format, args...)) }
	if v.Completed == nil {
		o.Doubt, o.NotMade = true, true
		say("The check cannot be made: the successful requests are not told.")
		return o
	}
	o.N = *v.Completed
	o.Values = []Value{{"successful", float64(*v.Completed), "requests"}}
	asked := v.Asked
	if asked == nil && v.Failed != nil {
		n := *v.Completed + *v.Failed
		asked = &n
	}
	if asked == nil {
		o.Doubt, o.NotMade = true, true
		say("%s succeeded; how many were asked for is not in the file, as SGLang's client counts no failures.", plural(*v.Completed, "request"))
		say("Percentiles may be those of the survivors: give --num-prompts as it was given there, or run again with --output-details.")
		return o
	}
	o.Values = append([]Value{{"requested", float64(*asked), "requests"}}, o.Values...)
	lost := *asked - *v.Completed
	o.Values = append(o.Values, Value{"difference", float64(lost), "requests"})
	v.survival(&o, *asked, lost)
	if short := v.shorter(); short != "" {
		say("%s", short)
	}
	return o
}

// shorter says of a harness that takes an answer which an error cut for a
// success how many answers are shorter than the length that most have; "" where
// none is, or where a failure is told.
func (v *View) shorter() string {
	if !harnessed(side{File: &File{Harness: v.Harness}}) || v.Harness == SGLang && v.Wire == serving.Completions {
		return ""
	}
	ok, longest, at := 0, int64(0), 0
	for i := range v.Requests {
		r := &v.Requests[i]
		if !r.OK {
			continue
		}
		switch ok++; {
		case r.Output > longest:
			longest, at = r.Output, 1
		case r.Output == longest:
			at++
		}
	}
	if at == ok || 2*at < ok {
		return ""
	}
	return fmt.Sprintf("Shorter than the %[3]d tokens of the others: %[1]d of %[2]s. Whether they stopped or an error cut them is not told, as this client takes an error object in a stream for no failure.", ok-at, plural(ok, "answer"), longest)
}

// survival says what a difference does to the percentiles.
func (v *View) survival(o *Outcome, asked, lost int) {
	say := func(format string, args ...any) { o.Words = append(o.Words, fmt.Sprintf(format, args...)) }
	failed := lost
	if v.Failed != nil {
		failed = *v.Failed
	}
	switch {
	case asked == 0 && *v.Completed == 0 && failed == 0:
		o.Doubt = true
		say("No request was made: the figures are no measurements.")
		return
	case lost == 0 && failed == 0:
		say("%s, and every one succeeded: the percentiles are of all of them.", plural(asked, "request"))
		return
	case lost < 0:
		o.Doubt = true
		say("More requests succeeded (%d) than were asked for (%d): the number asked for is that of a flag which the data set did not follow.", asked-lost, asked)
	case lost > failed:
		say("%d of %d requests were asked for and never sent or never counted: num_prompts is the flag's value, and the data set had fewer rows, or the run was cut.", lost-failed, asked)
	}
	if failed <= 0 {
		return
	}
	o.Doubt = true
	sent := *v.Completed + failed
	share := 100 * float64(failed) / float64(sent)
	say("%d of %s failed (%s %%): the percentiles are conditioned on survival.", failed, plural(sent, "request"), number(share))
	if *v.Completed == 0 {
		say("No request succeeded: the figures are no measurements.")
		return
	}
	// percentiles are interpolated between ranks 0 to n - 1
	if rank, slowest := 0.99*float64(sent-1), float64(*v.Completed-1); rank > slowest {
		say("Were each failure counted as slower than every success, P99 of all requests would not be defined by this run, and P%s of all would be the slowest success.", number(math.Floor(1000*slowest/float64(sent-1))/10))
	} else {
		say("Were each failure counted as slower than every success, P99 of all requests would be P%s of those that succeeded.", number(math.Round(1e5*rank/slowest)/1000))
	}
	if classes := v.classes(); classes != "" {
		say("The failures: %s.", classes)
	}
}

// classes counts the texts of failures, the most frequent first.
func (v *View) classes() string {
	counts := map[string]int{}
	for i := range v.Requests {
		if r := &v.Requests[i]; !r.OK {
			text := r.Error
			if text == "" {
				text = "no text"
			}
			counts[clip(text, 80)]++
		}
	}
	names := make([]string, 0, len(counts))
	for n := range counts {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for i, n := range names {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d other texts", len(names)-3))
			break
		}
		parts = append(parts, fmt.Sprintf("%d × %q", counts[n], n))
	}
	return strings.Join(parts, ", ")
}

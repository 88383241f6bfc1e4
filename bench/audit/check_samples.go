package audit

import (
	"fmt"
	"math"

	"lathe/bench/serving"
)

// decode is the sum over the answers of more than one token: samples of ITL,
// tokens behind the first, and the times of both.
type decode struct {
	requests int
	samples  int64   // events
	tokens   int64   // n - 1 of each
	gaps     float64 // s in the samples
	behind   float64 // s behind the first token; negative where it is not told
}

func (v *View) decode() decode {
	var d decode
	known := true
	for i := range v.Requests {
		r := &v.Requests[i]
		if !r.OK || r.Output < 2 {
			continue
		}
		d.requests++
		d.samples, d.tokens, d.gaps = d.samples+int64(r.Events), d.tokens+r.Output-1, d.gaps+r.GapSum
		t := r.Decode()
		known = known && t >= 0
		d.behind += t
	}
	if !known {
		d.behind = -1
		if v.MeanE2EL != nil && v.MeanTTFT != nil && v.Completed != nil && d.requests == *v.Completed {
			d.behind = (*v.MeanE2EL - *v.MeanTTFT) / 1000 * float64(d.requests)
		}
	}
	return d
}

// Shares below which a factor is called 1.
const (
	sameRatio  = 0.02
	noticeable = 0.05
)

// samplesAndTokens is the first check: mean ITL over mean TPOT, taken apart into
// what a sample stands for, how requests are weighted, and what is in no sample.
func samplesAndTokens(v *View) Outcome {
	o := Outcome{Check: 1, Title: "mean ITL over mean TPOT"}
	say := func(format string, args ...any) { o.Words = append(o.Words, fmt.Sprintf(format, args...)) }
	if v.Completed != nil {
		o.N = *v.Completed
	}
	if v.MeanITL == nil || v.MeanTPOT == nil {
		o.NotMade = true
		say("The check cannot be made: the file holds no mean %s.", missingOf(v))
		return o
	}
	if *v.MeanTPOT == 0 || *v.MeanITL == 0 {
		o.NotMade = true
		say("The check has no meaning here: mean ITL is %s ms and mean TPOT %s ms, as in a run without a second token.", number(*v.MeanITL), number(*v.MeanTPOT))
		return o
	}
	ratio := *v.MeanITL / *v.MeanTPOT
	o.Values = append(o.Values, Value{"mean ITL", *v.MeanITL, "ms"}, Value{"mean TPOT", *v.MeanTPOT, "ms"}, Value{"ratio", ratio, ""})
	say("Mean ITL is %s ms and mean TPOT %s ms: %s to 1.", number(*v.MeanITL), number(*v.MeanTPOT), number(ratio))
	if v.Sample != "" && !v.Split {
		say("A sample of ITL is %s.", v.Sample)
	}
	d := v.decode()
	if !v.Detailed || d.samples == 0 || d.tokens == 0 {
		v.ratioAlone(&o, ratio)
		return o
	}
	o.N = d.requests
	v.apart(&o, d, ratio)
	return o
}

func missingOf(v *View) string {
	if v.MeanITL == nil {
		return string(ITL)
	}
	return string(TPOT)
}

// ratioAlone says what can be read from the ratio without per-request counts:
// nothing.
func (v *View) ratioAlone(o *Outcome, ratio float64) {
	o.Doubt = math.Abs(ratio-1) > noticeable
	o.Words = append(o.Words, "The ratio alone is no acceptance length: pooled ITL weights gaps and mean TPOT weights requests, so that lengths and latencies which differ move it without any speculation, and can hide it.")
	how := "its details"
	switch v.Harness {
	case VLLM, VLLMRust:
		how = "--save-detailed"
	case SGLang, SGLangRust:
		how = "--output-details"
	}
	o.Words = append(o.Words, "The file holds no per-request counts to take it apart: run again with "+how+", or record a capture.")
	if v.Acceptance != nil {
		o.Words = append(o.Words, fmt.Sprintf("The server told an acceptance length of %s, so that frames of several tokens are likely.", number(*v.Acceptance)))
		o.Doubt = true
	}
}

// apart takes the ratio apart by the counts and times of the requests.
func (v *View) apart(o *Outcome, d decode, ratio float64) {
	say := func(format string, args ...any) { o.Words = append(o.Words, fmt.Sprintf(format, args...)) }
	each := float64(d.tokens) / float64(d.samples)
	o.Values = append(o.Values, Value{"samples of ITL", float64(d.samples), "samples"}, Value{"tokens behind the first", float64(d.tokens), "tokens"}, Value{"tokens a sample", each, ""})
	say("Answers of more than one token: %d, with %d samples of ITL for %d tokens behind the first: %s a sample.", d.requests, d.samples, d.tokens, tokens(each))
	if v.requested() {
		say("The tokens are the lengths asked for, not those produced, as this backend tells no others.")
	}
	if v.Split {
		say("The printed ITL is of the gaps split over their text, encoded again; the samples in the file are the gaps before that, of %s ms on average.", number(d.gaps/float64(d.samples)*1000))
	}
	if d.behind > 0 {
		weighted := d.behind / float64(d.tokens) * 1000
		o.Values = append(o.Values, Value{"TPOT by tokens", weighted, "ms"})
		say("By matching denominators, all time behind the first token is %s ms a token and %s ms a sample.", number(weighted), number(d.behind/float64(d.samples)*1000))
		if factor := weighted / *v.MeanTPOT; math.Abs(factor-1) > sameRatio {
			say("Mean TPOT, which weights each answer alike, is %s ms: the weighting alone makes the ratio %s.", number(*v.MeanTPOT), number(factor))
		}
		if share := 1 - d.gaps/d.behind; math.Abs(share) > sameRatio {
			say("%s %% of the time behind the first token is in no sample of ITL.", number(100*share))
		}
	}
	v.conclude(o, d, each, ratio)
}

// requested says that output lengths may be those asked for.
func (v *View) requested() bool {
	return (v.Harness == SGLang || v.Harness == SGLangRust) && v.WireKnown && openAI(side{File: &File{Wire: v.Wire, WireKnown: true}}) &&
		v.Output != nil && (v.Retokens == nil || *v.Retokens != *v.Output) && !v.producedOther()
}

// tokens is a number of tokens in words.
func tokens(n float64) string {
	if number(n) == "1" {
		return "1 token"
	}
	return number(n) + " tokens"
}

func (v *View) conclude(o *Outcome, d decode, each, ratio float64) {
	say := func(format string, args ...any) { o.Words = append(o.Words, fmt.Sprintf(format, args...)) }
	near := math.Abs(ratio-1) <= noticeable
	switch {
	case v.isSGLang() && v.WireKnown && v.Wire == serving.Native && each > 1+noticeable:
		o.Doubt = !near
		say("On the native backend a sample is a token, so that ITL is the time between tokens. The first frames held %s on average, which have no sample and are in TPOT's n - 1 all the same: that alone makes the ratio %s.", tokens(1+float64(d.tokens-d.samples)/float64(d.requests)), number(each))
	case v.Split:
		say("The printed ITL is the time between tokens by that split, so that a ratio near 1 is expected; a frame held %s.", tokens(each))
	case v.requested() && each > 1+noticeable:
		o.Doubt = true
		say("Whether frames held several tokens or answers stopped early cannot be told apart by these counts: see the second check.")
	case each > 1+noticeable && near:
		o.Doubt = true
		say("Frames held several tokens, and the weighting hides it: a ratio near 1 is no sign of one token a frame here.")
	case each > 1+noticeable:
		o.Doubt = true
		say("Frames held several tokens (speculation, or a server that joins them): ITL is the time between frames, TPOT that between tokens.")
	case each < 1-noticeable:
		o.Doubt = true
		say("There are more samples than tokens: frames without a token (role, empty text, finish) are among them and pull ITL down.")
	case !near:
		say("Every frame held one token: the ratio differs from 1 by weighting and tails only, not by speculation.")
	default:
		say("Every frame held about one token, and the ratio agrees.")
	}
	if v.Acceptance != nil {
		say("The server told an acceptance length of %s.", number(*v.Acceptance))
	}
}

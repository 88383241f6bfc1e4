package serving

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func itlMS(o Outcome) []float64 {
	out := []float64{}
	for _, x := range o.ITL {
		out = append(out, x*1000)
	}
	return out
}

func tpotOf(o Outcome, n int64) float64 { return (o.Latency - o.TTFT) / float64(n-1) * 1000 }

// P033: a role-only first frame is a token of vLLM's August client only.
func TestP033_RoleFrame(t *testing.T) {
	w := wireOf("chat", 3).delta(900, `{"role":"assistant","content":""}`).delta(2200, `{"content":"a"}`).delta(2220, `{"content":"b"}`).
		delta(2240, `{"content":"c"}`).usage(2240.5, 5000, 3).done(2241)
	v := client(t, "vllm:openai-chat", w)
	wantMS(t, "V TTFT", v.TTFT*1000, 900)
	if !nearAll(itlMS(v), []float64{1300, 20, 20}) {
		t.Errorf("V ITL %v", itlMS(v))
	}
	wantMS(t, "V E2EL", v.Latency*1000, 2240.5) // the golden numbers: the usage frame moves the end in August
	opt := august()
	opt.Version = November
	n := reading(t, "vllm:openai-chat", opt, w).Requests[0]
	wantMS(t, "V 0.33 TTFT", n.TTFT*1000, 2200)
	wantMS(t, "V 0.33 E2EL", n.Latency*1000, 2240)
	s := client(t, "sglang:sglang-oai-chat", w)
	wantMS(t, "S TTFT", s.TTFT*1000, 2200)
	wantMS(t, "S E2E", s.Latency*1000, 2241)
	wantMS(t, "S TPOT", tpotOf(s, s.Output.N), 20.5)
	q := exact(t, w)
	wantMS(t, "TTFT", msOf(q.TTFTNS), 2200)
	wantMS(t, "TPOT", tpotMS(q), 20)
	if !nearAll(msList(q.Gaps), []float64{20, 20}) || !nearAll(itlMS(s), []float64{20, 20}) {
		t.Errorf("gaps %v, S ITL %v", msList(q.Gaps), itlMS(s))
	}
}

// P035: reasoning starts TTFT; the first visible answer stands apart.
func TestP035_Reasoning(t *testing.T) {
	w := wireOf("chat", 6)
	for i := range 4 {
		w.delta(100+10*float64(i), `{"reasoning":"r"}`)
	}
	q := exact(t, w.delta(140, `{"content":"a"}`).delta(150, `{"content":"b"}`).usage(151, 10, 6).done(152))
	wantMS(t, "TTFT", msOf(q.TTFTNS), 100)
	wantMS(t, "first content", msOf(q.FirstContentNS), 140)
	wantMS(t, "TPOT", tpotMS(q), 10)
}

// P038: an answer of tool calls only.
func TestP038_ToolCalls(t *testing.T) {
	w := wireOf("chat", 12)
	for i, f := range []string{`{"name":"f"}`, `{"arguments":"{"}`, `{"arguments":"}"}`} {
		w.delta(200+10*float64(i), `{"tool_calls":[{"index":0,"function":`+f+`}]}`)
	}
	q := exact(t, w.usage(221, 30, 12).done(222))
	if !q.Success || q.Output.N != 12 || q.FirstFrameKnown || !strings.Contains(strings.Join(q.Warnings, "\n"), "tokens per frame unknown") {
		t.Errorf("%+v", q)
	}
	wantMS(t, "TTFT", msOf(q.TTFTNS), 200)
	wantMS(t, "last", msOf(q.LastNS), 220)
	wantMS(t, "TPOT", tpotMS(q), 20.0/11)
}

// P039: a parser held tokens back; the growth of usage weights the gaps, and
// the requested length is never a produced one.
func TestP039_HiddenTokens(t *testing.T) {
	frame := func(delta string, n int) string {
		return fmt.Sprintf(`{"choices":[{"delta":%s}],"usage":{"completion_tokens":%d}}`, delta, n)
	}
	w := wireOf("chat", 1024).json(400, frame(`{"content":"a"}`, 1)).json(600, frame(`{"tool_calls":[{"index":0}]}`, 17)).json(800, frame(`{"tool_calls":[{"index":0}]}`, 31)).done(801)
	r := reading(t, "exact", august(), w)
	q := r.Exact[0]
	if q.Output.N != 31 || fmt.Sprint(q.FrameTokens) != "[1 16 14]" {
		t.Errorf("%+v", q)
	}
	wantMS(t, "TPOT", tpotMS(q), 400.0/30)
	wantMS(t, "token ITL", r.ExactM.ITL.Mean, 400.0/30)
	if r.ExactM.ITL.N != 30 || !near(r.ExactM.ITL.Min, 12.5) || !near(r.ExactM.ITL.Max, 200.0/14) {
		t.Errorf("%+v", r.ExactM.ITL)
	}
}

// P041: pooled gaps weight gaps, the mean of TPOT weights requests; both are
// there, and a note.
func TestP041_Weights(t *testing.T) {
	a, b := wireOf("completions", 101), wireOf("completions", 2)
	for i := range 101 {
		a.token(10*float64(i+1), "x")
	}
	a.usage(1011, 1, 101).done(1012)
	b.token(10, "x").token(110, "y").usage(111, 1, 2).done(112)
	r := reading(t, "exact", august(), a, b)
	wantMS(t, "mean TPOT", r.ExactM.TPOT.Mean, 55)
	wantMS(t, "mean gap", r.ExactM.FrameGap.Mean, 1100.0/101)
	wantMS(t, "by token", *r.ExactM.TPOTByToken, 1100.0/101)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "weight") {
		t.Errorf("notes %q", r.Warnings)
	}
	v := reading(t, "vllm:openai", august(), a, b)
	wantMS(t, "vllm mean TPOT", v.VLLM.TPOT.Mean, 55)
	wantMS(t, "vllm mean ITL", v.VLLM.ITL.Mean, 1100.0/101)
}

// P043: a gap is between tokens; the sum of the gaps is last less first.
func TestP043_GapsAreBetweenTokens(t *testing.T) {
	var twenty []*wire
	for range 20 {
		twenty = append(twenty, wireOf("completions", 3).token(500, "a").token(510, "b").token(520, "c").usage(521, 1, 3).done(522))
	}
	for _, o := range reading(t, "vllm:openai", august(), twenty...).Requests {
		if !nearAll(itlMS(o), []float64{10, 10}) {
			t.Errorf("vllm: %v", itlMS(o))
		}
	}
	if m := reading(t, "exact", august(), twenty...).ExactM; m.FrameGap.N != 40 || m.FrameGap.Max >= 20 {
		t.Errorf("%+v", m.FrameGap)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		w, at := wireOf("completions", 50), 0.0
		for range 1 + rng.IntN(30) {
			at += float64(rng.IntN(50_000)) / 1000
			w.token(at, strings.Repeat("x", rng.IntN(3)))
		}
		q := exact(t, w.usage(at+1, 1, 50).done(at+2))
		sum := int64(0)
		for _, g := range q.Gaps {
			sum += g
		}
		if q.TTFTNS != nil && sum != *q.LastNS-*q.TTFTNS || len(q.Gaps) != max(0, q.Frames-1) {
			t.Fatalf("gaps %v, first %v, last %v", q.Gaps, q.TTFTNS, q.LastNS)
		}
		o := client(t, "vllm:openai", w)
		total := 0.0
		for _, g := range o.ITL {
			total += g
		}
		if !near(total, o.Latency-o.TTFT) {
			t.Fatalf("vllm: gaps sum to %v, last less first is %v", total, o.Latency-o.TTFT)
		}
	}
}

// eagle is a speculative stream: one token, then 40 frames of 3 and 4 in turn
// every 7.5 ms, with running counts.
func eagle(endpoint string) *wire {
	w, n := wireOf(endpoint, 141), 1
	text := ""
	put := func(at float64, tokens int) {
		piece := strings.Repeat("x", tokens)
		text += piece
		if endpoint == "generate" {
			w.json(at, fmt.Sprintf(`{"text":%q,"meta_info":{"completion_tokens":%d,"finish_reason":null}}`, text, n))
			return
		}
		w.json(at, fmt.Sprintf(`{"choices":[{"text":%q}],"usage":{"completion_tokens":%d}}`, piece, n))
	}
	put(100, 1)
	for i := range 40 {
		n += 3 + i%2
		put(100+7.5*float64(i+1), 3+i%2)
	}
	if endpoint != "generate" {
		w.usage(400.1, 10, n)
	}
	return w.done(400.2)
}

// P045: gaps per verify step and per token, both under their own names.
func TestP045_VerifySteps(t *testing.T) {
	v := reading(t, "vllm:openai", august(), eagle("completions"))
	wantMS(t, "V median ITL", v.VLLM.ITL.Median, 7.5)
	wantMS(t, "V TPOT", v.VLLM.TPOT.Mean, 300.0/140)
	s := reading(t, "sglang:sglang", august(), eagle("generate"))
	if n := len(s.Requests[0].ITL); n != 140 {
		t.Errorf("S-native has %d samples, want 140", n)
	}
	wantMS(t, "S median ITL", s.SGLang.ITL.Median, 1.875)
	wantMS(t, "S mean ITL", s.SGLang.ITL.Mean, 300.0/140)
	for _, endpoint := range []string{"completions", "generate"} {
		r := reading(t, "exact", august(), eagle(endpoint))
		wantMS(t, "token ITL", r.ExactM.ITL.Mean, 300.0/140)
		wantMS(t, "frame gap", r.ExactM.FrameGap.Median, 7.5)
		if r.ExactM.ITL.N != 140 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "no time per token") {
			t.Errorf("%s: %+v %q", endpoint, r.ExactM.ITL, r.Warnings)
		}
	}
}

// P050: merged tokens; the frame gap is not the time per token.
func TestP050_MergedFrames(t *testing.T) {
	w := wireOf("completions", 400)
	for i := range 100 {
		w.token(500+40*float64(i), "abcd")
	}
	r := reading(t, "exact", august(), w.usage(4461, 1, 400).done(4462))
	wantMS(t, "TPOT", r.ExactM.TPOT.Mean, 3960.0/399)
	wantMS(t, "frame gap", r.ExactM.FrameGap.Mean, 40)
	if !near(*r.ExactM.FramesPerToken, 0.25) || r.ExactM.ITL != nil || r.ExactM.MaxOutputTokensPerS != nil {
		t.Errorf("%+v", r.ExactM)
	}
}

// P053: the denominator is the tokens behind the first.
func TestP053_Denominator(t *testing.T) {
	w := wireOf("completions", 2).token(100, "a").token(150, "b").usage(151, 1, 2).done(152)
	wantMS(t, "TPOT", tpotMS(exact(t, w)), 50)
	wantMS(t, "V TPOT", reading(t, "vllm:openai", august(), w).VLLM.TPOT.Mean, 50)
	if q := exact(t, wireOf("completions", 9).token(100, "all").usage(101, 1, 9).done(102)); q.TPOTNS != nil {
		t.Errorf("one frame has a TPOT of %v", *q.TPOTNS)
	}
}

// P057: tokens a second of decoding and from end to end are two figures.
func TestP057_TwoRates(t *testing.T) {
	for _, first := range []float64{100, 5000} {
		w := wireOf("completions", 101)
		for i := range 101 {
			w.token(first+10*float64(i), "x")
		}
		m := reading(t, "exact", august(), w.usage(first+1001, 1, 101).done(first+1002)).ExactM
		if !near(m.DecodeRate.Mean, 100) || !near(m.E2ERate.Mean, 101/((first+1000)/1000)) {
			t.Errorf("first at %v: %+v %+v", first, m.DecodeRate, m.E2ERate)
		}
	}
}

// P060: headers, first byte, first event and first token are four figures.
func TestP060_FourFirsts(t *testing.T) {
	w := wireOf("completions", 1).at(10, ": hi\n\n").token(800, "a").usage(801, 1, 1).done(802)
	headers := stamp(5)
	w.q.HeadersNS = &headers
	q := exact(t, w)
	wantMS(t, "headers", msOf(q.HeadersNS), 5)
	wantMS(t, "first byte", msOf(q.FirstByteNS), 10)
	wantMS(t, "first event", msOf(q.FirstEventNS), 800)
	wantMS(t, "TTFT", msOf(q.TTFTNS), 800)
}

// P061: whether an empty text is a token, its count tells.
func TestP061_EmptyText(t *testing.T) {
	w := wireOf("completions", 3)
	for _, f := range []struct {
		at   float64
		text string
		n    int
	}{{100, "", 0}, {200, "", 0}, {300, "a", 1}, {310, "", 2}, {320, "b", 3}} {
		w.json(f.at, fmt.Sprintf(`{"choices":[{"text":%q}],"usage":{"completion_tokens":%d}}`, f.text, f.n))
	}
	w.done(321)
	q := exact(t, w)
	if q.Output.N != 3 || q.Frames != 3 || q.EmptyFrames != 2 || !nearAll(msList(q.Gaps), []float64{10, 10}) {
		t.Errorf("%+v", q)
	}
	wantMS(t, "TTFT", msOf(q.TTFTNS), 300)
	wantMS(t, "TPOT", tpotMS(q), 10)
	v := client(t, "vllm:openai", w)
	wantMS(t, "V TTFT", v.TTFT*1000, 100)
	if !nearAll(itlMS(v), []float64{100, 100, 10, 10}) {
		t.Errorf("V ITL %v", itlMS(v))
	}
	s := client(t, "sglang:sglang-oai", w)
	wantMS(t, "S TTFT", s.TTFT*1000, 300)
	if !nearAll(itlMS(s), []float64{20}) {
		t.Errorf("S ITL %v", itlMS(s))
	}
}

package serving

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"lathe/bench"
)

// P063: without usage the source of a count is named.
func TestP063_NoUsage(t *testing.T) {
	build := func(usage bool) *wire {
		w := wireOf("completions", 128)
		for i := range 128 {
			text := "x"
			if i%4 == 3 {
				text = ""
			}
			w.token(100+10*float64(i), text)
		}
		if usage {
			w.usage(1371, 1, 128)
		}
		return w.done(1372)
	}
	q := exact(t, build(false))
	if q.Output.N != 128 || q.OutputSource != "frames" || q.EmptyFrames != 32 {
		t.Errorf("%d by %s, %d empty", q.Output.N, q.OutputSource, q.EmptyFrames)
	}
	wantMS(t, "TPOT by frames", tpotMS(q), 10)
	opt := august()
	opt.Retokenise = true
	if q := reading(t, "exact", opt, build(false)).Exact[0]; q.Output.N != 96 || q.OutputSource != "retokenized" {
		t.Errorf("%d by %s", q.Output.N, q.OutputSource)
	}
	wantMS(t, "V TPOT", reading(t, "vllm:openai", august(), build(false)).VLLM.TPOT.Mean, 1270.0/95)
	wantMS(t, "V TPOT with usage", reading(t, "vllm:openai", august(), build(true)).VLLM.TPOT.Mean, 10)
	ids := wireOf("completions", 4).json(1, `{"choices":[{"text":"ab","token_ids":[5,6]}]}`).json(2, `{"choices":[{"text":"cd","token_ids":[7,8]}]}`).done(3)
	if q := exact(t, ids); q.Output.N != 4 || q.OutputSource != "per-frame" {
		t.Errorf("%d by %s", q.Output.N, q.OutputSource)
	}
}

// P064: fewer frames than tokens, and fewer tokens than asked for.
func TestP064_FewerThanAsked(t *testing.T) {
	build := func(tokens int) *wire {
		w := wireOf("completions", 900)
		for i := range 516 {
			w.token(float64(i+1), "x")
		}
		return w.usage(517, 2500, tokens).done(518)
	}
	opt := august()
	opt.IgnoreEOS = true
	q := reading(t, "exact", opt, build(900)).Exact[0]
	if q.Output.N != 900 || !strings.Contains(strings.Join(q.Warnings, "\n"), "0.57 frames a token") {
		t.Errorf("%d, %q", q.Output.N, q.Warnings)
	}
	q = reading(t, "exact", opt, build(516)).Exact[0]
	if q.Output.N != 516 || !strings.Contains(strings.Join(q.Warnings, "\n"), "server stopped early although ignore_eos was sent") {
		t.Errorf("%d, %q", q.Output.N, q.Warnings)
	}
}

// P066: one unit a formula: reasoning tokens are in both parts or in none.
func TestP066_OneUnit(t *testing.T) {
	w := wireOf("chat", 12)
	for _, f := range []struct {
		at        float64
		n, thinks int
	}{{100, 4, 4}, {140, 8, 8}, {180, 12, 8}} {
		w.json(f.at, fmt.Sprintf(`{"choices":[{"delta":{"reasoning":"r"}}],"usage":{"completion_tokens":%d,"completion_tokens_details":{"reasoning_tokens":%d}}}`, f.n, f.thinks))
	}
	wantMS(t, "TPOT", tpotMS(exact(t, w.done(181))), 10)
}

// P069: output, input and total tokens a second are three figures.
func TestP069_ThreeRates(t *testing.T) {
	w := wireOf("completions", 500)
	w.token(5000, "x").token(10_000, "y").usage(10_000, 30_000, 500).done(10_000)
	raw := bytes.Replace(captureOf(t, w), []byte(`"duration_ns":1000000000`), []byte(`"duration_ns":10000000000`), 1)
	_, results, err := Read(bench.NewReader(bytes.NewReader(raw), "c"), []Semantics{{Harness: Exact}}, august())
	if err != nil {
		t.Fatal(err)
	}
	m := results[0].ExactM
	if !near(*m.OutputThroughput, 50) || !near(*m.InputThroughput, 3000) || !near(*m.TotalThroughput, 3050) {
		t.Errorf("%v %v %v", *m.OutputThroughput, *m.InputThroughput, *m.TotalThroughput)
	}
}

// P128: what is not defined is nothing, never a number.
func TestP128_UndefinedIsNil(t *testing.T) {
	failed := wireOf("completions", 5).at(1, "<html></html>")
	m := reading(t, "exact", august(), failed).ExactM
	if m.TTFT != nil || m.TPOT != nil || m.FrameGap != nil || m.E2EL != nil || m.TPOTByToken != nil || m.FramesPerToken != nil {
		t.Errorf("%+v", m)
	}
	one := reading(t, "exact", august(), wireOf("completions", 1).token(5, "a").usage(6, 1, 1).done(7)).ExactM
	if one.TTFT == nil || one.TPOT != nil || one.FrameGap != nil {
		t.Errorf("%+v", one)
	}
	if r := reading(t, "sglang:sglang-oai", august(), failed); r.Err != "IndexError" || r.SGLang != nil || r.OutputLens != nil {
		t.Errorf("%+v", r)
	}
}

// P131: of a capture that was killed, what is closed is reported, what was open
// is counted, and both are said.
func TestP131_KilledCapture(t *testing.T) {
	w := wireOf("completions", 2).token(10, "a").token(20, "b").usage(21, 1, 2).done(22)
	raw := captureOf(t, w)
	raw = raw[:bytes.LastIndex(raw, []byte(`{"kind":"end"`))]
	raw = append(raw, `{"kind":"reads","id":"r1","reads":[{"t_ns":500000000,"kernel_ns":null,"b64":"ZGF0"}]}`+"\n"+`{"kind":"reads","id":"r1","rea`...)
	c, results, err := Read(bench.NewReader(bytes.NewReader(raw), "c"), []Semantics{{Harness: Exact}, {VLLM, "openai", Completions}}, august())
	if err != nil {
		t.Fatal(err)
	}
	if c.End != nil || len(c.Warnings) == 0 {
		t.Errorf("%+v", c)
	}
	for _, r := range results {
		if r.DurationNS != 500e6 || len(r.Warnings) != 2 || !strings.Contains(strings.Join(r.Warnings, "\n"), "1 requests were open") {
			t.Errorf("%s: %d %q", r.Semantics, r.DurationNS, r.Warnings)
		}
	}
	if m := results[0].ExactM; m.Completed != 1 || m.Unfinished != 1 {
		t.Errorf("%+v", m)
	}
}

// P138: from the record of a request its figures can be computed again.
func TestP138_RequestRecord(t *testing.T) {
	for i := range 3 {
		w := wireOf("completions", 4)
		w.q.ScheduledNS, w.q.SentNS = stamp(10), stamp(12)
		for k := range 4 {
			w.token(20+float64(i+1)*float64(k), "x")
		}
		q := exact(t, w.usage(100, 1, 4).done(101))
		if q.QueueNS != stamp(2) || q.SentNS != stamp(12) || q.TTFTNS == nil || q.LastNS == nil || q.EndNS == nil || len(q.Gaps) != 3 {
			t.Errorf("%+v", q)
		}
		if got := float64(*q.LastNS-*q.TTFTNS) / float64(q.Output.N-1); got != *q.TPOTNS {
			t.Errorf("TPOT %v, from the record %v", *q.TPOTNS, got)
		}
	}
}

// The two harnesses judge an exact tie differently (published vectors).
func TestGoodputTies(t *testing.T) {
	for _, tt := range []struct {
		ns           int64
		slo          string
		vllm, sglang bool
	}{{123_000, "ttft:0.123", true, false}, {355_000, "ttft:0.355", false, true}} {
		w := wireOf("chat", 1).delta(float64(tt.ns)/1e6, `{"content":"a"}`).done(1)
		opt := august()
		opt.Version, opt.Goodput = November, []string{tt.slo}
		v, s := reading(t, "vllm:openai-chat", opt, w), reading(t, "sglang:vllm-chat", opt, w)
		if got := v.VLLM.RequestGoodput > 0; got != tt.vllm {
			t.Errorf("%d ns, %s: vllm %v", tt.ns, tt.slo, got)
		}
		if got := s.Goodput.RequestGoodput > 0; got != tt.sglang {
			t.Errorf("%d ns, %s: sglang %v", tt.ns, tt.slo, got)
		}
	}
}

// exact uses the kernel's stamps, the harnesses the user-space ones; the
// difference is the client's own lag.
func TestKernelStamps(t *testing.T) {
	w := wireOf("completions", 2).token(110, "a").token(130, "b").usage(131, 1, 2).done(132)
	for i, lag := range []float64{10, 5, 1, 0} {
		k := w.q.Reads[i].TNS - stamp(lag)
		w.q.Reads[i].KernelNS = &k
	}
	r := reading(t, "exact", august(), w)
	wantMS(t, "exact TTFT", msOf(r.Exact[0].TTFTNS), 100)
	wantMS(t, "exact gap", msList(r.Exact[0].Gaps)[0], 25)
	v := client(t, "vllm:openai", w)
	wantMS(t, "vllm TTFT", v.TTFT*1000, 110)
	if l := r.ExactM.Lag; l == nil || l.Reads != 4 || l.MaxNS != stamp(10) || l.P50NS < stamp(1) || l.P50NS > stamp(1.02) {
		t.Errorf("%+v", l)
	}
	if reading(t, "exact", august(), wireOf("completions", 1).token(1, "a").done(2)).ExactM.Lag != nil {
		t.Error("a lag without kernel stamps")
	}
}

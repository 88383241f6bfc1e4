package audit

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// detailed is a vLLM result with per-request lists; gaps are seconds.
func detailed(t *testing.T, outputs []int64, gaps [][]float64, meanITL, meanTPOT float64) *File {
	t.Helper()
	f := &File{Name: "r.json", Kind: Serving, Harness: VLLM, Backend: "openai", WireKnown: true, Detailed: true, Stats: map[Figure]map[string]float64{ITL: {"mean": meanITL}, TPOT: {"mean": meanTPOT}}}
	n, none := len(outputs), 0
	f.Counts.Completed, f.Counts.Failed = &n, &none
	for i, o := range outputs {
		r := Request{OK: true, Output: o, TTFT: 0.1, Tokens: -1, Events: len(gaps[i])}
		for _, g := range gaps[i] {
			r.GapSum += g
		}
		r.Latency = r.TTFT + r.GapSum
		f.Requests = append(f.Requests, r)
	}
	return f
}

func same(g float64, n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = g
	}
	return all
}

// firstCheck is the outcome of the first check in one string.
func firstCheck(t *testing.T, f *File) (Outcome, string) {
	t.Helper()
	r, err := Check(f)
	if err != nil {
		t.Fatal(err)
	}
	return r.Outcomes[0], strings.Join(r.Outcomes[0].Words, " ")
}

func valueOf(o Outcome, name string) float64 {
	for _, v := range o.Values {
		if v.Name == name {
			return v.Value
		}
	}
	return math.NaN()
}

// TestRatioOfITLAndTPOT: the same ratio can be speculation, weighting, or both
// hiding each other; only the counts tell.
func TestRatioOfITLAndTPOT(t *testing.T) {
	for name, c := range map[string]struct {
		outputs           []int64
		gaps              [][]float64
		itl, tpot         float64
		doubt             bool
		ratio, each       float64
		says, doesNotSay  string
		withoutDetailsToo string
	}{
		"one token a frame": {outputs: []int64{11}, gaps: [][]float64{same(.01, 10)}, itl: 10, tpot: 10, ratio: 1, each: 1, says: "Every frame held about one token"},
		"speculation":       {outputs: []int64{71}, gaps: [][]float64{same(.0075, 20)}, itl: 7.5, tpot: 150. / 70, doubt: true, ratio: 3.5, each: 3.5, says: "Frames held several tokens (speculation"},
		// P041: 101 tokens 10 ms apart, and 2 tokens 100 ms apart
		"weighting": {outputs: []int64{101, 2}, gaps: [][]float64{same(.01, 100), {.1}}, itl: 1100. / 101, tpot: 55, ratio: 1100. / 101 / 55, each: 1, says: "the ratio differs from 1 by weighting and tails only", doesNotSay: "several tokens ("},
		// frames of 2 tokens, but the mean TPOT of a long and a short answer hides it
		"speculation hidden by weighting": {outputs: []int64{101, 3}, gaps: [][]float64{same(.02, 50), {.02}}, itl: 20, tpot: 20, doubt: true, ratio: 1, each: 2, says: "a ratio near 1 is no sign of one token a frame"},
		"role and finish frames":          {outputs: []int64{11}, gaps: [][]float64{append([]float64{0, 0}, same(.01, 10)...)}, itl: 100. / 12, tpot: 10, doubt: true, ratio: 10. / 12, each: 10. / 12, says: "more samples than tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			f := detailed(t, c.outputs, c.gaps, c.itl, c.tpot)
			o, words := firstCheck(t, f)
			if math.Abs(valueOf(o, "ratio")-c.ratio) > 1e-9 || math.Abs(valueOf(o, "tokens a sample")-c.each) > 1e-9 {
				t.Errorf("ratio %v, tokens a sample %v; want %v, %v", valueOf(o, "ratio"), valueOf(o, "tokens a sample"), c.ratio, c.each)
			}
			if o.Doubt != c.doubt || !strings.Contains(words, c.says) || c.doesNotSay != "" && strings.Contains(words, c.doesNotSay) {
				t.Errorf("doubt %v, %s", o.Doubt, words)
			}
			f.Requests, f.Detailed = nil, false
			o, words = firstCheck(t, f)
			if !strings.Contains(words, "The ratio alone is no acceptance length") || !strings.Contains(words, "--save-detailed") {
				t.Errorf("without details: %s", words)
			}
			if o.Doubt != (math.Abs(c.ratio-1) > noticeable) {
				t.Errorf("without details: doubt %v at a ratio of %v", o.Doubt, c.ratio)
			}
		})
	}
}

// TestTailOfSGLang: the time from the last frame to [DONE] is in TPOT and in no
// sample.
func TestTailOfSGLang(t *testing.T) {
	f := detailed(t, []int64{11}, [][]float64{same(.01, 10)}, 10, 15)
	f.Harness, f.Backend = SGLang, "vllm"
	n := int64(11)
	f.Counts.Output, f.Counts.Retokenised = &n, &n
	f.Requests[0].Latency = -1
	f.Stats[TTFT], f.Stats[E2EL] = map[string]float64{"mean": 100}, map[string]float64{"mean": 250}
	o, words := firstCheck(t, f)
	if !strings.Contains(words, "33.3333 % of the time behind the first token is in no sample") || math.Abs(valueOf(o, "TPOT by tokens")-15) > 1e-9 {
		t.Errorf("TPOT by tokens %v: %s", valueOf(o, "TPOT by tokens"), words)
	}
}

// TestGeneratedAndRetokenised explains a gap by what the backend counts.
func TestGeneratedAndRetokenised(t *testing.T) {
	for name, c := range map[string]struct {
		harness        Harness
		backend        string
		native         bool
		first, second  int64
		recounted      bool
		doubt, notMade bool
		says           string
	}{
		"native, equal":        {harness: SGLang, backend: "sglang", native: true, first: 100, second: 100, says: "the client's tokenizer agrees with the server's"},
		"native, a gap":        {harness: SGLang, backend: "sglang", native: true, first: 100, second: 97, doubt: true, says: "does not agree with the server's"},
		"native, increments":   {harness: SGLang, backend: "sglang", native: true, first: 100, second: 3, doubt: true, says: "a server that streams increments"},
		"openai, equal":        {harness: SGLang, backend: "sglang-oai", first: 100, second: 100, says: "the first is the requested length, unless the server told a count unasked"},
		"openai, early stop":   {harness: SGLang, backend: "sglang-oai", first: 128, second: 71, doubt: true, says: "generation stopped early, by 44.5312 %"},
		"openai, more text":    {harness: SGLangRust, backend: "sglang-oai", first: 100, second: 120, doubt: true, says: "which no server makes"},
		"vllm, no second":      {harness: VLLM, backend: "openai", first: 100, second: -1, notMade: true, says: "vLLM saves no second count"},
		"vllm, counted here":   {harness: VLLM, backend: "openai", first: 100, second: 90, recounted: true, doubt: true, says: "the second was made here from the texts"},
		"openai, none counted": {harness: SGLang, backend: "sglang-oai", first: 100, second: 0, doubt: true, says: "one of the two was not counted"},
	} {
		t.Run(name, func(t *testing.T) {
			f := detailed(t, []int64{2}, [][]float64{{.01}}, 10, 10)
			f.Harness, f.Backend, f.RetokensByTexts = c.harness, c.backend, c.recounted
			if c.native {
				f.Wire = 2
			}
			f.Counts.Output = &c.first
			if c.second >= 0 {
				f.Counts.Retokenised = &c.second
			}
			r, err := Check(f)
			if err != nil {
				t.Fatal(err)
			}
			o := r.Outcomes[1]
			if words := strings.Join(o.Words, " "); o.Doubt != c.doubt || o.NotMade != c.notMade || !strings.Contains(words, c.says) {
				t.Errorf("doubt %v, made %v: %s", o.Doubt, !o.NotMade, words)
			}
		})
	}
}

// TestRequestedMinusSuccessful says what is missing and what that does.
func TestRequestedMinusSuccessful(t *testing.T) {
	n := func(i int) *int { return &i }
	for name, c := range map[string]struct {
		asked, ok, failed *int
		doubt, notMade    bool
		says              string
	}{
		"all":              {n(100), n(100), n(0), false, false, "100 requests, and every one succeeded"},
		"some failed":      {n(1000), n(995), n(5), true, false, "P99 of all requests would be P99.498 of those that succeeded"},
		"many failed":      {n(100), n(88), n(12), true, false, "P87.8 of all would be the slowest success"},
		"none succeeded":   {n(10), n(0), n(10), true, false, "No request succeeded"},
		"not sent":         {n(1000), n(500), n(0), false, false, "500 of 1000 requests were asked for and never sent"},
		"not counted":      {nil, n(88), nil, true, true, "how many were asked for is not in the file"},
		"a flag too small": {n(10), n(12), n(0), true, false, "More requests succeeded (12) than were asked for (10)"},
		"unknown":          {nil, nil, nil, true, true, "the successful requests are not told"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &File{Kind: Serving, Harness: SGLang, Counts: Counts{Completed: c.ok, Failed: c.failed}, Load: Load{Requests: c.asked}}
			r, err := Check(f)
			if err != nil {
				t.Fatal(err)
			}
			o := r.Outcomes[2]
			if words := strings.Join(o.Words, " "); o.Doubt != c.doubt || o.NotMade != c.notMade || !strings.Contains(words, c.says) {
				t.Errorf("doubt %v, made %v: %s", o.Doubt, !o.NotMade, words)
			}
		})
	}
}

// TestCountedFromTexts counts the tokens of the texts of a vLLM file.
func TestCountedFromTexts(t *testing.T) {
	words := func(s string) int { return len(strings.Fields(s)) }
	f, err := Open("testdata/vllm-python.json", Options{Count: words})
	if err != nil {
		t.Fatal(err)
	}
	if f.Counts.Retokenised == nil || *f.Counts.Retokenised != 48 || !f.RetokensByTexts {
		t.Errorf("retokenised %v", deref(f.Counts.Retokenised))
	}
	text, err := os.ReadFile("testdata/sglang-python.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), " a a a", "")), 0o666); err != nil {
		t.Fatal(err)
	}
	if f, err = Open(path, Options{Count: words}); err != nil || *f.Counts.Retokenised != 48 || f.RetokensByTexts {
		t.Errorf("SGLang's own count gave way to ours: %v, %v", deref(f.Counts.Retokenised), err)
	}
}

func TestChecksAreOfServing(t *testing.T) {
	if _, err := Check(openFile(t, "nvbench.json")); err == nil || !strings.Contains(err.Error(), "the checks are of requests to a server") {
		t.Errorf("checks of a kernel benchmark: %v", err)
	}
}

// TestEagle makes the first check on what three clients made of frames of 3 and 4
// tokens: SGLang's Python client splits the gaps, its Rust client does not though
// it is told the same acceptance length, and vLLM's counts frames, the role's too.
func TestEagle(t *testing.T) {
	for name, want := range map[string]struct {
		ratio, each float64
		doubt       bool
		says        string
	}{
		"eagle-sglang-python-oai.jsonl": {1, 3.5, false, "The printed ITL is the time between tokens by that split"},
		"eagle-sglang-rust-oai.jsonl":   {3.5, 3.5, true, "Frames held several tokens (speculation"},
		"eagle-vllm-rust-chat.json":     {10. / 3, 10. / 3, true, "role, finish and tool frames included"},
	} {
		f := openFile(t, name)
		o, words := firstCheck(t, f)
		if math.Abs(valueOf(o, "ratio")-want.ratio) > .03 || math.Abs(valueOf(o, "tokens a sample")-want.each) > 1e-9 || o.Doubt != want.doubt || !strings.Contains(words, want.says) {
			t.Errorf("%s: ratio %v, tokens a sample %v, doubt %v: %s", name, valueOf(o, "ratio"), valueOf(o, "tokens a sample"), o.Doubt, words)
		}
	}
	r, err := Check(openFile(t, "eagle-sglang-rust-oai.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if words := strings.Join(r.Outcomes[1].Words, " "); !strings.Contains(words, "the server told its count unasked") {
		t.Errorf("128 tokens were asked for and 71 told: %s", words)
	}
}

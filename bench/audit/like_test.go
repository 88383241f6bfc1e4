package audit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/bench/serving"
)

// edited is a file of testdata with members of its object set, or taken out
// where the value is nil.
func edited(t *testing.T, name string, set map[string]any) *File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range set {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
		if delete(all, key); value != nil {
			if all[key], err = json.Marshal(value); err != nil {
				t.Fatal(err)
			}
		}
		if data, err = json.Marshal(all); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func has(all []Remark, id string) bool {
	return slices.ContainsFunc(all, func(r Remark) bool { return r.ID == id })
}

// bare are the lists that SGLang's client leaves out without --output-details.
func bare() map[string]any {
	return map[string]any{"input_lens": nil, "output_lens": nil, "ttfts": nil, "itls": nil, "generated_texts": nil, "errors": nil}
}

// TestDetailsKeepNothingApart: two runs of one client, one of them with the
// per-request lists, compare; that the other does not tell its failures is said.
func TestDetailsKeepNothingApart(t *testing.T) {
	for _, name := range []string{"sglang-python.jsonl", "sglang-rust.jsonl"} {
		whole, short := openFile(t, name), edited(t, name, bare())
		if short.Detailed {
			t.Fatalf("%s still has its lists", name)
		}
		for _, c := range []*Comparison{Compare(whole, short), Compare(short, whole), Compare(short, short)} {
			if !c.Comparable || len(c.Rows) > 0 {
				t.Errorf("%s: %v", name, c.Rows)
			}
			if !has(c.NotTold, "E12") {
				t.Errorf("%s: nothing is said of failures that are not told", name)
			}
		}
		if c := Compare(short, openFile(t, "vllm-python.json")); !has(c.NotTold, "E12") {
			t.Errorf("%s against vLLM: nothing is said of failures that are not told", name)
		}
	}
}

// TestTwoClientsDrawOtherPrompts: one seed gives the Python and the Rust client
// other prompts of the same lengths.
func TestTwoClientsDrawOtherPrompts(t *testing.T) {
	python, rust := openFile(t, "sglang-python.jsonl"), openFile(t, "sglang-rust.jsonl")
	if c := Compare(python, rust); !has(c.NotTold, "G13") {
		t.Errorf("nothing is said of the prompts: %v", c.NotTold)
	}
	if c := Compare(rust, openFile(t, "sglang-rust-oai.jsonl")); has(c.NotTold, "G13") {
		t.Error("one client is said to draw other prompts than itself")
	}
}

// TestNoProxyEitherWay: a capture that says it used no proxy was sent as by a
// client that ignores those of the environment.
func TestNoProxyEitherWay(t *testing.T) {
	capture := captureWith(t, headerOf("sglang", `"request_rate":50,"max_concurrency":null`, ""), true, false)
	for _, name := range []string{"sglang-python.jsonl", "vllm-rust.json"} {
		c := Compare(capture, openFile(t, name))
		for _, r := range c.Rows {
			if r.ID == "B5" {
				t.Errorf("%s: A %q, B %q", name, r.A, r.B)
			}
		}
		if has(c.NotTold, "B5") {
			t.Errorf("%s: the proxy is not told", name)
		}
	}
}

// TestEndpointsAreSaid: where the clients do the same on two endpoints, the
// servers may not.
func TestEndpointsAreSaid(t *testing.T) {
	if c := Compare(openFile(t, "vllm-rust.json"), openFile(t, "vllm-rust-chat.json")); !has(c.NotTold, "W5") {
		t.Errorf("completions and chat: %v", c.NotTold)
	}
	if c := Compare(openFile(t, "vllm-rust.json"), openFile(t, "vllm-rust.json")); has(c.NotTold, "W5") {
		t.Error("one endpoint is told apart from itself")
	}
}

// TestNoFigureThatNeitherHolds: a row names no figure that is in neither file.
func TestNoFigureThatNeitherHolds(t *testing.T) {
	all := servingFiles(t)
	for _, a := range all {
		for _, b := range all {
			for _, r := range Compare(a, b).Rows {
				for _, m := range r.Moves {
					if m.Figure == Goodput && !a.Work.GoodputAsked && !b.Work.GoodputAsked {
						t.Errorf("%s, %s: %s moves a goodput that nobody asked for", a.Name, b.Name, r.ID)
					}
				}
			}
		}
	}
}

// TestInputOfAnotherTokenizer: counts of the server and of the client's rows that
// are a little apart are of two tokenizers (D6), far apart of other work (G13).
func TestInputOfAnotherTokenizer(t *testing.T) {
	b := openFile(t, "sglang-python.jsonl")
	rows := *b.Counts.Input
	for _, c := range []struct {
		factor float64
		work   bool
	}{{1, false}, {1.4, false}, {0.7, false}, {4, true}, {0.2, true}} {
		a := edited(t, "vllm-python.json", map[string]any{"total_input_tokens": int64(c.factor * float64(rows)), "input_lens": nil})
		got := Compare(a, b)
		apart := slices.ContainsFunc(got.Rows, func(r Finding) bool { return r.ID == "G13" })
		if apart != c.work || !c.work && !has(got.NotTold, "G13") {
			t.Errorf("%v times the rows: G13 %v, want %v", c.factor, apart, c.work)
		}
	}
}

// TestSummaryAgreesWithTheRows: a figure that no row moves is unmoved, every
// other is moved by the rows that name it, and values are those of the files.
func TestSummaryAgreesWithTheRows(t *testing.T) {
	all := servingFiles(t)
	for _, a := range all {
		for _, b := range all {
			c := Compare(a, b)
			for _, l := range c.Summary() {
				if unmoved := slices.Contains(c.Unmoved, l.Figure); unmoved != (len(l.By) == 0) {
					t.Errorf("%s, %s: %s is unmoved %v and moved by %v", a.Name, b.Name, l.Figure, unmoved, l.By)
				}
				for _, m := range l.By {
					for _, id := range m.Rows {
						if !slices.ContainsFunc(c.Rows, func(f Finding) bool {
							return f.ID == id && slices.ContainsFunc(f.Moves, func(v Move) bool {
								return v.Direction == m.Direction && (v.Figure == l.Figure || v.Figure == Everything)
							})
						}) {
							t.Errorf("%s, %s: %s does not move %s %s", a.Name, b.Name, id, l.Figure, m.Direction)
						}
					}
				}
			}
		}
	}
	for _, l := range Compare(openFile(t, "vllm-python.json"), openFile(t, "nvbench.json")).Summary() {
		t.Errorf("a kernel's file has a line of %s", l.Figure)
	}
	for _, l := range Compare(all[0], all[0]).Summary() {
		if l.Figure == OutputTokens && (l.A == nil || *l.A != 48 || *l.B != 48) {
			t.Errorf("output tokens %v, %v", l.A, l.B)
		}
	}
}

// TestNativeFirstFrame: on the native backend a sample is a token, so that fewer
// samples than tokens are those of the first frame, and ITL is no time between
// frames.
func TestNativeFirstFrame(t *testing.T) {
	f := detailed(t, []int64{20, 20}, [][]float64{same(.0025, 17), same(.0025, 17)}, 2.5, 2.5*17/19)
	f.Harness, f.Backend, f.Wire = SGLang, "sglang", serving.Native
	o, words := firstCheck(t, f)
	if !strings.Contains(words, "first frames held 3 tokens on average") || strings.Contains(words, "Frames held several tokens") {
		t.Errorf("%s", words)
	}
	if !o.Doubt {
		t.Error("a ratio of 1.12 leaves no doubt")
	}
	if c := Compare(f, f); !c.Comparable {
		t.Errorf("%v", c.Rows)
	}
	v := detailed(t, []int64{20, 20}, [][]float64{same(.0025, 19), same(.0025, 19)}, 2.5, 2.5)
	v.Versions = []serving.Version{serving.Latest}
	if c := Compare(f, v); !slices.ContainsFunc(c.Rows, func(r Finding) bool { return r.ID == "C5" && r.Evidence != "" }) {
		t.Errorf("the first frames are not among %v", c.Rows)
	}
}

// TestNoRequestAtAll: a run of nothing leaves no survivors to speak of.
func TestNoRequestAtAll(t *testing.T) {
	f := detailed(t, nil, nil, 0, 0)
	r, err := Check(f)
	if err != nil {
		t.Fatal(err)
	}
	last := r.Outcomes[len(r.Outcomes)-1]
	if words := strings.Join(last.Words, " "); !last.Doubt || !strings.Contains(words, "No request was made") {
		t.Errorf("doubt %v: %s", last.Doubt, words)
	}
}

// TestErrorInAnAnswer: an answer of status 200 that ends in an error object is a
// failure of the capture, and of each reading by its own rules.
func TestErrorInAnAnswer(t *testing.T) {
	const good, bad = "ZGF0YTogeyJjaG9pY2VzIjpbeyJpbmRleCI6MCwidGV4dCI6ImEifV19Cgo=", "ZGF0YTogeyJlcnJvciI6eyJtZXNzYWdlIjoieCJ9fQoK"
	capture := func(second string) *File {
		text := `{"kind":"run","schema":1,"command":"bench serve","options":{}}` + "\n"
		for i, r := range []string{good, second} {
			text += `{"kind":"request","id":"r` + strconv.Itoa(i) + `","endpoint":"completions","prompt_len":8,"requested_output_len":4,"scheduled_ns":0,"sent_ns":0,"status":200,"reads":[{"t_ns":5,"b64":"` + good + `"},{"t_ns":9,"b64":"` + r + `"},{"t_ns":11,"b64":"ZGF0YTogW0RPTkVdCgo="}],"end":{"kind":"eof","t_ns":500}}` + "\n"
		}
		path := filepath.Join(t.TempDir(), "c.jsonl")
		if err := os.WriteFile(path, []byte(text+`{"kind":"end","duration_ns":2000,"reason":"completed"}`+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	whole, broken := capture(good), capture(bad)
	if n := *broken.Counts.Failed; n != 1 || *whole.Counts.Failed != 0 {
		t.Fatalf("%d failures with an error object, %d without", n, *whole.Counts.Failed)
	}
	if got := broken.survived[VLLM]; got != [2]int{2, 0} {
		t.Errorf("vLLM's completions ignore an error behind a token: %v", got)
	}
	if got := broken.survived[SGLang]; got != [2]int{1, 1} {
		t.Errorf("SGLang's completions fail at an error object: %v", got)
	}
	if c := Compare(whole, broken); c.Comparable || c.Rows[0].ID != "E12" {
		t.Errorf("rows %v", c.Rows)
	}
}

// TestPercentilesOfSurvivors: what the third check says of P99 is what sorting the
// failures behind the successes gives, by the harnesses' interpolation.
func TestPercentilesOfSurvivors(t *testing.T) {
	for _, c := range []struct {
		ok, failed int
		says       string
	}{
		{9, 3, "P72.7 of all would be the slowest success"}, // rank 8 of 11
		{99, 1, "P98.9 of all would be the slowest success"},
		{995, 5, "P99 of all requests would be P99.498 of those that succeeded"}, // rank 989.01 of 994
		{1, 1, "P0 of all would be the slowest success"},
		{200, 1, "P99 of all requests would be P99.497 of those that succeeded"}, // rank 198 of 199
	} {
		f := detailed(t, nil, nil, 1, 1)
		f.Counts.Completed, f.Counts.Failed, f.Requests, f.Detailed = &c.ok, &c.failed, nil, false
		r, err := Check(f)
		if err != nil {
			t.Fatal(err)
		}
		if words := strings.Join(r.Outcomes[2].Words, " "); !strings.Contains(words, c.says) {
			t.Errorf("%d of %d: %s", c.failed, c.ok+c.failed, words)
		}
	}
}

// TestShorterAnswers: a client that overlooks an error in a stream counts the
// answer that it cut among the successes; lengths that differ anyway say nothing.
func TestShorterAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		outputs []int64
		change  func(f *File)
		says    bool
	}{
		"two cut":                 {outputs: []int64{20, 4, 20, 20, 4}, says: true},
		"all of one length":       {outputs: []int64{20, 20, 20}},
		"lengths of all kinds":    {outputs: []int64{20, 19, 18, 17}},
		"no answer":               {},
		"SGLang's completions":    {outputs: []int64{20, 4, 20}, change: func(f *File) { f.Harness, f.Backend = SGLang, "vllm" }},
		"SGLang's Rust client":    {outputs: []int64{20, 4, 20}, change: func(f *File) { f.Harness, f.Backend = SGLangRust, "vllm" }, says: true},
		"SGLang's native backend": {outputs: []int64{20, 4, 20}, change: func(f *File) { f.Harness, f.Backend, f.Wire = SGLang, "sglang", serving.Native }, says: true},
		"another program":         {outputs: []int64{20, 4, 20}, change: func(f *File) { f.Harness = AIPerf }},
	} {
		gaps := make([][]float64, len(c.outputs))
		f := detailed(t, c.outputs, gaps, 1, 1)
		if c.change != nil {
			c.change(f)
		}
		r, err := Check(f)
		if err != nil {
			t.Fatal(err)
		}
		if words := strings.Join(r.Outcomes[2].Words, " "); strings.Contains(words, "an error cut them") != c.says {
			t.Errorf("%s: %s", name, words)
		}
	}
}

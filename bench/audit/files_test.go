package audit

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/bench/serving"
)

func openFile(t testing.TB, name string) *File {
	t.Helper()
	f, err := Open(filepath.Join("testdata", name), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// fileTells is what a reader should make of a file.
type fileTells struct {
	harness   Harness
	kind      Kind
	versions  []serving.Version
	backend   string
	rate      any
	limit     Limit
	completed any
	output    any
	details   int // requests
	warnings  int
}

func filesTell() map[string]fileTells {
	both := serving.Versions()
	return map[string]fileTells{
		"vllm-python.json":                          {VLLM, Serving, []serving.Version{serving.November}, "vllm", 50.0, Limit{true, 0}, 8, int64(48), 8, 0},
		"vllm-rust.json":                            {VLLMRust, Serving, both, "vllm", 50.0, Limit{true, 0}, 8, int64(48), 8, 0},
		"vllm-rust-chat.json":                       {VLLMRust, Serving, both, "openai-chat", math.Inf(1), Limit{true, 2}, 8, int64(48), 8, 0},
		"sglang-python.jsonl":                       {SGLang, Serving, []serving.Version{serving.November}, "sglang", 50.0, Limit{true, 0}, 8, int64(48), 8, 0},
		"sglang-rust.jsonl":                         {SGLangRust, Serving, []serving.Version{serving.November}, "sglang", 50.0, Limit{true, 0}, 8, int64(48), 8, 0},
		"sglang-rust-oai.jsonl":                     {SGLangRust, Serving, []serving.Version{serving.November}, "sglang-oai", 50.0, Limit{true, 0}, 8, int64(48), 8, 0},
		"eagle-sglang-python-oai.jsonl":             {SGLang, Serving, []serving.Version{serving.November}, "sglang-oai", math.Inf(1), Limit{true, 1}, 4, int64(284), 4, 0},
		"eagle-sglang-rust-oai.jsonl":               {SGLangRust, Serving, []serving.Version{serving.November}, "sglang-oai", math.Inf(1), Limit{true, 1}, 4, int64(284), 4, 0},
		"eagle-vllm-rust-chat.json":                 {VLLMRust, Serving, both, "openai-chat", math.Inf(1), Limit{true, 1}, 4, int64(284), 4, 0},
		"aiperf-concurrency.json":                   {AIPerf, Serving, nil, "completions", nil, Limit{true, 2}, 8, int64(48), 0, 1},
		"aiperf-rate.json":                          {AIPerf, Serving, nil, "chat", 50.0, Limit{true, 0}, 8, int64(48), 0, 1},
		"guidellm.json":                             {GuideLLM, Serving, nil, "chat_completions", nil, Limit{true, 8}, 99, int64(128 * 99), 0, 1},
		"guidellm-sweep.json":                       {GuideLLM, Serving, nil, "chat_completions", 4.0, Limit{}, 99, int64(128 * 99), 0, 2},
		"guidellm-sweep.json#1":                     {GuideLLM, Serving, nil, "chat_completions", nil, Limit{true, 1}, 9, int64(128 * 9), 0, 1},
		"llama-bench.json":                          {LlamaBench, Offline, nil, "", nil, Limit{}, nil, nil, 0, 0},
		"llama-bench.jsonl":                         {LlamaBench, Offline, nil, "", nil, Limit{}, nil, nil, 0, 0},
		"llama-bench.csv":                           {LlamaBench, Offline, nil, "", nil, Limit{}, nil, nil, 0, 0},
		"nvbench.json":                              {NVBench, Kernel, nil, "", nil, Limit{}, nil, nil, 0, 1},
		"vllm-latency.json":                         {VLLM, Offline, nil, "", nil, Limit{}, nil, nil, 0, 1},
		"vllm-throughput.json":                      {VLLM, Offline, nil, "", nil, Limit{}, nil, nil, 0, 1},
		"sglang-throughput.jsonl":                   {SGLang, Offline, nil, "", nil, Limit{}, nil, nil, 0, 1},
		"one-batch.jsonl":                           {SGLang, Offline, nil, "", nil, Limit{}, nil, nil, 0, 1},
		"../../report/testdata/sweep.rows.jsonl":    {Lathe, Offline, nil, "", nil, Limit{}, nil, nil, 0, 0},
		"../../report/testdata/sweep.jsonl":         {Lathe, Offline, nil, "", nil, Limit{}, nil, nil, 0, 0},
		"../../report/testdata/cut.jsonl":           {Lathe, Offline, nil, "", nil, Limit{}, nil, nil, 0, 2},
		"../../report/testdata/latency.jsonl":       {Lathe, Offline, nil, "", nil, Limit{}, nil, nil, 0, 0},
		"../../report/testdata/latency.result.json": {VLLM, Offline, nil, "", nil, Limit{}, nil, nil, 0, 1},
	}
}

// TestReaders reads a result of each program and looks at what it tells.
func TestReaders(t *testing.T) {
	for name, want := range filesTell() {
		t.Run(name, func(t *testing.T) {
			f := openFile(t, name)
			if f.Harness != want.harness || f.Kind != want.kind || !slices.Equal(f.Versions, want.versions) || f.Backend != want.backend {
				t.Errorf("%s %s %v %q, want %s %s %v %q", f.Harness, f.Kind, f.Versions, f.Backend, want.harness, want.kind, want.versions, want.backend)
			}
			if got := deref(f.Load.Rate); got != want.rate {
				t.Errorf("rate %v, want %v", got, want.rate)
			}
			if f.Load.Concurrency != want.limit {
				t.Errorf("limit %v, want %v", f.Load.Concurrency, want.limit)
			}
			if deref(f.Counts.Completed) != want.completed || deref(f.Counts.Output) != want.output || len(f.Requests) != want.details {
				t.Errorf("completed %v, output %v, %d requests; want %v, %v, %d", deref(f.Counts.Completed), deref(f.Counts.Output), len(f.Requests), want.completed, want.output, want.details)
			}
			if len(f.Warnings) != want.warnings {
				t.Errorf("warnings %q, want %d", f.Warnings, want.warnings)
			}
			for _, x := range Facts(f) {
				if x.Value == "" {
					t.Errorf("%s: neither a value nor that it is not told", x.Name)
				}
			}
		})
	}
}

// TestCompressedAndSeveral reads compressed files, several results in one file,
// and one whose last line is torn.
func TestCompressedAndSeveral(t *testing.T) {
	line, err := os.ReadFile("testdata/sglang-rust.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(line), `"completed":8`, `"completed":7`, 1)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	both := write("two.jsonl", other+string(line))
	torn := write("torn.jsonl", string(line)+other[:len(other)/2])
	literal := write("odd#1", string(line))
	for path, want := range map[string]struct{ completed, entry, entries, warnings int }{
		both: {8, 2, 2, 1}, both + "#1": {7, 1, 2, 1}, both + "#2": {8, 2, 2, 0}, torn: {8, 1, 1, 1}, literal: {8, 1, 1, 0},
	} {
		f, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if *f.Counts.Completed != want.completed || f.Entry != want.entry || f.Entries != want.entries {
			t.Errorf("%s: %d completed, %d of %d; want %+v", filepath.Base(path), *f.Counts.Completed, f.Entry, f.Entries, want)
		}
		if want.completed == 8 && len(f.Warnings) != want.warnings {
			t.Errorf("%s: warnings %q", filepath.Base(path), f.Warnings)
		}
	}
	if _, err := Open(both+"#3", Options{}); err == nil || !strings.Contains(err.Error(), "it holds 2 results, not 3") {
		t.Errorf("a third of two: %v", err)
	}
}

// TestNameOfTheFile takes the number of prompts from a name that SGLang makes
// up, and from no other.
func TestNameOfTheFile(t *testing.T) {
	line, err := os.ReadFile("testdata/sglang-python.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"sglang_1130_10_16_6.jsonl": 10, "sglang_1130_x_16_6.jsonl": nil, "r.jsonl": nil, "vllm_1130_10_16_6.jsonl": nil} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, line, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := deref(f.Load.Requests); got != want {
			t.Errorf("%s: %v prompts, want %v", name, got, want)
		}
	}
}

// malformed is a file and what its error says.
type malformed struct{ text, want string }

func malformedFiles(t *testing.T) map[string]malformed {
	t.Helper()
	vllm, err := os.ReadFile("testdata/vllm-python.json")
	if err != nil {
		t.Fatal(err)
	}
	with := func(old, text string) string {
		if !strings.Contains(string(vllm), old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(string(vllm), old, text, 1)
	}
	return map[string]malformed{
		"empty":            {"", "it is empty"},
		"blank":            {" \n\t\n", "it is empty"},
		"zeros":            {strings.Repeat("\x00", 100), "not JSON at byte 0"},
		"binary":           {"\x7fELF\xff\xfe\x00", "neither UTF-8 text nor a compressed file"},
		"cut gzip":         {"\x1f\x8b\x08\x00\x00", "unexpected EOF"},
		"half a result":    {string(vllm[:len(vllm)/2]), "not JSON at byte"},
		"text":             {"Successful requests: 8\n", "not JSON at byte 0"},
		"an array":         {"[1,2]", "not a result file that is known: JSON of an array"},
		"another object":   {`{"a":1,"b":2}`, `JSON of the keys "a", "b"`},
		"empty object":     {`{}`, "an empty object"},
		"a report":         {`{"vllm:openai": {"requests": []}}`, "a report of lathe: audit the capture"},
		"AIPerf's records": {`{"metadata":{"benchmark_phase":"profiling"},"metrics":{}}`, "AIPerf's records of requests: audit"},
		"a side file":      {`[{"benchmark":{},"metric":{}}]`, "vLLM's side file"},
		"second line":      {string(vllm) + "\n{\n" + string(vllm), "line 2 is not JSON"},
		"negative count":   {with(`"completed": 8`, `"completed": -1`), `"completed" is no count`},
		"fraction":         {with(`"completed": 8`, `"completed": 7.5`), `"completed" is no count`},
		"word for a count": {with(`"completed": 8`, `"completed": "eight"`), `"completed" is no count`},
		"null count":       {with(`"completed": 8`, `"completed": null`), `"completed" is missing`},
		"cut in a value":   {`{"model_id": "m", "comp`, "it is cut short"},
		"infinite mean":    {with(`"mean_ttft_ms": `, `"mean_ttft_ms": -Infinity, "was": `), `"mean_ttft_ms" is no time`},
		"negative mean":    {with(`"mean_itl_ms": `, `"mean_itl_ms": -5.0, "was": `), `"mean_itl_ms" is no time`},
		"nameless raw":     {`{"kind":"run","schema":1}` + "\n", "names no command, and it holds no measurement"},
		"negative time":    {with(`"duration": `, `"duration": -`), `"duration" is no duration`},
		"word for a rate":  {with(`"request_rate": 50.0`, `"request_rate": "fast"`), `"request_rate" is no number`},
		"list for a name":  {with(`"model_id": "truth"`, `"model_id": ["truth"]`), `"model_id" is no string`},
		"short list":       {with(`"output_lens": [6, `, `"output_lens": [`), "its per-request lists differ in length"},
		"odd length":       {with(`"output_lens": [6, `, `"output_lens": [-6, `), "a length or a time that cannot be"},
		"raw without end":  {`{"kind":"run","schema":1,"command":"bench serve"}` + "\n", "a capture without a request"},
		"newer raw":        {`{"kind":"run","schema":99}` + "\n", "schema 99 is newer"},
		"no states":        {`{"devices":[],"benchmarks":[{"name":"x","states":[]}]}`, "no state of any benchmark"},
		"no benchmark":     {`{"metadata":{"guidellm_version":"0.6.0"},"benchmarks":[]}`, "no benchmark in it"},
		"ragged csv":       {"build_commit,n_prompt,n_gen\na,1\n", "llama-bench result:"},
		"only a header":    {"build_commit,n_prompt,n_gen\n", "no test in it"},
	}
}

// TestMalformed: each is one clear error that names the file and what is wrong.
func TestMalformed(t *testing.T) {
	for name, c := range malformedFiles(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.json")
			if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			f, err := Open(path, Options{})
			if err == nil {
				t.Fatalf("read as %s", f.Form)
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "r.json") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with the file's name and %q", err, c.want)
			}
			if n := strings.Count(err.Error(), "read "); n != 1 {
				t.Errorf("%d operations in %q", n, err)
			}
		})
	}
	for _, path := range []string{"testdata/nobody.json", "testdata"} {
		if _, err := Open(path, Options{}); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}

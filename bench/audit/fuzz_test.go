package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seeds adds files of testdata to a corpus, whole and cut.
func seeds(f *testing.F, names ...string) {
	f.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
		f.Add(append(append([]byte{}, data...), data...))
		f.Add([]byte(strings.NewReplacer("8", "-1", "50.0", "null", "[", "{", "]", "}").Replace(string(data))))
	}
}

// anyFile reads bytes as a result file and asks everything of what comes of
// them: nothing may panic, an error is one line, and a file compares with itself.
func anyFile(t *testing.T, data []byte) {
	f, err := parse(data, "r.jsonl", 0, Options{Count: func(s string) int { return len(s) }})
	if err != nil {
		if strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("an error of several lines: %q", err)
		}
		return
	}
	everything(t, f)
}

func everything(t *testing.T, f *File) {
	t.Helper()
	for _, x := range Facts(f) {
		if x.Value == "" {
			t.Errorf("%s: an empty fact", x.Name)
		}
	}
	for _, r := range Compare(f, f).Rows {
		t.Errorf("%s keeps a file from comparing with itself: %q, %q", r.ID, r.A, r.B)
	}
	if f.Kind != Serving {
		return
	}
	r, err := Check(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Outcomes {
		if len(o.Words) == 0 {
			t.Errorf("check %d says nothing", o.Check)
		}
	}
}

func FuzzVLLM(f *testing.F) {
	seeds(f, "vllm-python.json", "vllm-rust.json", "vllm-rust-chat.json", "vllm-latency.json", "vllm-throughput.json")
	f.Fuzz(anyFile)
}

func FuzzSGLang(f *testing.F) {
	seeds(f, "sglang-python.jsonl", "sglang-rust.jsonl", "sglang-rust-oai.jsonl", "sglang-throughput.jsonl")
	f.Fuzz(anyFile)
}

func FuzzAIPerf(f *testing.F) {
	seeds(f, "aiperf-concurrency.json", "aiperf-rate.json")
	f.Fuzz(anyFile)
}

func FuzzGuideLLM(f *testing.F) {
	seeds(f, "guidellm.json", "guidellm-sweep.json")
	f.Fuzz(anyFile)
}

func FuzzOffline(f *testing.F) {
	seeds(f, "llama-bench.json", "llama-bench.jsonl", "llama-bench.csv", "one-batch.jsonl", "nvbench.json")
	f.Fuzz(anyFile)
}

// FuzzPair compares any two files, both ways.
func FuzzPair(f *testing.F) {
	var all [][]byte
	for _, name := range []string{"vllm-python.json", "vllm-rust-chat.json", "sglang-python.jsonl", "sglang-rust-oai.jsonl", "aiperf-rate.json", "guidellm.json", "llama-bench.json", "nvbench.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, data)
	}
	for i := range all {
		f.Add(all[i], all[(i+1)%len(all)])
	}
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, errA := parse(x, "a.json", 0, Options{})
		b, errB := parse(y, "b.json", 0, Options{})
		if errA != nil || errB != nil {
			return
		}
		there, back := Compare(a, b), Compare(b, a)
		if there.Comparable != back.Comparable || len(there.Rows) != len(back.Rows) || len(there.NotTold) != len(back.NotTold) || len(there.RuledOut) != len(back.RuledOut) {
			t.Errorf("%d, %d, %d and %d, %d, %d the other way round", len(there.Rows), len(there.NotTold), len(there.RuledOut), len(back.Rows), len(back.NotTold), len(back.RuledOut))
		}
	})
}

// FuzzCapture reads any raw file.
func FuzzCapture(f *testing.F) {
	head := `{"kind":"run","schema":1,"command":"bench serve","options":{"request_rate":4,"max_concurrency":2,"num_prompts":3}}` + "\n"
	request := `{"kind":"request","id":"r0","endpoint":"completions","prompt_len":3,"requested_output_len":3,"scheduled_ns":0,"sent_ns":5,"status":200,"reads":[{"t_ns":9,"b64":"ZGF0YQ=="}],"end":{"kind":"eof","t_ns":20},"reused":true}` + "\n"
	f.Add([]byte(head + request + `{"kind":"end","duration_ns":30,"reason":"completed"}` + "\n"))
	f.Add([]byte(head + strings.Replace(request, "completions", "chat", 1) + request))
	f.Add([]byte(head + `{"kind":"step","phase":"decode","batch":1,"context_len":1,"host_ns":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "c.jsonl")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if file, err := Open(path, Options{}); err == nil && file.Harness == Lathe && file.Kind == Serving {
			Facts(file)
			if self := Compare(file, file); !self.Comparable {
				t.Errorf("a capture does not compare with itself: %v", self.Rows)
			}
		}
	})
}

package audit

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestP128_NaNAndInfinityAreRead reads what Python's json writes and a strict
// parser refuses: bare Infinity is a rate or a burstiness, NaN is no figure.
func TestP128_NaNAndInfinityAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, new string
		rate           any
		mean           bool
	}{
		"rate of SGLang":        {"sglang-python.jsonl", `"request_rate": 50.0`, `"request_rate": Infinity`, math.Inf(1), true},
		"rate of vLLM":          {"vllm-python.json", `"request_rate": 50.0`, `"request_rate": "inf"`, math.Inf(1), true},
		"burstiness":            {"vllm-python.json", `"burstiness": 1.0`, `"burstiness": Infinity`, 50.0, true},
		"NaN for a mean":        {"vllm-python.json", `"mean_ttft_ms": `, `"mean_ttft_ms": NaN, "was": `, 50.0, false},
		"NaN among the samples": {"vllm-python.json", `"itls": [[`, `"itls": [[NaN, `, 50.0, true},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), c.old) {
				t.Fatalf("no %q", c.old)
			}
			path := filepath.Join(t.TempDir(), "r.json")
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o666); err != nil {
				t.Fatal(err)
			}
			f, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := deref(f.Load.Rate); got != c.rate {
				t.Errorf("rate %v, want %v", got, c.rate)
			}
			if _, ok := f.stat(TTFT, "mean"); ok != c.mean {
				t.Errorf("mean TTFT told: %v", ok)
			}
			everything(t, f)
		})
	}
}

// TestP120_RetriesThatVanish: vLLM's Rust client tries a failed connection again
// with a fresh clock, so that its file tells of no failure; a comparison says so.
func TestP120_RetriesThatVanish(t *testing.T) {
	c := Compare(openFile(t, "vllm-python.json"), openFile(t, "vllm-rust.json"))
	for _, r := range c.NotTold {
		if r.ID == "B6" && strings.Contains(r.Why, "the lost time vanishes") {
			return
		}
	}
	t.Errorf("nothing is said of retries: %v", c.NotTold)
}

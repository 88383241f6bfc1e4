package arrival

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"lathe/bench/pyrand"
)

// number is a float that the golden files write as "inf" where it is infinite.
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	if string(data) == `"inf"` {
		*n = number(math.Inf(1))
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

type vllmCase struct {
	Seed       uint64
	N          int        `json:"num_requests"`
	RateFlag   number     `json:"request_rate"`
	Burstiness number     `json:"burstiness"`
	Ramp       Strategy   `json:"ramp_up_strategy"`
	Start      int        `json:"ramp_up_start_rps"`
	End        int        `json:"ramp_up_end_rps"`
	Timestamps []*float64 `json:"timestamps"`
	Offsets    []float64  `json:"offsets_s"`
	Rates      []number   `json:"request_rates"`
	Error      string
}

type sglangCase struct {
	Seed    uint64
	N       int    `json:"num_requests"`
	Rate    number `json:"request_rate"`
	Prelude *struct {
		Dataset    string
		InputLen   int     `json:"random_input_len"`
		OutputLen  int     `json:"random_output_len"`
		RangeRatio float64 `json:"random_range_ratio"`
		VocabSize  int64   `json:"vocab_size"`
	}
	Gaps  []float64 `json:"gaps_s"`
	Sends []float64 `json:"sends_s"`
	End   float64   `json:"end_s"`
}

func readCases[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []T }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

func numpy(t *testing.T, seed uint64) *pyrand.Legacy {
	t.Helper()
	l, err := pyrand.NewLegacy(seed)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sameFloats allows 1e-12 relative, the golden data's tolerance for what passes
// through log and pow, and counts the values that differ at all.
func sameFloats(t *testing.T, what string, got, want []float64) (off int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if math.Abs(got[i]-w) > 1e-12*math.Abs(w) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], w)
		}
		if got[i] != w {
			off++
		}
	}
	return off
}

func TestVLLMEqualsGolden(t *testing.T) {
	cases := readCases[vllmCase](t, "arrivals-vllm.json")
	if len(cases) != 23 {
		t.Fatalf("%d cases, want 23", len(cases))
	}
	values, off := 0, 0
	for i, c := range cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s, err := c.schedule(t)
			if c.Error != "" {
				if class := pythonClass(err); class != c.Error {
					t.Fatalf("error %v is %q, want %s", err, class, c.Error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			off += sameFloats(t, "offsets", s.Seconds, c.Offsets)
			values += len(c.Offsets)
			for k, want := range c.Rates {
				if got := s.Rates[k]; got != float64(want) && math.Abs(got-float64(want)) > 1e-12*float64(want) {
					t.Errorf("rate %d is %v, want %v", k, got, want)
				}
			}
			if s.Relative() {
				t.Error("vLLM's schedule is absolute")
			}
		})
	}
	t.Logf("%d cases; %d of %d offsets differ in the last bits", len(cases), off, values)
}

func (c vllmCase) schedule(t *testing.T) (Schedule, error) {
	if c.Timestamps != nil {
		stamps := make([]float64, len(c.Timestamps))
		for i, v := range c.Timestamps {
			if v != nil {
				stamps[i] = *v
			}
		}
		return VLLMTrace(stamps), nil
	}
	v := VLLM{N: c.N, Rate: float64(c.RateFlag), Burstiness: float64(c.Burstiness), Ramp: c.Ramp, Start: c.Start, End: c.End}
	return v.Schedule(numpy(t, c.Seed))
}

func pythonClass(err error) string {
	switch {
	case errors.Is(err, ErrRate), errors.Is(err, ErrBurstiness):
		return "AssertionError"
	case errors.Is(err, ErrRampFromZero):
		return "ZeroDivisionError"
	}
	return ""
}

func TestSGLangEqualsGolden(t *testing.T) {
	cases := readCases[sglangCase](t, "arrivals-sglang.json")
	if len(cases) != 8 {
		t.Fatalf("%d cases, want 8", len(cases))
	}
	for i, c := range cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := numpy(t, c.Seed)
			if p := c.Prelude; p != nil {
				draw := func(low, high int64) {
					if _, err := r.Integers(low, high, c.N); err != nil {
						t.Fatal(err)
					}
				}
				for _, l := range []int{p.InputLen, p.OutputLen} {
					draw(int64(max(int(float64(l)*p.RangeRatio), 1)), int64(l+1))
				}
				if p.Dataset == "random-ids" {
					draw(0, p.VocabSize)
				}
			}
			s, err := SGLang(r, c.N, float64(c.Rate))
			if err != nil {
				t.Fatal(err)
			}
			sameFloats(t, "gaps", s.Gaps, c.Gaps)
			sameFloats(t, "sends", s.Seconds, c.Sends)
			sameFloats(t, "end", []float64{s.EndSeconds}, []float64{c.End})
			if !s.Relative() {
				t.Error("SGLang's schedule is relative")
			}
		})
	}
}

// TestGoldenCopies compares testdata with the shared golden folder where that
// lies beside the repository.
func TestGoldenCopies(t *testing.T) {
	shared := filepath.Join("..", "..", "..", "shared", "golden", "serving")
	if _, err := os.Stat(shared); err != nil {
		t.Skip("no shared golden folder beside the repository")
	}
	for _, name := range []string{"arrivals-vllm.json", "arrivals-sglang.json"} {
		want, err := os.ReadFile(filepath.Join(shared, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("testdata", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from its golden file (%v)", name, err)
		}
	}
}

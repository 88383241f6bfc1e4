package gate

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = `{"schema":1,"bounds":[{"key":{"device":"NVIDIA H100 80GB HBM3","power_limit_w":700,"memory_clock_mhz":2619,"driver":"550","runtime":"12.4","model":"preset:llama-3-8b","dtype":"bf16","phase":"decode","batch":1,"context_len":1024,"graph":"captured"},"upper_ns":5050000,"lower_ns":4950000,"median_ns":5000000,"n":10,"made_from":["ab"],"date":"2026-11-30"}]}`

func TestBoundsRoundTrip(t *testing.T) {
	b, err := ReadBounds(strings.NewReader(example), "golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if x := b.Bounds[0]; *x.Key.PowerLimitW != 700 || x.Key.OutputLen != nil || x.UpperNS != 5.05e6 || x.Key.String() != "decode batch 1 context 1024 captured" {
		t.Errorf("%+v", x)
	}
	other := limitOf(3, 7, 2)
	seven := 7
	other.Key.OutputLen = &seven
	b.Bounds = append(b.Bounds, other, limitOf(2, 7, 2))
	var one, two bytes.Buffer
	if err := b.Write(&one); err != nil {
		t.Fatal(err)
	}
	again, err := ReadBounds(bytes.NewReader(one.Bytes()), "again")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Write(&two); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Errorf("written twice, not the same: %v", err)
	}
	if strings.Count(one.String(), "output_len") != 1 {
		t.Errorf("%s", one.String())
	}
	if again.Bounds[1].Key.Batch != 2 || again.Bounds[2].Key.Batch != 3 {
		t.Errorf("bounds are not sorted: %s", one.String())
	}
}

func TestBoundsRefusals(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(example, old, new, 1) }
	double := strings.TrimSuffix(example, "]}")
	double += "," + double[len(`{"schema":1,"bounds":[`):] + "]}"
	for want, data := range map[string]string{
		"unexpected end":             example[:90],
		"no schema in it":            `{"bounds":[]}`,
		"schema 2 is newer":          change(`"schema":1`, `"schema":2`),
		"schema 0: want 1":           change(`"schema":1`, `"schema":0`),
		"unknown field":              change(`"upper_ns"`, `"uper_ns"`),
		"no device or no model":      change(`NVIDIA H100 80GB HBM3`, ``),
		"neither prefill nor decode": change(`"decode"`, `"train"`),
		"batch 0":                    change(`"batch":1`, `"batch":0`),
		"want them ascending":        change(`"upper_ns":5050000`, `"upper_ns":4999999`),
		"median 0":                   change(`"median_ns":5000000`, `"median_ns":0`),
		"n 0: want at least 1":       change(`"n":10`, `"n":0`),
		"about the same key":         double,
		"cannot unmarshal":           change(`"batch":1`, `"batch":"1"`),
	} {
		if _, err := ReadBounds(strings.NewReader(data), "golden.json"); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "read bounds: golden.json: ") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := ReadBounds(failingReader{}, "x"); !errors.Is(err, errRead) {
		t.Errorf("%v", err)
	}
	if err := (Bounds{Schema: 1, Bounds: []Bound{{}}}).Write(&bytes.Buffer{}); err == nil {
		t.Error("an invalid bound was written")
	}
}

var errRead = errors.New("disk gone")

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errRead }

// Whatever a file holds, reading it ends in an error or in bounds that write and
// read back equal.
func FuzzReadBounds(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(`{"schema":1}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ReadBounds(bytes.NewReader(data), "fuzz")
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := b.Write(&out); err != nil {
			t.Fatalf("read and not written: %v", err)
		}
		again, err := ReadBounds(&out, "again")
		if err != nil || len(again.Bounds) != len(b.Bounds) {
			t.Fatalf("written and not read: %v", err)
		}
	})
}

func TestPropose(t *testing.T) {
	var runs []Run
	for i := range 10 {
		run := Run{Name: "r", SHA256: string(rune('z' - i))}
		run.Measurements = []Measurement{{Key: keyOf(1), ValueNS: 5e6 + float64(i)*1e3}, {Key: keyOf(2), ValueNS: 5e6 + float64(i)*1e5}}
		if i < 9 {
			run.Measurements = append(run.Measurements, Measurement{Key: keyOf(4), ValueNS: 9e6})
		} else {
			run.Measurements = append(run.Measurements, Measurement{Key: keyOf(4), Unmeasured: "skipped: memory"})
		}
		runs = append(runs, run)
	}
	b, left, err := Propose(runs, ProposeOptions{Delta: 0.01, MinRuns: 10, Date: "2026-11-30"})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Bounds) != 2 || len(left) != 1 || !strings.Contains(left[0], "batch 4 context 1024 captured: 9 recordings, want 10") {
		t.Fatalf("%+v, left %q", b, left)
	}
	// Values 5.000 .. 5.009: median 5.0045, a MAD of 2.5 us is below 1 %.
	if x := b.Bounds[0]; x.MedianNS != 5004500 || x.UpperNS != 5054545 || x.LowerNS != 4954455 || x.N != 10 || x.MadeFrom[0] != "q" || x.Date != "2026-11-30" {
		t.Errorf("%+v", x)
	}
	// Values 5.0 .. 5.9: median 5.45, MAD 0.25: 3*1.4826*0.25 = 1.11195.
	if x := b.Bounds[1]; x.UpperNS != 6561950 || x.LowerNS != 4338050 {
		t.Errorf("%+v", x)
	}
	runs[3].Refused = "check correctness failed"
	if _, _, err := Propose(runs, DefaultProposal()); err == nil || !strings.Contains(err.Error(), "check correctness failed") {
		t.Errorf("a refused recording: %v", err)
	}
	runs[3].Refused, runs[4].SHA256 = "", runs[5].SHA256
	if _, _, err := Propose(runs, DefaultProposal()); err == nil || !strings.Contains(err.Error(), "the same recording") {
		t.Errorf("one recording twice: %v", err)
	}
	if _, _, err := Propose(nil, ProposeOptions{}); err == nil {
		t.Error("no options")
	}
}

func TestRenew(t *testing.T) {
	old := boundsOf(limitOf(1, 10, 5), limitOf(2, 20, 5))
	now, changes := Renew(old, boundsOf(limitOf(2, 15, 5), limitOf(3, 30, 5)))
	want := []string{"decode batch 2 context 1024 captured: 20 ms to 15 ms (-25 %)", "decode batch 3 context 1024 captured: new, 30 ms"}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Error(diff)
	}
	if len(now.Bounds) != 3 || now.Bounds[1].MedianNS != 15e6 || old.Bounds[1].MedianNS != 20e6 {
		t.Errorf("%+v, old %+v", now, old)
	}
}

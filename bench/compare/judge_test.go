package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lathe/bench"
)

// What the run saw at its last look is what the file says afterwards, read back
// from its lines, whatever the effect.
func TestJudgeAgreesWithTheRun(t *testing.T) {
	for seed, c := range []struct {
		effect float64
		want   Verdict
	}{{0, NoDifference}, {0.02, Slower}, {-0.02, Faster}, {0.2, Slower}, {-0.5, Faster}} {
		var last Result
		r := &tape{}
		p := shortPlan(decodeAt(0, 1, 64), decodeAt(1, 4, 64))
		rig := rigOf(noisy(uint64(seed), c.effect), r, true)
		rig.Events.Look = func(now Result) { last = now }
		if err := Run(context.Background(), rig, p); err != nil {
			t.Fatal(err)
		}
		got := judge(t, reread(t, r))
		if got.Verdict != c.want || got.Verdict != last.Verdict {
			t.Errorf("effect %+g: %s from the file, %s in the run, want %s: %q", c.effect, got.Verdict, last.Verdict, c.want, got.Reasons)
		}
		if diff := cmp.Diff(last.Points, got.Points); diff != "" {
			t.Errorf("effect %+g: points (-run +file):\n%s", c.effect, diff)
		}
		if got.Epochs < 6 || got.Steps != got.Blocks*4*p.Steps || !strings.Contains(strings.Join(got.Reasons, " "), "epochs") {
			t.Errorf("n: %d epochs, %d blocks, %d steps: %q", got.Epochs, got.Blocks, got.Steps, got.Reasons)
		}
	}
}

// reread reads a tape back through the file format.
func reread(t *testing.T, r *tape) *bench.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	head, err := json.Marshal(bench.Run{Kind: bench.KindRun, Schema: bench.Schema})
	if err != nil {
		t.Fatal(err)
	}
	end := `{"kind":"end","duration_ns":1,"reason":"completed"}` + "\n"
	if err := os.WriteFile(path, append(append(append(head, '\n'), r.lines.Bytes()...), end...), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := bench.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Complete() || len(f.Warnings) > 0 {
		t.Fatalf("complete %t, warnings %q", f.Complete(), f.Warnings)
	}
	return f
}

// The JSON has the keys of the contract, and is the same bytes each time.
func TestResultJSON(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 64))
	p.A, p.B = json.RawMessage(`{"backend":"cpu"}`), json.RawMessage(`{"backend":"mine.so"}`)
	p.Points[0].Floor = &Floor{NS: 5e5, Binding: true, Source: "datasheet"}
	f := measure(t, noisy(3, 0.05), p)
	data, err := json.Marshal(judge(t, f))
	if err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(judge(t, f))
	if !bytes.Equal(data, again) {
		t.Error("two judgements of one file differ")
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"verdict", "change_percent", "interval_percent", "threshold_percent", "epochs", "reasons", "points", "a", "b", "raw"} {
		if tree[key] == nil {
			t.Errorf("key %q is missing or null in %s", key, data)
		}
	}
	point := tree["points"].([]any)[0].(map[string]any)
	for _, key := range []string{"batch", "context_len", "phase", "verdict", "change_percent", "interval_percent", "a_median_ns", "b_median_ns", "floor_ns", "detectable_percent"} {
		if point[key] == nil {
			t.Errorf("key %q of a point is missing or null", key)
		}
	}
	if tree["verdict"] != "slower" || tree["a"].(map[string]any)["backend"] != "cpu" || point["phase"] != "decode" {
		t.Errorf("%s", data)
	}
	change := tree["change_percent"].(float64)
	iv := tree["interval_percent"].([]any)
	if lo, hi := iv[0].(float64), iv[1].(float64); !(lo < change && change < hi && lo > 4.5 && hi < 5.5) {
		t.Errorf("change %v, interval %v", change, iv)
	}
}

// P128: nothing measured is null, never NaN, a sentinel or a missing key.
func TestP128_UndefinedIsNull(t *testing.T) {
	plan, err := json.Marshal(shortPlan(decodeAt(0, 1, 8), decodeAt(1, 2, 8)))
	if err != nil {
		t.Fatal(err)
	}
	f := &bench.File{Checks: []bench.Check{{Name: CheckPlan, Detail: plan}}}
	data, err := json.Marshal(judge(t, f))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"verdict":"inconclusive","change_percent":null,"interval_percent":null,"threshold_percent":null,"epochs":0`,
		`"a_median_ns":null,"b_median_ns":null,"floor_ns":null,"detectable_percent":null`, `"epoch_percent":[]`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s\nlacks %s", data, want)
		}
	}
}

func TestJudgeRefusesOtherFiles(t *testing.T) {
	for name, f := range map[string]*bench.File{
		"no plan":        {},
		"not JSON":       {Checks: []bench.Check{{Name: CheckPlan, Detail: json.RawMessage(`{`)}}},
		"plan of nought": {Checks: []bench.Check{{Name: CheckPlan, Detail: json.RawMessage(`{}`)}}},
	} {
		if _, err := Judge(f); err == nil || !strings.HasPrefix(err.Error(), "judge a comparison: ") || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Points of a table: one that is slower makes the whole slower although the mean
// is faster; the reasons say both.
func TestOneSlowPointIsARegression(t *testing.T) {
	m := noisy(5, 0)
	inner := m.cost
	m.cost = func(e *engine) int64 {
		ns := inner(e)
		if e.variant == VariantB {
			ns = ns * map[int]int64{0: 80, 1: 104}[e.visit.Point.ID] / 100
		}
		return ns
	}
	r := judge(t, measure(t, m, shortPlan(decodeAt(0, 1, 64), decodeAt(1, 4, 64))))
	if r.Verdict != Slower || r.Points[0].Verdict != Faster || r.Points[1].Verdict != Slower || *r.ChangePercent > -5 {
		t.Fatalf("%s, points %s %s, mean %v", r.Verdict, r.Points[0].Verdict, r.Points[1].Verdict, *r.ChangePercent)
	}
	if !strings.Contains(r.Reasons[0], "slower at decode at batch 4, context 64") || !strings.Contains(r.Reasons[1], "mean of 2 points") {
		t.Errorf("reasons %q", r.Reasons)
	}
}

package report

import (
	"encoding/json"
	"strings"
	"testing"

	"lathe/bench"
)

// A correctness test's report is its prompts, with a row for what became of every other point.
func TestReportOfACorrectnessTest(t *testing.T) {
	step, point, reason := 1, func(n int) *int { return &n }, "too\nlong"
	f := &bench.File{
		Run: bench.Run{Command: "bench one-batch", Workload: bench.Workload{Kind: bench.KindCorrectness, BatchSizes: []int{2}, InputLens: []int{8, 9, 10}, OutputLens: []int{4}}},
		Points: []bench.Point{
			{Point: 0, Status: bench.StatusOK, Batch: 2, InputLen: 8, OutputLen: 4},
			{Point: 1, Status: bench.StatusSkipped, Reason: &reason, Batch: 2, InputLen: 9, OutputLen: 4},
			{Point: 2, Status: bench.StatusOK, Batch: 2, InputLen: 10, OutputLen: 4},
		},
		End: &bench.End{Reason: bench.EndCompleted},
	}
	check := func(n int, ok bool, c bench.Correctness) {
		detail, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		f.Checks = append(f.Checks, bench.Check{Name: bench.CheckCorrectness, OK: ok, Point: point(n), Detail: detail})
	}
	limits := bench.Tolerance{Class: "C", EachRMS: 0.075, MedianRMS: 0.0075}
	check(0, true, bench.Correctness{Prompt: 0, Steps: 4, TokensEqual: 4, Largest: 1.0 / 3, MedianRMS: 0.001, EachRMS: 0.002, Tolerance: limits})
	check(0, false, bench.Correctness{Prompt: 1, Steps: 4, TokensEqual: 2, Tolerance: limits})
	check(2, false, bench.Correctness{Prompt: 0, Steps: 4, NonFinite: &step, Tolerance: limits})
	f.Checks = append(f.Checks, bench.Check{Name: bench.CheckCorrectness, Point: point(2), Detail: json.RawMessage(`{"prompt":"x"}`)},
		bench.Check{Name: "other", Point: point(2)}, bench.Check{Name: bench.CheckCorrectness})
	text := string(render(t, f, "text"))
	for _, want := range []string{
		"bench one-batch (correctness test)\n\n", "numeric check correctness failed (4 times)", "numeric check other failed\n",
		"\n    2      8       4       0                    ok    4/4    0.333       0.001   0.0075        0.002    0.075      C\n",
		"\n    2      8       4       1               differs    2/4 ",
		"\n    2      9       4  skipped: too long\n",
		"\n    2     10       4       0  not finite at step 1    0/4 ",
		"\n    2     10       4  the check cannot be read: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "INCOMPLETE") || strings.Contains(text, "Medians") {
		t.Error(text)
	}
	f.Points = f.Points[:2]
	if text := string(render(t, f, "text")); !strings.Contains(text, "INCOMPLETE: 2 of 3 points finished") {
		t.Error(text)
	}
}

// TestCorrectnessOK: each of the four limits is one.
func TestCorrectnessOK(t *testing.T) {
	step := 0
	limits := bench.Tolerance{EachRMS: 2, MedianRMS: 1}
	for name, c := range map[string]struct {
		c  bench.Correctness
		ok bool
	}{
		"within":      {bench.Correctness{EachRMS: 2, MedianRMS: 1, Tolerance: limits}, true},
		"one row":     {bench.Correctness{EachRMS: 2.1, MedianRMS: 1, Tolerance: limits}, false},
		"most rows":   {bench.Correctness{EachRMS: 2, MedianRMS: 1.1, Tolerance: limits}, false},
		"wrong token": {bench.Correctness{FirstWrong: &step, Tolerance: limits}, false},
		"not finite":  {bench.Correctness{NonFinite: &step, Tolerance: limits}, false},
	} {
		if c.c.OK() != c.ok {
			t.Errorf("%s: %v", name, !c.ok)
		}
	}
}

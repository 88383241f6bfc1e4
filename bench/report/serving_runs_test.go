package report

import (
	"encoding/json"
	"strings"
	"testing"

	"lathe/bench/serving"
)

// exactRun is a run of ok requests with a mean TTFT and a mean E2EL.
func exactRun(ok int, ttft, e2el float64) *serving.Result {
	r := &serving.Result{Semantics: serving.Semantics{Harness: serving.Exact}, ExactM: &serving.ExactMetrics{Completed: ok}}
	for range ok {
		r.Exact = append(r.Exact, serving.ExactRequest{Success: true})
	}
	if ok > 0 {
		r.ExactM.TTFT, r.ExactM.E2EL = &serving.ExactStats{Mean: ttft, Median: ttft}, &serving.ExactStats{Mean: e2el, Median: e2el}
	}
	return r
}

func TestServingRuns(t *testing.T) {
	tests := map[string]struct {
		runs     []*serving.Result
		limit    float64
		median   float64 // of the mean TTFT
		unstable []string
	}{
		"three":       {[]*serving.Result{exactRun(2, 100, 500), exactRun(2, 300, 510), exactRun(2, 110, 505)}, 1.25, 110, []string{"mean TTFT ms: max/min = 3.00"}},
		"within":      {[]*serving.Result{exactRun(2, 100, 500), exactRun(2, 120, 510)}, 1.25, 110, nil},
		"wider limit": {[]*serving.Result{exactRun(2, 100, 500), exactRun(2, 300, 510)}, 3, 200, nil},
		"one failed":  {[]*serving.Result{exactRun(2, 100, 500), exactRun(0, 0, 0), exactRun(2, 104, 500)}, 1.25, 102, []string{"run 2: no request succeeded"}},
		"zeros":       {[]*serving.Result{exactRun(1, 0, 500), exactRun(1, 0, 500)}, 1.25, 0, nil},
	}
	for name, tt := range tests {
		s := ReadRuns(tt.runs, tt.limit)
		if strings.Join(s.Unstable, "|") != strings.Join(tt.unstable, "|") {
			t.Errorf("%s: unstable %q, want %q", name, s.Unstable, tt.unstable)
		}
		found := false
		for _, f := range s.Rows {
			if f.Name != "mean TTFT ms" {
				continue
			}
			if found = true; *f.Median != tt.median || len(f.Values) != len(tt.runs) {
				t.Errorf("%s: %+v, median %v", name, f, *f.Median)
			}
		}
		if !found {
			t.Errorf("%s: no TTFT", name)
		}
		var b strings.Builder
		if err := s.Write(&b); err != nil || strings.Contains(b.String(), "NaN") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
		if text, err := json.Marshal(s); err != nil || !strings.Contains(string(text), `"unstable":[`) {
			t.Errorf("%s: %v %s", name, err, text)
		}
	}
	nothing := ReadRuns([]*serving.Result{exactRun(0, 0, 0), exactRun(0, 0, 0)}, 1.25)
	var b strings.Builder
	if err := nothing.Write(&b); err != nil || !strings.Contains(b.String(), "unstable: run 1: no request succeeded; run 2: no request succeeded") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

package serving

import (
	"errors"
	"math"
	"testing"
)

// The vector of the published notes: four requests 0.1 s apart.
func TestSteadyStateVector(t *testing.T) {
	r := &Result{}
	for i := range 4 {
		o := Outcome{Success: true, StartNS: int64(i) * 100e6, TTFT: .1, Latency: 1.11, RowPrompt: 100 + i, Output: counted(11), counts: -1}
		for range 10 {
			o.ITL = append(o.ITL, .1)
		}
		r.Requests, r.OutputLens = append(r.Requests, o), append(r.OutputLens, counted(11))
	}
	tests := []struct {
		ratio                                  float64
		start, end, output, rate, average, top float64
		threshold, completed                   int
		input                                  int64
	}{
		{1, .3, 1.11, 35, 43.2099, 4, 35, 4, 1, 103},
		{.5, .1, 1.31, 43, 35.5372, 3.504132, 38, 2, 3, 306},
	}
	for _, tt := range tests {
		s, err := SteadyState(r, tt.ratio, false)
		if err != nil {
			t.Fatal(err)
		}
		for name, pair := range map[string][2]float64{
			"start": {s.WindowStart, tt.start}, "end": {s.WindowEnd, tt.end}, "output": {s.TotalOutput, tt.output}, "rate": {s.OutputThroughput, tt.rate},
			"average": {s.AverageConcurrency, tt.average}, "peak": {s.PeakOutputThroughput, tt.top},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-4 {
				t.Errorf("ratio %v: %s %v, want %v", tt.ratio, name, pair[0], pair[1])
			}
		}
		if s.Threshold != tt.threshold || s.Completed != tt.completed || *s.TotalInput != tt.input || s.TotalOutputRetokenized != nil {
			t.Errorf("ratio %v: %+v", tt.ratio, s)
		}
	}
	if s, err := SteadyState(r, 1, true); err != nil || s.TotalInput != nil {
		t.Errorf("multi-turn: %+v, %v", s, err)
	}
	if _, err := SteadyState(&Result{Requests: []Outcome{{}}}, 1, false); !errors.Is(err, ErrNoSuccess) {
		t.Errorf("no success: %v", err)
	}
	if _, err := SteadyState(r, 1.5, false); err == nil {
		t.Error("a ratio above 1 is taken")
	}
}

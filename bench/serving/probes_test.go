package serving

import (
	"fmt"
	"testing"

	"lathe/bench"
)

// probe is one that was sent at 0 and got its frame after so many milliseconds.
func probe(i int, status int, ms int64) bench.Probe {
	body := `data: {"choices":[{"index":0,"text":"x"}]}` + "\n\n" + "data: [DONE]\n\n"
	if status != 200 {
		body = "busy"
	}
	return bench.Probe{Request: bench.Request{Kind: bench.KindProbe, ID: fmt.Sprint("p", i), Endpoint: "completions", Status: &status,
		Reads: []bench.Read{{TNS: ms * 1e6, B64: []byte(body)}}, End: &bench.RequestEnd{Kind: "eof", TNS: ms*1e6 + 5}}}
}

// The figures are of the probes that succeeded, by numpy's percentiles: 99 of
// 10, 20, 30, 50 lies 0.97 of the way from the third to the fourth.
func TestProbeMetrics(t *testing.T) {
	sem, err := ParseSemantics("vllm:openai")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		probes []bench.Probe
		want   *ProbeMetrics
	}{
		{"none", nil, nil},
		{"mixed", []bench.Probe{probe(0, 200, 30), probe(1, 503, 1), probe(2, 200, 10), probe(3, 200, 50), probe(4, 200, 20)}, &ProbeMetrics{4, 1, 25, 49.4, 50}},
		{"all failed", []bench.Probe{probe(0, 500, 1), probe(1, 404, 1)}, &ProbeMetrics{Failed: 2}},
	} {
		got, err := (&Capture{Probes: c.probes}).ProbeMetrics(sem, Latest)
		if err != nil || fmt.Sprintf("%.6v", got) != fmt.Sprintf("%.6v", c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

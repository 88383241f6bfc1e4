package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"lathe/bench"
	"lathe/bench/metric"
)

// LatencyResult is the result file of vLLM's bench latency: its keys in its
// order, then ours. Latencies are seconds; percentiles are numpy's of however
// many iterations there were, as theirs.
type LatencyResult struct {
	ModelID     string      `json:"model_id"`
	AvgLatency  *float64    `json:"avg_latency"`
	Latencies   []float64   `json:"latencies"`
	Percentiles percentiles `json:"percentiles"`

	Complete            bool            `json:"complete"`
	Status              bench.Status    `json:"status"`
	Reason              *string         `json:"reason"`
	BatchSize           int             `json:"batch_size"`
	InputLen            int             `json:"input_len"`
	OutputLen           int             `json:"output_len"`
	N                   int             `json:"n"`
	MedianLatency       *float64        `json:"median_latency"`
	MedianInterval      *[2]float64     `json:"median_interval"` // 95 %
	PrefillLatency      *float64        `json:"prefill_latency"`
	PrefillN            int             `json:"prefill_n"`
	PrefillInterval     *[2]float64     `json:"prefill_interval"` // of the median, 95 %
	MedianDecodeLatency *float64        `json:"median_decode_latency"`
	DecodeN             int             `json:"decode_n"`
	DecodeInterval      *[2]float64     `json:"median_decode_interval"` // 95 %
	Semantics           bench.Semantics `json:"semantics"`
	Warnings            []string        `json:"warnings"`
	Backend             string          `json:"backend"`
	WorkloadSHA256      string          `json:"workload_sha256"`
}

// percentiles are in vLLM's order, which is the order of numbers.
type percentiles struct {
	P10 *float64 `json:"10"`
	P25 *float64 `json:"25"`
	P50 *float64 `json:"50"`
	P75 *float64 `json:"75"`
	P90 *float64 `json:"90"`
	P99 *float64 `json:"99"`
}

// percentilesOf takes those that it knows, divided by scale.
func percentilesOf(list []bench.Percentile, scale float64) percentiles {
	var p percentiles
	at := map[float64]**float64{10: &p.P10, 25: &p.P25, 50: &p.P50, 75: &p.P75, 90: &p.P90, 99: &p.P99}
	for _, q := range list {
		if to := at[q.P]; to != nil && q.Value != nil {
			v := *q.Value / scale
			*to = &v
		}
	}
	return p
}

// ErrNoPoint says that a raw file of bench latency holds nothing to print.
var ErrNoPoint = errors.New("no point was measured")

// Latency makes the result of a raw file of bench latency, which has one point.
func Latency(f *bench.File) (LatencyResult, error) {
	points := metric.Points(f)
	if len(points) == 0 {
		return LatencyResult{}, fmt.Errorf("result of bench latency: %w", ErrNoPoint)
	}
	p := points[0]
	l, o := metric.VLLMLatency(p), metric.SGLangOneBatch(p)
	r := LatencyResult{
		ModelID: modelName(f.Run), AvgLatency: l.Avg, Latencies: l.Latencies,
		Complete: Complete(f), Status: p.Status, Reason: p.Reason,
		BatchSize: p.Batch, InputLen: p.InputLen, OutputLen: p.OutputLen,
		N: p.Iterations.N, MedianLatency: seconds(p.Iterations.Median), MedianInterval: interval(p.Iterations),
		PrefillLatency: o.PrefillLatency, PrefillN: p.Prefill.N, PrefillInterval: interval(p.Prefill),
		MedianDecodeLatency: o.MedianDecodeLatency, DecodeN: p.Decode.N, DecodeInterval: interval(p.Decode),
		Semantics: bench.SemanticsStep, Warnings: listed(p.Notes),
		Backend: f.Run.Backend.Name, WorkloadSHA256: f.Run.WorkloadSHA256,
	}
	r.Percentiles = percentilesOf(l.Percentiles, 1)
	if n := p.Iterations.N; n > 0 && !metric.Reaches(n, 99) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("p99 of %d iterations is interpolated towards the maximum", n))
	}
	return r, nil
}

// Write writes the result as vLLM does, indented by four.
func (r LatencyResult) Write(w io.Writer) error {
	e := json.NewEncoder(jsonText{w})
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write latency result: %w", err)
	}
	return nil
}

// Lines are the console lines of vLLM's bench latency, then ours: the split
// into prefill and decode. Without an iteration there are none of vLLM's.
func (r LatencyResult) Lines() []string {
	var lines []string
	if r.AvgLatency != nil {
		lines = append(lines, "Avg latency: "+python(*r.AvgLatency)+" seconds")
		q := r.Percentiles
		for i, v := range []*float64{q.P10, q.P25, q.P50, q.P75, q.P90, q.P99} {
			p := []int{10, 25, 50, 75, 90, 99}[i]
			lines = append(lines, fmt.Sprintf("%d%% percentile latency: %s seconds", p, python(*v)))
		}
	}
	if r.PrefillLatency != nil {
		lines = append(lines, fmt.Sprintf("Median prefill latency: %s seconds (%d prefills)", sig(*r.PrefillLatency, 5), r.PrefillN))
	}
	if r.MedianDecodeLatency != nil {
		lines = append(lines, fmt.Sprintf("Median decode step latency: %s seconds (%d steps)", sig(*r.MedianDecodeLatency, 5), r.DecodeN))
	}
	return lines
}

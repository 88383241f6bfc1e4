package report

import (
	"encoding/json"
	"fmt"
	"io"

	"lathe/bench"
	"lathe/bench/metric"
)

// OneBatchRow is a line of SGLang's one_batch result file: its keys in its
// order, then ours. Latencies are seconds. Where SGLang leaves a point out
// (skipped, failed) the row stands with its status and nulls.
type OneBatchRow struct {
	RunName                string   `json:"run_name"`
	BatchSize              int      `json:"batch_size"`
	InputLen               int      `json:"input_len"`
	OutputLen              int      `json:"output_len"`
	PrefillLatency         *float64 `json:"prefill_latency"`
	PrefillThroughput      *float64 `json:"prefill_throughput"`
	MedianDecodeLatency    *float64 `json:"median_decode_latency"`
	MedianDecodeThroughput *float64 `json:"median_decode_throughput"`
	TotalLatency           *float64 `json:"total_latency"`
	OverallThroughput      *float64 `json:"overall_throughput"`

	Status           bench.Status       `json:"status"`
	Reason           *string            `json:"reason"`
	PrefillRule      *string            `json:"prefill_rule"` // how prefill_latency comes from its repetitions
	PrefillN         int                `json:"prefill_n"`
	PrefillLatencies []float64          `json:"prefill_latencies"`
	PrefillInterval  *[2]float64        `json:"prefill_interval"` // of the median, 95 %
	DecodeN          int                `json:"decode_n"`
	DecodeInterval   *[2]float64        `json:"median_decode_interval"` // of the median, 95 %
	DecodeMean       *float64           `json:"mean_decode_latency"`
	DecodeStd        *float64           `json:"std_decode_latency"`
	DecodeTails      percentiles        `json:"decode_percentiles"` // null where decode_n does not reach the tail
	DecodeDevice     *float64           `json:"median_decode_device_latency"`
	DeviceN          int                `json:"decode_device_n"`
	DeviceInterval   *[2]float64        `json:"median_decode_device_interval"` // of the median, 95 %
	DecodeSlope      *float64           `json:"decode_latency_per_context_token"`
	TotalIteration   *int               `json:"total_iteration"` // whose steps total_latency sums
	WallLatency      *float64           `json:"wall_latency"`    // of that iteration, gaps included
	Cached           *int               `json:"cached_tokens"`
	Graph            bench.Graph        `json:"graph"`
	Memory           *bench.PointMemory `json:"memory"`
	Warnings         []string           `json:"warnings"`
	Semantics        bench.Semantics    `json:"semantics"`
	Model            string             `json:"model"`
	Backend          string             `json:"backend"`
	WorkloadSHA256   string             `json:"workload_sha256"`
}

// OneBatchRows makes the rows of a raw file, one a point that has its line.
func OneBatchRows(f *bench.File, runName string) []OneBatchRow {
	rows := []OneBatchRow{}
	for _, p := range metric.Points(f) {
		if !p.Finished {
			continue
		}
		r := oneBatchRow(p)
		r.RunName, r.Model, r.Backend = runName, modelName(f.Run), f.Run.Backend.Name
		r.WorkloadSHA256 = f.Run.WorkloadSHA256
		rows = append(rows, r)
	}
	return rows
}

func oneBatchRow(p metric.Point) OneBatchRow {
	o := metric.SGLangOneBatch(p)
	r := OneBatchRow{
		BatchSize: p.Batch, InputLen: p.InputLen, OutputLen: p.OutputLen,
		PrefillLatency: o.PrefillLatency, PrefillThroughput: o.PrefillThroughput,
		MedianDecodeLatency: o.MedianDecodeLatency, MedianDecodeThroughput: o.MedianDecodeThroughput,
		TotalLatency: o.TotalLatency, OverallThroughput: o.OverallThroughput,

		Status: p.Status, Reason: p.Reason, Semantics: bench.SemanticsStep,
		PrefillN:         p.Prefill.N,
		PrefillLatencies: metric.InSeconds(p.Repetitions), PrefillInterval: interval(p.Prefill),
		DecodeN: p.Decode.N, DecodeInterval: interval(p.Decode),
		DecodeMean: seconds(p.Decode.Mean), DecodeStd: seconds(p.Decode.Std),
		DecodeTails:  percentilesOf(p.Decode.Percentiles, 1e9),
		DecodeDevice: seconds(p.Device.Median), DeviceN: p.Device.N, DeviceInterval: interval(p.Device), DecodeSlope: seconds(p.SlopeNS), WallLatency: seconds(p.WallNS),
		Cached: p.Cached, Graph: bench.Graph(p.Graph), Memory: p.Memory, Warnings: listed(p.Notes),
	}
	if p.Prefill.N > 0 {
		rule := fmt.Sprintf("median of %d repetitions", p.Prefill.N)
		r.PrefillRule = &rule
	}
	if p.TotalNS != nil {
		r.TotalIteration = &p.PassOf
	}
	return r
}

func seconds(ns *float64) *float64 {
	if ns == nil {
		return nil
	}
	s := metric.Seconds(*ns)
	return &s
}

func interval(s bench.Summary) *[2]float64 {
	if s.Interval == nil {
		return nil
	}
	return &[2]float64{metric.Seconds(s.Interval.Lo), metric.Seconds(s.Interval.Hi)}
}

// WriteOneBatchRows writes rows as JSON lines.
func WriteOneBatchRows(w io.Writer, rows []OneBatchRow) error {
	e := json.NewEncoder(jsonText{w})
	e.SetEscapeHTML(false)
	for i := range rows {
		if err := e.Encode(&rows[i]); err != nil {
			return fmt.Errorf("write result row: %w", err)
		}
	}
	return nil
}

// firstSteps is how many decode steps SGLang prints of every pass.
const firstSteps = 5

// OneBatchLines are the console lines of SGLang's one_batch for a point: the
// prefill, the first five decode steps and then every logStep-th (0: no more),
// their median, the total. A point without figures is one line with its reason.
func OneBatchLines(p metric.Point, logStep int) []string {
	o := metric.SGLangOneBatch(p)
	if o.PrefillLatency == nil {
		return []string{fmt.Sprintf("(%d, %d, %d) %s", p.Batch, p.InputLen, p.OutputLen, verdict(p))}
	}
	lines := []string{latencyLine("Prefill. latency: %6.5f s, throughput: %9.2f token/s", o.PrefillLatency, o.PrefillThroughput)}
	for i, s := range p.Pass {
		if i >= firstSteps && (logStep <= 0 || i%logStep != 0) {
			continue
		}
		t := metric.Seconds(float64(s.HostNS))
		var rate float64
		if t > 0 {
			rate = float64(p.Batch) / t
		}
		lines = append(lines, fmt.Sprintf("Decode %d. Batch size: %d, latency: %6.5f s, throughput: %9.2f token/s", i, p.Batch, t, rate))
	}
	if o.MedianDecodeLatency != nil {
		lines = append(lines, latencyLine("Decode.  median latency: %6.5f s, median throughput: %9.2f token/s",
			o.MedianDecodeLatency, o.MedianDecodeThroughput))
	}
	if o.TotalLatency != nil {
		lines = append(lines, latencyLine("Total. latency: %6.3f s, throughput: %9.2f token/s", o.TotalLatency, o.OverallThroughput))
	}
	return lines
}

// latencyLine prints a rate over zero time, which is undefined, as 0.
func latencyLine(format string, latency, rate *float64) string {
	var r float64
	if rate != nil {
		r = *rate
	}
	return fmt.Sprintf(format, *latency, r)
}

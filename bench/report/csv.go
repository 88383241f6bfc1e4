package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"lathe/bench"
	"lathe/bench/metric"
)

// CSV writes a row a point, times in nanoseconds, unrounded; undefined is an
// empty field and a text is one line. The first three columns say how far the
// row can be trusted. Of a roofline it is a row a point, phase and set of roofs.
func CSV(w io.Writer, f *bench.File) error {
	v := look(f)
	if v.roofline != nil && f.Run.Workload.Kind == "roofline" {
		return roofCSV(w, v)
	}
	c := newCSV(w)
	head := []string{"complete", "status", "reason", "model", "backend", "point", "batch", "input_len", "output_len"}
	for _, name := range []string{"prefill", "decode_step", "decode_step_device", "iteration"} {
		head = append(head, summaryHead(name)...)
	}
	head = append(head, "decode_ns_per_context_token", "total_ns", "wall_ns", "input_tokens_per_second",
		"output_tokens_per_second", "output_tokens_per_second_per_sequence", "total_tokens_per_second",
		"graph", "cached_tokens", "weight_bytes", "kv_bytes", "workspace_bytes", "peak_bytes", "warnings",
		"workload_sha256", "raw_sha256")
	c.Write(head)
	for _, p := range v.points {
		c.Write(row(v, p))
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func row(v view, p metric.Point) []string {
	r := v.file.Run
	cells := []string{strconv.FormatBool(v.complete), string(p.Status), "", modelName(r), r.Backend.Name,
		strconv.Itoa(p.Point.Point), strconv.Itoa(p.Batch), strconv.Itoa(p.InputLen), ""}
	if p.OutputLen > 0 {
		cells[8] = strconv.Itoa(p.OutputLen)
	}
	if p.Reason != nil {
		cells[2] = *p.Reason
	}
	for _, s := range []bench.Summary{p.Prefill, p.Decode, p.Device, p.Iterations} {
		cells = append(cells, summaryCells(s)...)
	}
	for _, x := range []*float64{p.SlopeNS, p.TotalNS, p.WallNS, p.InputRate, p.OutputRate, p.RowRate, p.TotalRate} {
		cells = append(cells, shortest(x))
	}
	cached := ""
	if p.Cached != nil {
		cached = strconv.Itoa(*p.Cached)
	}
	cells = append(cells, p.Graph, cached)
	cells = append(cells, memoryCells(p.Memory)...)
	return append(cells, strings.Join(p.Notes, "; "), r.WorkloadSHA256, v.file.SHA256)
}

func summaryHead(name string) []string {
	return []string{name + "_n", name + "_median_ns", name + "_lo_ns", name + "_hi_ns", name + "_mean_ns",
		name + "_std_ns", name + "_min_ns", name + "_p10_ns", name + "_p25_ns", name + "_p75_ns",
		name + "_p90_ns", name + "_p99_ns", name + "_max_ns"}
}

func summaryCells(s bench.Summary) []string {
	var lo, hi *float64
	if s.Interval != nil {
		lo, hi = &s.Interval.Lo, &s.Interval.Hi
	}
	cells := []string{strconv.Itoa(s.N)}
	for _, x := range []*float64{s.Median, lo, hi, s.Mean, s.Std, s.Min, metric.Percentile(s, 10), metric.Percentile(s, 25),
		metric.Percentile(s, 75), metric.Percentile(s, 90), metric.Percentile(s, 99), s.Max} {
		cells = append(cells, shortest(x))
	}
	return cells
}

func memoryCells(m *bench.PointMemory) []string {
	if m == nil {
		return make([]string, 4)
	}
	peak := ""
	if m.PeakBytes != nil {
		peak = strconv.FormatUint(*m.PeakBytes, 10)
	}
	return []string{strconv.FormatUint(m.WeightBytes, 10), strconv.FormatUint(m.KVBytes, 10),
		strconv.FormatUint(m.WorkspaceBytes, 10), peak}
}

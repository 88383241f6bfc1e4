package report

import (
	"encoding/json"
	"fmt"
	"io"

	"lathe/bench"
	"lathe/bench/metric"
	"lathe/bench/roofline"
)

// document is the JSON report of a raw file.
type document struct {
	Schema    int             `json:"schema"`
	Complete  bool            `json:"complete"`
	State     *string         `json:"state"` // why it is not complete
	RawSHA256 string          `json:"raw_sha256"`
	Requested *int            `json:"points_requested"`
	Finished  int             `json:"points_finished"`
	Points    []point         `json:"points"`
	Roofline  *roofline.Sheet `json:"roofline,omitempty"`
	Checks    []bench.Check   `json:"checks"`
	Warnings  []string        `json:"warnings"`
	Run       bench.Run       `json:"run"`
	Resumes   []bench.Resume  `json:"resumes"`
}

// point is one point of the JSON report; times are nanoseconds.
type point struct {
	Point          int                `json:"point"`
	Status         bench.Status       `json:"status"`
	Reason         *string            `json:"reason"`
	Finished       bool               `json:"finished"`
	Batch          int                `json:"batch"`
	InputLen       int                `json:"input_len"`
	OutputLen      *int               `json:"output_len"` // null where no line and no workload tells
	Cached         *int               `json:"cached_tokens"`
	Graph          bench.Graph        `json:"graph"`
	Prefill        bench.Summary      `json:"prefill"`
	PrefillNS      []int64            `json:"prefill_ns"`
	Decode         bench.Summary      `json:"decode_step"`
	Device         *bench.Summary     `json:"decode_step_device"`
	Slope          *float64           `json:"decode_ns_per_context_token"`
	Total          *float64           `json:"total_ns"`
	TotalIteration *int               `json:"total_iteration"`
	Wall           *float64           `json:"wall_ns"`
	Iterations     *bench.Summary     `json:"iterations"`
	IterationNS    []int64            `json:"iteration_ns"`
	InputRate      *float64           `json:"input_tokens_per_second"`
	OutputRate     *float64           `json:"output_tokens_per_second"`
	RowRate        *float64           `json:"output_tokens_per_second_per_sequence"`
	TotalRate      *float64           `json:"total_tokens_per_second"`
	Memory         *bench.PointMemory `json:"memory"`
	Warnings       []string           `json:"warnings"`
}

// JSON writes everything that the other forms say, unrounded.
func JSON(w io.Writer, f *bench.File) error {
	v := look(f)
	d := document{
		Schema: bench.Schema, Complete: v.complete, RawSHA256: f.SHA256, Finished: len(f.Points),
		Points: []point{}, Checks: listed(f.Checks), Warnings: listed(v.warnings), Run: f.Run, Resumes: listed(f.Resumes),
	}
	if !v.complete {
		d.State = &v.state
	}
	if n := requested(f.Run.Workload); n > 0 {
		d.Requested = &n
	}
	if len(d.Run.Options) == 0 {
		d.Run.Options = json.RawMessage("null")
	}
	d.Roofline = v.roofline
	for _, p := range v.points {
		d.Points = append(d.Points, pointOf(p))
	}
	e := json.NewEncoder(jsonText{w})
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// listed is the list itself, [] rather than null where it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func pointOf(p metric.Point) point {
	j := point{
		Point: p.Point.Point, Status: p.Status, Reason: p.Reason, Finished: p.Finished,
		Batch: p.Batch, InputLen: p.InputLen, Cached: p.Cached, Graph: bench.Graph(p.Graph),
		Prefill: p.Prefill, PrefillNS: listed(p.Repetitions), Decode: p.Decode, Slope: p.SlopeNS,
		Total: p.TotalNS, Wall: p.WallNS, IterationNS: listed(p.IterationTimes),
		InputRate: p.InputRate, OutputRate: p.OutputRate, RowRate: p.RowRate, TotalRate: p.TotalRate,
		Memory: p.Memory, Warnings: listed(p.Notes),
	}
	if p.OutputLen > 0 {
		j.OutputLen = &p.OutputLen
	}
	if p.Device.N > 0 {
		j.Device = &p.Device
	}
	if p.TotalNS != nil {
		j.TotalIteration = &p.PassOf
	}
	if p.Iterations.N > 0 {
		j.Iterations = &p.Iterations
	}
	return j
}

package roofline

import (
	"lathe/bench"
	"lathe/bench/metric"
)

// Sheet is the roofline of a raw file.
type Sheet struct {
	Roofs []Roofs `json:"roofs"`
	Rows  []Row   `json:"rows"`
}

// Row is one phase of one point. Of a point that was skipped or failed there is one
// row without figures.
type Row struct {
	Point      int           `json:"point"`
	Status     bench.Status  `json:"status"`
	Reason     *string       `json:"reason"`
	Batch      int           `json:"batch"`
	InputLen   int           `json:"input_len"`
	Phase      bench.Phase   `json:"phase"`
	ContextLen int           `json:"context_len"`  // that Work is at
	Time       bench.Summary `json:"time"`         // ns; of the device's clock where it has one
	Clock      string        `json:"clock"`        // "device" or "host"
	ClockMHz   *float64      `json:"sm_clock_mhz"` // mean of the measured steps, under load; null where unknown
	Work       *Work         `json:"work"`
	ByteRate   *float64      `json:"byte_per_s"` // of Work, at the median
	FLOPRate   *float64      `json:"flop_per_s"`
	Against    []Against     `json:"against"` // in the order of Sheet.Roofs; empty where nothing is known
	Operators  []OperatorRow `json:"operators,omitempty"`
}

// Against is a median under one set of roofs.
type Against struct {
	Kind            string  `json:"kind"`
	Floor           Floor   `json:"floor"`
	PercentOneRoof  float64 `json:"percent_of_one_roof"` // floor over median
	PercentAdditive float64 `json:"percent_of_additive"`
	// AtClock is the floor with the compute roof at the row's mean clock; null where
	// either clock is unknown.
	AtClock        *Floor   `json:"at_observed_clock"`
	PercentAtClock *float64 `json:"percent_at_observed_clock"`
	Verdict        string   `json:"verdict"`
	Reason         string   `json:"reason,omitempty"`
}

// OperatorRow is one operator of an instrumented pass.
type OperatorRow struct {
	Variant  *string       `json:"variant"`
	Name     string        `json:"op"`
	Calls    int           `json:"calls"` // in a step
	Time     bench.Summary `json:"time"`  // ns a step, all calls
	Share    *float64      `json:"share"` // of the instrumented steps' time
	Work     *Work         `json:"work"`
	ByteRate *float64      `json:"byte_per_s"`
	FLOPRate *float64      `json:"flop_per_s"`
	Against  []Against     `json:"against"`
}

// Read makes the sheet of a file; false where it has no roofs.
func Read(f *bench.File) (Sheet, bool, error) {
	roofs, err := details[[]Roofs](f, CheckRoofs)
	if err != nil || len(roofs[-1]) == 0 {
		return Sheet{}, false, err
	}
	work, err := details[PointWork](f, CheckWork)
	if err != nil {
		return Sheet{}, false, err
	}
	passes, err := details[OperatorPass](f, CheckOperators)
	if err != nil {
		return Sheet{}, false, err
	}
	s := Sheet{Roofs: roofs[-1][len(roofs[-1])-1], Rows: []Row{}} // of a resumed run the last ones
	for _, p := range metric.Points(f) {
		rows := s.rows(p, work[p.Point.Point], passes[p.Point.Point])
		for i := range rows {
			rows[i].ClockMHz = meanClock(f.Steps, rows[i])
			s.observe(&rows[i])
		}
		s.Rows = append(s.Rows, rows...)
	}
	return s, true, nil
}

// meanClock is the SM clock under load: of the measured steps only, since a device
// that waits clocks down.
func meanClock(steps []bench.Step, r Row) *float64 {
	sum, n := 0.0, 0
	for _, step := range steps {
		if step.Point == r.Point && step.Phase == r.Phase && !step.Warmup && step.SMClockMHz != nil {
			sum += float64(*step.SMClockMHz)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	mean := sum / float64(n)
	return &mean
}

// observe adds the floors at the clock that the device really had.
func (s Sheet) observe(r *Row) {
	if r.ClockMHz == nil || r.Work == nil || r.Time.Median == nil {
		return
	}
	for i := range r.Against {
		for _, roof := range s.Roofs {
			if roof.Kind != r.Against[i].Kind || roof.BoostMHz <= 0 {
				continue
			}
			if floor, ok := roof.AtClock(*r.ClockMHz).Floor(*r.Work); ok {
				percent := 100 * floor.OneRoofNS / *r.Time.Median
				r.Against[i].AtClock, r.Against[i].PercentAtClock = &floor, &percent
			}
		}
	}
}

func (s Sheet) rows(p metric.Point, work []PointWork, passes []OperatorPass) []Row {
	row := Row{Point: p.Point.Point, Status: p.Status, Reason: p.Reason, Batch: p.Batch, InputLen: p.InputLen,
		Phase: bench.Decode, ContextLen: p.InputLen, Against: []Against{}}
	if p.Decode.N == 0 && p.Prefill.N == 0 {
		return []Row{row}
	}
	var w PointWork
	if len(work) > 0 {
		w = work[len(work)-1]
	}
	var list []Row
	if p.Prefill.N > 0 {
		prefill := row
		prefill.Phase, prefill.Time, prefill.Clock = bench.Prefill, p.Prefill, "host"
		if len(work) > 0 {
			prefill.Work = &w.Prefill
		}
		list = append(list, s.judged(prefill))
	}
	if p.Decode.N > 0 {
		row.Time, row.Clock, row.ContextLen = p.Decode, "host", w.DecodeContext
		if p.Device.N > 0 && p.Device.Failed == 0 {
			row.Time, row.Clock = p.Device, "device"
		}
		if len(work) > 0 {
			row.Work = &w.Decode
		}
		for _, pass := range passes {
			row.Operators = append(row.Operators, s.operators(pass, w.Operators)...)
		}
		list = append(list, s.judged(row))
	}
	return list
}

func (s Sheet) judged(r Row) Row {
	r.ByteRate, r.FLOPRate, r.Against = s.judge(r.Work, r.Time.Median)
	return r
}

// judge compares a median with every roof.
func (s Sheet) judge(w *Work, median *float64) (bytes, flops *float64, against []Against) {
	against = []Against{}
	if w == nil || median == nil || *median <= 0 {
		return nil, nil, against
	}
	bytes, flops = rate(w.Bytes(), *median), rate(w.FLOPs(), *median)
	for _, r := range s.Roofs {
		floor, ok := r.Floor(*w)
		if !ok {
			continue
		}
		a := Against{Kind: r.Kind, Floor: floor, PercentOneRoof: 100 * floor.OneRoofNS / *median, PercentAdditive: 100 * floor.AdditiveNS / *median}
		a.Verdict, a.Reason = r.Judge(*w, *median)
		against = append(against, a)
	}
	return bytes, flops, against
}

func rate(amount int64, ns float64) *float64 {
	if amount <= 0 {
		return nil
	}
	r := 1e9 * float64(amount) / ns
	return &r
}

// operators are the rows of one instrumented pass.
func (s Sheet) operators(p OperatorPass, work []OperatorWork) []OperatorRow {
	var steps float64
	for _, ns := range p.StepNS {
		steps += float64(ns)
	}
	var rows []OperatorRow
	for i, name := range p.Operators {
		var times []float64
		var sum float64
		for _, step := range p.NS {
			if i < len(step) && step[i] >= 0 {
				times = append(times, float64(step[i]))
				sum += float64(step[i])
			}
		}
		row := OperatorRow{Variant: p.Variant, Name: name, Time: metric.Summarise(bench.SemanticsStep, "operator "+name, "ns", times)}
		if steps > 0 && len(times) == len(p.StepNS) {
			share := sum / steps
			row.Share = &share
		}
		for _, w := range work {
			if w.Name == name {
				row.Calls, row.Work = w.Calls, w.split()
			}
		}
		row.ByteRate, row.FLOPRate, row.Against = s.judge(row.Work, row.Time.Median)
		rows = append(rows, row)
	}
	return rows
}

// split puts an operator's work where the step's work has it, so that the floors of
// one operator are one roof.
func (w OperatorWork) split() *Work {
	if w.Name == "attn_decode" {
		return &Work{AttentionFLOPs: w.FLOPs, KVBytes: w.Bytes}
	}
	return &Work{LinearFLOPs: w.FLOPs, WeightBytes: w.Bytes}
}

// Impossible says whether any row is below a datasheet's floor: such a file proves
// its own measurement wrong.
func (s Sheet) Impossible() bool {
	for _, r := range s.Rows {
		for _, a := range r.Against {
			if a.Verdict == Impossible {
				return true
			}
		}
	}
	return false
}

package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"lathe/bench"
	"lathe/bench/roofline"
)

// roofColumn is one column of the roofline's table.
type roofColumn struct {
	title string
	cell  func(roofline.Row) string
}

// roofColumns are the columns for people: two for each set of roofs.
func roofColumns(s roofline.Sheet) []roofColumn {
	cols := []roofColumn{
		{"batch", func(r roofline.Row) string { return strconv.Itoa(r.Batch) }},
		{"context", func(r roofline.Row) string { return strconv.Itoa(r.ContextLen) }},
		{"phase", func(r roofline.Row) string { return string(r.Phase) }},
		{"ms", func(r roofline.Row) string { return centre(r.Time) }},
		{"n", func(r roofline.Row) string { return size(r.Time) }},
		{"GB/s", func(r roofline.Row) string { return sigOr(r.ByteRate, 1e9, 3) }},
		{"GFLOP/s", func(r roofline.Row) string { return sigOr(r.FLOPRate, 1e9, 3) }},
	}
	for i, roof := range s.Roofs {
		at := func(r roofline.Row) *roofline.Against {
			j := slices.IndexFunc(r.Against, func(a roofline.Against) bool { return a.Kind == roof.Kind })
			if i >= len(s.Roofs) || j < 0 {
				return nil
			}
			return &r.Against[j]
		}
		cols = append(cols,
			roofColumn{roof.Kind + " floor ms", func(r roofline.Row) string {
				if a := at(r); a != nil {
					return sig(a.Floor.OneRoofNS/msPer, 4) + " " + a.Floor.Limit
				}
				return none
			}},
			roofColumn{"% of it", func(r roofline.Row) string {
				if a := at(r); a != nil {
					return sig(a.PercentOneRoof, 3)
				}
				return none
			}},
			roofColumn{"% of sum", func(r roofline.Row) string {
				if a := at(r); a != nil {
					return sig(a.PercentAdditive, 3)
				}
				return none
			}})
	}
	return cols
}

// roofTable lays the sheet out.
func roofTable(s roofline.Sheet) table {
	t := table{shown: map[string]bool{}}
	cols := roofColumns(s)
	for _, c := range cols {
		t.titles = append(t.titles, c.title)
	}
	for _, r := range s.Rows {
		var row, notes []string
		for i, c := range cols {
			if i >= dims && r.Time.N == 0 {
				reason := "no reason was recorded"
				if r.Reason != nil {
					reason = plain(*r.Reason)
				}
				row = append(row, fmt.Sprintf("%s: %s", r.Status, reason))
				break
			}
			row = append(row, c.cell(r))
		}
		for _, a := range r.Against {
			if a.Reason != "" {
				notes = append(notes, fmt.Sprintf("%s: %s", a.Verdict, a.Reason))
			}
		}
		t.rows = append(t.rows, row)
		t.marks = append(t.marks, t.number(notes))
	}
	return t
}

// roofLegend says what the columns mean and what the roofs are.
func roofLegend(s roofline.Sheet) []string {
	var lines []string
	for _, r := range s.Roofs {
		lines = append(lines, fmt.Sprintf("%s roofs: %s GB/s, %s GFLOP/s bf16, ridge %s FLOP/byte; %s. Source: %s.", r.Kind,
			sig(r.Bandwidth/1e9, 4), sig(r.Compute/1e9, 4), sig(r.Ridge(), 3), r.Device, r.Source))
	}
	return append(lines,
		"ms: median of a step and its 95 % interval; GB/s and GFLOP/s: what the step cannot avoid, over the median.",
		"floor: the larger of bytes over bandwidth and FLOPs over compute, and which of the two; % of it: floor over median. "+
			"% of sum: the same with the floors of weights and of attention added, since they run one after the other.")
}

// roofText appends the roofline to a text report.
func roofText(b *strings.Builder, s roofline.Sheet) {
	b.WriteString("\nRoofline\n\n")
	t := roofTable(s)
	t.narrow(textWidth, "GFLOP/s", "% of sum", "% of sum")
	t.text(b)
	b.WriteString("\n")
	for i, note := range t.notes {
		wrap(b, fmt.Sprintf("[%d] ", i+1), note)
	}
	for _, line := range roofLegend(s) {
		wrap(b, "", line)
	}
	if len(t.left) > 0 {
		wrap(b, "", "left out for want of room: "+strings.Join(slices.Compact(t.left), ", ")+"; --format csv and json have them.")
	}
	if ops := operatorTable(s); len(ops.rows) > 0 {
		b.WriteString("\nOperators of a decode step, from an instrumented pass of their own\n\n")
		ops.text(b)
		b.WriteString("\n")
	}
}

// roofMarkdown appends it to a markdown report.
func roofMarkdown(b *strings.Builder, s roofline.Sheet) {
	b.WriteString("#### Roofline\n\n")
	t := roofTable(s)
	t.markdownRows(b)
	for i, note := range t.notes {
		fmt.Fprintf(b, "%s %s\n\n", escape(fmt.Sprintf("[%d]", i+1)), escape(note))
	}
	for _, line := range roofLegend(s) {
		fmt.Fprintf(b, "- %s\n", escape(line))
	}
	b.WriteString("\n")
	if ops := operatorTable(s); len(ops.rows) > 0 {
		b.WriteString("Operators of a decode step, from an instrumented pass of their own:\n\n")
		ops.markdownRows(b)
	}
}

// operatorTable is a row an operator of each point that has an instrumented pass.
func operatorTable(s roofline.Sheet) table {
	t := table{titles: []string{"batch", "context", "operator", "calls", "us a step", "n", "% of step", "GB/s", "% of floor"}}
	for _, r := range s.Rows {
		for _, op := range r.Operators {
			name := op.Name
			if op.Variant != nil {
				name += " (" + *op.Variant + ")"
			}
			share, percent := none, none
			if op.Share != nil {
				share = sig(100**op.Share, 3)
			}
			if len(op.Against) > 0 && op.Against[0].Floor.OneRoofNS > 0 {
				percent = sig(op.Against[0].PercentOneRoof, 3)
			}
			t.rows = append(t.rows, []string{strconv.Itoa(r.Batch), strconv.Itoa(r.ContextLen), plain(name), strconv.Itoa(op.Calls),
				sigOr(op.Time.Median, 1e3, 4), size(op.Time), share, sigOr(op.ByteRate, 1e9, 3), percent})
			t.marks = append(t.marks, "")
		}
	}
	return t
}

// roofCSV writes a row a point, phase and set of roofs; times in nanoseconds, unrounded.
func roofCSV(w io.Writer, v view) error {
	c := newCSV(w)
	c.Write(slices.Concat([]string{"complete", "status", "reason", "model", "backend", "point", "batch", "input_len", "phase", "context_len", "clock"},
		summaryHead("time"), []string{"bytes", "flops", "byte_per_s", "flop_per_s", "roofs", "roof_byte_per_s", "roof_flop_per_s", "limit",
			"one_roof_ns", "additive_ns", "percent_of_one_roof", "percent_of_additive", "sm_clock_mhz", "one_roof_at_clock_ns", "verdict", "verdict_reason", "workload_sha256", "raw_sha256"}))
	for _, r := range v.roofline.Rows {
		reason := ""
		if r.Reason != nil {
			reason = *r.Reason
		}
		start := append([]string{strconv.FormatBool(v.complete), string(r.Status), reason, modelName(v.file.Run), v.file.Run.Backend.Name,
			strconv.Itoa(r.Point), strconv.Itoa(r.Batch), strconv.Itoa(r.InputLen), string(r.Phase), strconv.Itoa(r.ContextLen), r.Clock}, summaryCells(r.Time)...)
		if r.Work != nil {
			start = append(start, strconv.FormatInt(r.Work.Bytes(), 10), strconv.FormatInt(r.Work.FLOPs(), 10))
		} else {
			start = append(start, "", "")
		}
		start = append(start, shortest(r.ByteRate), shortest(r.FLOPRate))
		end := []string{v.file.Run.WorkloadSHA256, v.file.SHA256}
		if len(r.Against) == 0 {
			c.Write(slices.Concat(start, make([]string, 12), end))
		}
		for _, a := range r.Against {
			c.Write(slices.Concat(start, againstCells(v.roofline, r, a), end))
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func againstCells(s *roofline.Sheet, row roofline.Row, a roofline.Against) []string {
	var roof roofline.Roofs
	for _, r := range s.Roofs {
		if r.Kind == a.Kind {
			roof = r
		}
	}
	var atClock *float64
	if a.AtClock != nil {
		atClock = &a.AtClock.OneRoofNS
	}
	return []string{a.Kind, shortest(&roof.Bandwidth), shortest(&roof.Compute), a.Floor.Limit, shortest(&a.Floor.OneRoofNS),
		shortest(&a.Floor.AdditiveNS), shortest(&a.PercentOneRoof), shortest(&a.PercentAdditive),
		shortest(row.ClockMHz), shortest(atClock), a.Verdict, a.Reason}
}

// rooflineOf reads the sheet of a file, the texts of its roofs made plain; a sheet that cannot be read is a warning.
func rooflineOf(f *bench.File) (*roofline.Sheet, string) {
	s, ok, err := roofline.Read(f)
	switch {
	case err != nil:
		return nil, "roofline: " + err.Error()
	case !ok:
		return nil, ""
	}
	for i := range s.Roofs {
		r := &s.Roofs[i]
		r.Kind, r.Device, r.Source = plain(r.Kind), plain(r.Device), plain(r.Source)
	}
	for _, row := range s.Rows {
		for i := range row.Against {
			row.Against[i].Kind = plain(row.Against[i].Kind)
		}
	}
	return &s, ""
}

package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"lathe/bench/serving"
)

// tableRow is one figure of every reading.
type tableRow struct {
	label  string
	value  func(reading) *float64
	digits int // significant ones; 0: a whole number
}

// statRow is a row of the table for one figure of one metric.
func statRow(label string, of func(reading) *serving.ExactStats, value func(*serving.ExactStats) *float64) tableRow {
	return tableRow{label, func(x reading) *float64 {
		if s := of(x); s != nil {
			return value(s)
		}
		return nil
	}, 4}
}

func servingRows() []tableRow {
	whole := func(label string, n func(reading) int64) tableRow {
		return tableRow{label, func(x reading) *float64 {
			v := float64(n(x))
			return &v
		}, 0}
	}
	rows := []tableRow{
		whole("requests ok", func(x reading) int64 { return int64(x.ok) }),
		whole("requests failed", func(x reading) int64 { return int64(x.failed) }),
		whole("input tokens", func(x reading) int64 { return x.input }),
		whole("output tokens", func(x reading) int64 { return x.output }),
		{"output tok/s", func(x reading) *float64 { return x.outputRate }, 5},
		whole("peak concurrent", func(x reading) int64 { return int64(x.concurrent) }),
	}
	mean := func(s *serving.ExactStats) *float64 { return &s.Mean }
	median := func(s *serving.ExactStats) *float64 { return &s.Median }
	p99 := func(s *serving.ExactStats) *float64 {
		for _, q := range s.Percentiles {
			if q.P == 99 {
				return &q.Value
			}
		}
		return nil
	}
	for _, m := range []struct {
		name string
		of   func(reading) *serving.ExactStats
	}{
		{"TTFT", func(x reading) *serving.ExactStats { return x.ttft }}, {"TPOT", func(x reading) *serving.ExactStats { return x.tpot }},
		{"ITL", func(x reading) *serving.ExactStats { return x.itl }}, {"frame gap", func(x reading) *serving.ExactStats { return x.gap }},
		{"E2EL", func(x reading) *serving.ExactStats { return x.e2el }},
	} {
		rows = append(rows, statRow("mean "+m.name+" ms", m.of, mean), statRow("median "+m.name+" ms", m.of, median), statRow("p99 "+m.name+" ms", m.of, p99))
	}
	return append(rows,
		statRow("mean TTFT from schedule ms", func(x reading) *serving.ExactStats { return x.late }, mean),
		statRow("mean E2EL from schedule ms", func(x reading) *serving.ExactStats { return x.lateEnd }, mean))
}

// queueShown is the wait in ms, of the request that waited longest for the
// client's own permits, from which on latencies are told from the schedule too.
const queueShown = 1

// servingCells is the table: the names of the readings, then a row a figure that at
// least one of them has, as people read it.
func servingCells(all []reading) [][]string {
	return servingTable(all, none, func(row tableRow, v *float64) string {
		if row.digits == 0 {
			return shortest(v)
		}
		return sigOr(v, 1, row.digits)
	})
}

// servingTable is servingCells with undefined for what a reading does not define;
// show writes a value that there is.
func servingTable(all []reading, undefined string, show func(row tableRow, v *float64) string) [][]string {
	cells := [][]string{{""}}
	for _, x := range all {
		cells[0] = append(cells[0], x.r.Semantics.String())
	}
	for _, row := range servingRows() {
		line, some := []string{row.label}, false
		for _, x := range all {
			cell := undefined
			if v := row.value(x); v != nil && x.r.Err == "" {
				cell, some = show(row, v), true
			}
			line = append(line, cell)
		}
		if some {
			cells = append(cells, line)
		}
	}
	return cells
}

// ServingMarkdown writes the readings side by side as a Markdown table.
func ServingMarkdown(w io.Writer, results []*serving.Result) error {
	cells := servingCells(readingsOf(results))
	var b strings.Builder
	for i, row := range cells {
		for k := range row {
			row[k] = escape(row[k])
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("---:|", len(row)-1) + "\n")
		}
	}
	return flush(w, &b)
}

// ServingCSV writes a row a figure and a column a reading, unrounded; what a
// reading does not define is an empty field.
func ServingCSV(w io.Writer, results []*serving.Result) error {
	cells := servingTable(readingsOf(results), "", func(_ tableRow, v *float64) string { return shortest(v) })
	cells[0][0] = "figure"
	c := csv.NewWriter(w)
	c.WriteAll(cells) // an error shows at Error
	if err := c.Error(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

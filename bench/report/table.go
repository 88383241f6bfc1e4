package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"lathe/bench"
	"lathe/bench/metric"
)

// column is one column of the table for people.
type column struct {
	title string
	cell  func(metric.Point) string
	fixed bool // shown even where no point has it
}

// msPer is nanoseconds a millisecond, the unit of reports.
const msPer = 1e6

// dims is how many columns name the point.
const dims = 3

func columns() []column {
	whole := func(n func(metric.Point) int) func(metric.Point) string {
		return func(p metric.Point) string { return strconv.Itoa(n(p)) }
	}
	return []column{
		{"batch", whole(func(p metric.Point) int { return p.Batch }), true},
		{"input", whole(func(p metric.Point) int { return p.InputLen }), true},
		{"output", output, true},
		{"call ms", func(p metric.Point) string { return centre(p.Iterations) }, false},
		{"calls", func(p metric.Point) string { return size(p.Iterations) }, false},
		{"prefill ms", func(p metric.Point) string { return centre(p.Prefill) }, true},
		{"n", whole(func(p metric.Point) int { return p.Prefill.N }), true},
		{"step ms", func(p metric.Point) string { return centre(p.Decode) }, true},
		{"steps", whole(func(p metric.Point) int { return p.Decode.N }), true},
		{"p99 ms", func(p metric.Point) string { return sigOr(metric.Percentile(p.Decode, 99), msPer, 4) }, false},
		{"device ms", device, false},
		{"out tok/s", func(p metric.Point) string { return sigOr(p.OutputRate, 1, 4) }, true},
		{"total ms", func(p metric.Point) string { return sigOr(p.TotalNS, msPer, 4) }, false},
		{"memory", memory, false},
	}
}

// output is unknown, 0, in a point that has no line.
func output(p metric.Point) string {
	if p.OutputLen == 0 {
		return none
	}
	return strconv.Itoa(p.OutputLen)
}

// centre is a median and how far its interval reaches, in percent.
func centre(s bench.Summary) string {
	if s.Median == nil {
		return none
	}
	text := sig(*s.Median/msPer, 4)
	if s.Interval == nil || *s.Median <= 0 {
		return text
	}
	reach := max(s.Interval.Hi-*s.Median, *s.Median-s.Interval.Lo) / *s.Median
	return fmt.Sprintf("%s ±%.1f%%", text, 100*reach)
}

// size is how many samples a median is of.
func size(s bench.Summary) string {
	if s.N == 0 {
		return none
	}
	return strconv.Itoa(s.N)
}

// device is the median on the device's clock, with its n where that is not the
// number of steps.
func device(p metric.Point) string {
	text := sigOr(p.Device.Median, msPer, 4)
	if p.Device.N > 0 && p.Device.Failed > 0 {
		text += fmt.Sprintf(" (n=%d)", p.Device.N)
	}
	return text
}

func memory(p metric.Point) string {
	switch m := p.Memory; {
	case m == nil:
		return none
	case m.PeakBytes != nil:
		return bytesText(*m.PeakBytes)
	default:
		return bytesText(m.WeightBytes + m.KVBytes + m.WorkspaceBytes)
	}
}

// table is the points as text cells. A row that has no figures has the
// dimensions and then one cell with its reason.
type table struct {
	titles []string
	rows   [][]string
	marks  []string // "[1]" behind a row
	notes  []string // what the marks mean, each once
	shown  map[string]bool
	left   []string // columns that did not fit
	about  []string // what the columns mean, where it is not about times
}

// figures says whether a point has numbers to show.
func figures(p metric.Point) bool { return p.Status == bench.StatusOK || !p.Finished }

func tabulate(points []metric.Point) table {
	t := table{shown: map[string]bool{}}
	var kept []column
	for _, c := range columns() {
		some := slices.ContainsFunc(points, func(p metric.Point) bool { return figures(p) && c.cell(p) != none })
		if c.fixed || some {
			kept = append(kept, c)
			t.titles = append(t.titles, c.title)
			t.shown[c.title] = true
		}
	}
	for _, p := range points {
		var row []string
		for i, c := range kept {
			if i >= dims && !figures(p) {
				row = append(row, verdict(p))
				break
			}
			row = append(row, c.cell(p))
		}
		t.rows = append(t.rows, row)
		t.marks = append(t.marks, t.mark(p))
	}
	return t
}

// narrow leaves out optional columns, the least telling first, until the table
// fits so many characters. What it left out, legend says.
func (t *table) narrow(to int, optional ...string) {
	for _, title := range optional {
		if t.width() <= to {
			return
		}
		i := slices.Index(t.titles, title)
		if i < 0 {
			continue
		}
		full := len(t.titles)
		t.titles = slices.Delete(t.titles, i, i+1)
		for r, row := range t.rows {
			if len(row) == full {
				t.rows[r] = slices.Delete(row, i, i+1)
			}
		}
		t.shown[title] = false
		t.left = append(t.left, title)
	}
}

// width is that of the longest line, marks included; a reason does not count.
func (t *table) width() int {
	widest, total := t.widths(), 0
	for _, n := range widest {
		total += n + len(gap)
	}
	mark := 0
	for _, m := range t.marks {
		mark = max(mark, len(m))
	}
	return total - len(gap) + 1 + mark
}

// gap stands between two columns.
const gap = "  "

func (t *table) widths() []int {
	width := make([]int, len(t.titles))
	for i, title := range t.titles {
		width[i] = utf8.RuneCountInString(title)
	}
	for _, row := range t.rows {
		if len(row) < len(t.titles) {
			row = row[:dims]
		}
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	return width
}

// verdict says how a point without figures ended.
func verdict(p metric.Point) string {
	reason := "no reason was recorded"
	if p.Reason != nil {
		reason = plain(*p.Reason)
	}
	return fmt.Sprintf("%s: %s", p.Status, reason)
}

// mark numbers a point's notes.
func (t *table) mark(p metric.Point) string {
	notes := p.Notes
	if !p.Finished && p.Reason != nil {
		notes = slices.Concat([]string{*p.Reason}, notes)
	}
	return t.number(notes)
}

// number gives notes their numbers, each text once.
func (t *table) number(notes []string) string {
	var numbers []int
	for _, n := range notes {
		n = plain(n)
		i := slices.Index(t.notes, n)
		if i < 0 {
			i = len(t.notes)
			t.notes = append(t.notes, n)
		}
		numbers = append(numbers, i+1)
	}
	if len(numbers) == 0 {
		return ""
	}
	slices.Sort(numbers)
	return strings.ReplaceAll(fmt.Sprint(numbers), " ", ",")
}

// legend says what the columns mean.
func (t *table) legend() []string {
	if t.about != nil {
		return t.about
	}
	l := []string{"Medians, each of as many samples as the column behind it says; ±: how far the 95 % interval of this " +
		"run's median reaches (order statistics; fewer than six samples have none). It says nothing about the next run."}
	if t.shown["total ms"] {
		l = append(l, "total: the median prefill and the decode steps of the last pass, without the gaps between them.")
	}
	if t.shown["p99 ms"] {
		l = append(l, "p99: of the steps, where there are 100 or more.")
	}
	if t.shown["memory"] {
		l = append(l, "memory: the most that the whole process held during the point, or weights, KV and workspace where that is unknown.")
	}
	if len(t.left) > 0 {
		l = append(l, "Left out for width: "+strings.Join(t.left, ", ")+"; the other formats have everything.")
	}
	return l
}

package report

import (
	"fmt"
	"strconv"
	"strings"

	"lathe/bench/compare"
)

// behind is what was measured beside the verdict: lines on the fused default, and a table of operators
// a point.
func (c comparison) behind() (lines []string, tables []operatorPair) {
	for _, p := range c.result.Points {
		if line := fusedLine(p); line != "" {
			lines = append(lines, line)
		}
		if len(p.Operators) > 0 {
			tables = append(tables, operatorPairOf(p))
		}
	}
	return lines, tables
}

// fusedLine says how far the fused default is from both variants.
func fusedLine(p compare.PointResult) string {
	if p.Fused == nil {
		return ""
	}
	f := p.Fused
	at := fmt.Sprintf("fused default at %s, batch %d, context %d", p.Phase, p.Batch, p.ContextLen)
	if f.A == nil {
		return at + ": too few epochs for an estimate"
	}
	text := fmt.Sprintf("%s: %s ms; against it A, our operator by itself, takes %+.2f %% [%+.2f, %+.2f]", at, sigOr(f.FusedMedian, msPer, 4),
		f.A.ChangePercent, f.A.IntervalPercent[0], f.A.IntervalPercent[1])
	if f.B != nil {
		text += fmt.Sprintf(", B %+.2f %% [%+.2f, %+.2f] (both changes chained)", f.B.ChangePercent, f.B.IntervalPercent[0], f.B.IntervalPercent[1])
	}
	return text + fmt.Sprintf("; %d epochs, %d blocks, %d steps of their own", f.Epochs, f.Blocks, f.Steps)
}

// operatorPair is the instrumented pass of one point.
type operatorPair struct {
	title string
	rows  [][]string
}

func operatorTitles() []string {
	return []string{"operator", "A µs", "B µs", "change %", "of A %", "of B %"}
}

func operatorPairOf(p compare.PointResult) operatorPair {
	t := operatorPair{title: fmt.Sprintf("operators at %s, batch %d, context %d, in %d instrumented steps a side (medians over all layers; no part of the verdict)",
		p.Phase, p.Batch, p.ContextLen, p.Operators[0].Steps)}
	share := func(x *float64) string {
		if x == nil {
			return none
		}
		return strconv.FormatFloat(100**x, 'f', 1, 64)
	}
	for _, o := range p.Operators {
		t.rows = append(t.rows, []string{plain(o.Op), sigOr(o.AMedianNS, 1e3, 4), sigOr(o.BMedianNS, 1e3, 4), changeCell(o.ChangePercent, nil), share(o.AShare), share(o.BShare)})
	}
	return t
}

// behindText writes both for people.
func (c comparison) behindText(b *strings.Builder) {
	lines, tables := c.behind()
	for _, line := range lines {
		wrap(b, "", line)
	}
	for _, t := range tables {
		b.WriteString("\n")
		wrap(b, "", t.title)
		operators := table{titles: operatorTitles(), rows: t.rows, marks: make([]string, len(t.rows))}
		operators.text(b)
	}
}

// behindMarkdown writes both for an issue.
func (c comparison) behindMarkdown(b *strings.Builder) {
	lines, tables := c.behind()
	for _, line := range lines {
		fmt.Fprintf(b, "%s\n\n", escape(line))
	}
	for _, t := range tables {
		fmt.Fprintf(b, "%s\n\n", escape(t.title))
		operators := table{titles: operatorTitles(), rows: t.rows, marks: make([]string, len(t.rows))}
		operators.markdownRows(b)
	}
}

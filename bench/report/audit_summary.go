package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"lathe/bench/audit"
)

// auditLegend explains what the figures and the ids of rows are.
const auditLegend = "TTFT: from the send to the first token. ITL: a gap between tokens, or between frames that may hold several (which, says row C3). " +
	"E2EL: from the send to the end of the answer. TPOT: (E2EL - TTFT) / (output tokens - 1), by request. Each is the mean. " +
	"A frame is one message of the stream; choices is its member with what was generated. " +
	"Rows: A how requests are sent, B connections, C clocks, D tokens, E totals, F files, G before and around the run, W work and machine."

// movesAll are the ids of the rows that move every figure.
func movesAll(c *audit.Comparison) map[string]bool {
	all := map[string]bool{}
	for _, f := range c.Rows {
		for _, m := range f.Moves {
			if m.Figure == audit.Everything {
				all[f.ID] = true
			}
		}
	}
	return all
}

// auditLineOf is a figure in words: its name, both values, and what moves it.
func auditLineOf(l audit.Line, everything map[string]bool) [4]string {
	name := string(l.Figure)
	if l.Unit == "ms" {
		name += " (ms)"
	} else if l.Unit == "s" {
		name += " (s)"
	}
	value := func(x *float64) string {
		if x == nil {
			return "-"
		}
		if math.Abs(*x) >= 1e4 || *x == math.Trunc(*x) {
			return fmt.Sprintf("%.0f", *x)
		}
		return fmt.Sprintf("%.5g", *x)
	}
	var moved []string
	for _, m := range l.By {
		if len(l.By) > 1 && !slices.ContainsFunc(m.Rows, func(id string) bool { return !everything[id] }) {
			continue // said on top
		}
		moved = append(moved, m.Direction+" by "+strings.Join(m.Rows, " "))
	}
	says := "no row moves it"
	if len(moved) > 0 {
		says = strings.Join(moved, "; ")
	}
	return [4]string{name, value(l.A), value(l.B), says}
}

func auditSummaryText(b *strings.Builder, c *audit.Comparison) {
	lines := c.Summary()
	if len(lines) == 0 {
		return
	}
	b.WriteString("\n")
	head := fmt.Sprintf("  %-28s %10s %10s  ", "figure", "A", "B")
	wrap(b, head, "what the rows below make of it")
	for _, l := range lines {
		row := auditLineOf(l, movesAll(c))
		wrap(b, fmt.Sprintf("  %-28s %10s %10s  ", row[0], row[1], row[2]), row[3])
	}
}

func auditSummaryMarkdown(b *strings.Builder, c *audit.Comparison) {
	lines := c.Summary()
	if len(lines) == 0 {
		return
	}
	b.WriteString("| figure | A | B | what the rows below make of it |\n|---|---:|---:|---|\n")
	for _, l := range lines {
		row := auditLineOf(l, movesAll(c))
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escape(row[0]), row[1], row[2], escape(row[3]))
	}
	b.WriteString("\n")
}

// byWeight puts rows that move every figure first, then those that move most.
func byWeight(rows []audit.Finding) []audit.Finding {
	weight := func(f audit.Finding) int {
		for _, m := range f.Moves {
			if m.Figure == audit.Everything {
				return 1 << 10
			}
		}
		return len(f.Moves)
	}
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(x, y audit.Finding) int { return cmp.Compare(weight(y), weight(x)) })
	return sorted
}

// splitRemarks parts the rows that differ on rare streams from those that are
// not told.
func splitRemarks(all []audit.Remark) (rare, open []audit.Remark) {
	for _, r := range all {
		if r.Rare {
			rare = append(rare, r)
		} else {
			open = append(open, r)
		}
	}
	return rare, open
}

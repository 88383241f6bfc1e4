package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"lathe/bench/audit"
)

// AuditFormats are the forms that AuditPair and AuditFile know.
func AuditFormats() []string { return []string{"text", "json", "markdown"} }

// AuditPair writes why two result files do or do not compare.
func AuditPair(w io.Writer, c *audit.Comparison, format string) error {
	switch format {
	case "text":
		return auditPairText(w, c)
	case "json":
		return auditPairJSON(w, c)
	case "markdown":
		return auditPairMarkdown(w, c)
	}
	return fmt.Errorf("write audit: format %q: want one of %s", format, strings.Join(AuditFormats(), ", "))
}

// auditVerdict is the first line.
func auditVerdict(c *audit.Comparison) string {
	moving := 0
	for _, f := range c.Rows {
		if f.Effect == audit.Moves {
			moving++
		}
	}
	switch {
	case moving == 1:
		return "NOT COMPARABLE: 1 row keeps them apart" + everyFigure(c)
	case moving > 1:
		return fmt.Sprintf("NOT COMPARABLE: %d rows keep them apart", moving) + everyFigure(c)
	}
	return "comparable, as far as the files tell"
}

// everyFigure names the rows after which nothing compares.
func everyFigure(c *audit.Comparison) string {
	ids := slices.Sorted(maps.Keys(movesAll(c)))
	if len(ids) == 0 {
		return ""
	}
	return ", and " + strings.Join(ids, " ") + " moves every figure"
}

// identity is a file in one line.
func identity(f *audit.File) string {
	s := plain(f.Name) + ": " + f.Form
	if f.Entries > 1 {
		s += fmt.Sprintf(" (%d of %d)", f.Entry, f.Entries)
	}
	for _, x := range audit.Facts(f) {
		if x.Told && (x.Name == "release" || x.Name == "backend") {
			s += ", " + x.Value
		}
	}
	return s
}

func auditPairText(w io.Writer, c *audit.Comparison) error {
	var b strings.Builder
	wrap(&b, "A  ", identity(c.A))
	wrap(&b, "B  ", identity(c.B))
	b.WriteString("\n")
	wrap(&b, "", auditVerdict(c))
	if c.Reading != "" {
		wrap(&b, "", readingNote(c))
	}
	auditSummaryText(&b, c)
	auditRowsText(&b, c, audit.Moves)
	if hasEffect(c, audit.OneSided) {
		b.WriteString("\nin one of them only\n")
		for _, f := range c.Rows {
			if f.Effect == audit.OneSided {
				wrap(&b, fmt.Sprintf("  %-4s ", f.ID), f.Topic+": "+auditMoves(f.Moves))
			}
		}
	}
	rare, open := splitRemarks(c.NotTold)
	remarks(&b, "would differ only on streams of a kind that the files do not tell", rare)
	remarks(&b, "not told by the files", open)
	remarks(&b, "ruled out by the files", c.RuledOut)
	b.WriteString("\n")
	for _, line := range auditClosing(c) {
		wrap(&b, "", line)
	}
	for _, line := range auditWarnings(c) {
		wrap(&b, "warning: ", line)
	}
	return flush(w, &b)
}

func hasEffect(c *audit.Comparison, e audit.Effect) bool {
	for _, f := range c.Rows {
		if f.Effect == e {
			return true
		}
	}
	return false
}

func readingNote(c *audit.Comparison) string {
	return "A capture holds what was on the wire: it is taken as read by " + c.Reading + ", which leaves how it was loaded and sent."
}

func auditRowsText(b *strings.Builder, c *audit.Comparison, effect audit.Effect) {
	for _, f := range byWeight(c.Rows) {
		if f.Effect != effect {
			continue
		}
		b.WriteString("\n")
		wrap(b, fmt.Sprintf("%-4s ", f.ID), f.Topic)
		if f.B == "" {
			wrap(b, "       ", plain(f.A))
		} else {
			wrap(b, "     A  ", plain(f.A))
			wrap(b, "     B  ", plain(f.B))
		}
		wrap(b, "     moves ", auditMoves(f.Moves))
		if f.Evidence != "" {
			wrap(b, "     shown: ", plain(f.Evidence))
		}
		if f.Keeps != "" {
			wrap(b, "     still compares: ", f.Keeps)
		}
	}
}

// auditMoves lists figures by direction.
func auditMoves(moves []audit.Move) string {
	var order []string
	by := map[string][]string{}
	for _, m := range moves {
		if by[m.Direction] == nil {
			order = append(order, m.Direction)
		}
		by[m.Direction] = append(by[m.Direction], string(m.Figure))
	}
	var parts []string
	for _, d := range order {
		parts = append(parts, strings.Join(by[d], ", ")+" "+d)
	}
	return strings.Join(parts, "; ")
}

func remarks(b *strings.Builder, title string, all []audit.Remark) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n" + title + "\n")
	for _, r := range all {
		wrap(b, fmt.Sprintf("  %-4s ", r.ID), r.Topic+": "+plain(r.Why))
	}
}

// auditClosing says what is left to compare.
func auditClosing(c *audit.Comparison) []string {
	var lines []string
	var names []string
	for _, f := range c.Unmoved {
		names = append(names, string(f))
	}
	switch {
	case c.A.Kind != audit.Serving || c.B.Kind != audit.Serving:
	case c.Comparable:
		lines = append(lines, "No row is known to move a figure. What the files do not tell is yours to know.")
	case len(names) == 0:
		lines = append(lines, "No figure that both files hold is left unmoved.")
	default:
		lines = append(lines, "No row moves: "+strings.Join(names, ", ")+".")
	}
	if !c.Comparable && c.A.Kind == audit.Serving && c.B.Kind == audit.Serving {
		lines = append(lines, "One capture can be read by both harnesses' rules: lathe report CAPTURE --semantics vllm:openai,sglang:sglang-oai,exact.")
	}
	if len(c.Summary()) > 0 {
		lines = append(lines, auditLegend)
	}
	for _, h := range c.Uncovered {
		lines = append(lines, fmt.Sprintf("The tables are about vLLM's and SGLang's clients: most of their rows are not told of %s, and are left out.", h))
	}
	return lines
}

func auditWarnings(c *audit.Comparison) []string {
	var lines []string
	for _, side := range []struct {
		name string
		f    *audit.File
	}{{"A", c.A}, {"B", c.B}} {
		for _, text := range side.f.Warnings {
			lines = append(lines, side.name+": "+plain(text))
		}
	}
	return lines
}

func auditPairMarkdown(w io.Writer, c *audit.Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n- A: %s\n- B: %s\n\n", escape(auditVerdict(c)), escape(identity(c.A)), escape(identity(c.B)))
	if c.Reading != "" {
		fmt.Fprintf(&b, "%s\n\n", escape(readingNote(c)))
	}
	auditSummaryMarkdown(&b, c)
	if len(c.Rows) > 0 {
		b.WriteString("| row | topic | A | B | moves | still compares |\n|---|---|---|---|---|---|\n")
		for _, f := range byWeight(c.Rows) {
			moves := auditMoves(f.Moves)
			if f.Evidence != "" {
				moves += " (" + f.Evidence + ")"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.ID, escape(f.Topic), escape(f.A), escape(f.B), escape(moves), escape(f.Keeps))
		}
		b.WriteString("\n")
	}
	rare, open := splitRemarks(c.NotTold)
	for _, list := range []struct {
		title string
		all   []audit.Remark
	}{{"would differ only on streams of a kind that the files do not tell", rare}, {"not told by the files", open}, {"ruled out by the files", c.RuledOut}} {
		if len(list.all) == 0 {
			continue
		}
		fmt.Fprintf(&b, "**%s**\n\n", list.title)
		for _, r := range list.all {
			fmt.Fprintf(&b, "- %s %s: %s\n", r.ID, escape(r.Topic), escape(r.Why))
		}
		b.WriteString("\n")
	}
	for _, line := range append(auditClosing(c), auditWarnings(c)...) {
		fmt.Fprintf(&b, "%s\n\n", escape(line))
	}
	return flush(w, &b)
}

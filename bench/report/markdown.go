package report

import (
	"fmt"
	"io"
	"strings"

	"lathe/bench"
)

// Markdown writes the table for an issue or a job summary.
func Markdown(w io.Writer, f *bench.File) error {
	v := look(f)
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", escape(join(" ", v.title)))
	if !v.complete {
		fmt.Fprintf(&b, "**INCOMPLETE:** %s\n\n", escape(v.state))
	}
	for _, warning := range v.warnings {
		fmt.Fprintf(&b, "**warning:** %s\n\n", escape(warning))
	}
	if len(v.points) == 0 {
		b.WriteString("No point was measured.\n\n")
	} else {
		t := v.table()
		t.markdown(&b)
	}
	if v.roofline != nil && len(v.points) > 0 {
		roofMarkdown(&b, *v.roofline)
	}
	for _, fact := range v.facts {
		fmt.Fprintf(&b, "- %s: %s\n", fact.name, escape(fact.value))
	}
	return flush(w, &b)
}

func (t *table) markdown(b *strings.Builder) {
	t.markdownRows(b)
	for i, note := range t.notes {
		fmt.Fprintf(b, "%s %s\n\n", escape(fmt.Sprintf("[%d]", i+1)), escape(note))
	}
	for _, line := range t.legend() {
		fmt.Fprintf(b, "%s\n", line)
	}
	b.WriteString("\n")
}

// markdownRows writes the titles and the rows.
func (t *table) markdownRows(b *strings.Builder) {
	titles := make([]string, len(t.titles))
	for i, title := range t.titles {
		titles[i] = escape(title)
	}
	fmt.Fprintf(b, "| %s | |\n|%s---|\n", strings.Join(titles, " | "), strings.Repeat("---:|", len(t.titles)))
	for i, row := range t.rows {
		cells := make([]string, len(t.titles))
		for c := range row {
			cells[c] = escape(row[c])
		}
		fmt.Fprintf(b, "| %s | %s |\n", strings.Join(cells, " | "), escape(t.marks[i]))
	}
	b.WriteString("\n")
}

// MarkdownLine is text that may come from anybody, on one line and without markup.
func MarkdownLine(s string) string { return escape(s) }

// escape keeps text from becoming markup or leaving its cell.
func escape(s string) string {
	s = plain(s)
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_[]<>|#", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

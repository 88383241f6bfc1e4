package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"lathe/bench"
)

// textWidth is how wide text is, in characters; a long word may exceed it.
const textWidth = 100

// Text writes the table for people.
func Text(w io.Writer, f *bench.File) error {
	v := look(f)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", join(" ", v.title))
	if !v.complete {
		wrap(&b, "INCOMPLETE: ", v.state)
	}
	b.WriteString("\n")
	for _, fact := range v.facts {
		wrap(&b, fmt.Sprintf("  %-9s ", fact.name), fact.value)
	}
	for _, warning := range v.warnings {
		wrap(&b, "  warning:  ", plain(warning))
	}
	b.WriteString("\n")
	if len(v.points) == 0 {
		b.WriteString("No point was measured.\n")
		return flush(w, &b)
	}
	t := v.table()
	t.narrow(textWidth, "total ms", "memory", "p99 ms")
	t.text(&b)
	b.WriteString("\n")
	for i, note := range t.notes {
		wrap(&b, fmt.Sprintf("[%d] ", i+1), note)
	}
	for _, line := range t.legend() {
		wrap(&b, "", line)
	}
	if v.roofline != nil {
		roofText(&b, *v.roofline)
	}
	return flush(w, &b)
}

func flush(w io.Writer, b *strings.Builder) error {
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// text aligns the columns to the right; a reason runs on to the left-hand end.
func (t *table) text(b *strings.Builder) {
	width := t.widths()
	line := func(cells []string, mark string) {
		var l strings.Builder
		for i, cell := range cells {
			if i > 0 {
				l.WriteString(gap)
			}
			if len(cells) == len(t.titles) || i < dims {
				l.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)))
			}
			l.WriteString(cell)
		}
		if mark != "" {
			l.WriteString(" " + mark)
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	line(t.titles, "")
	for i, row := range t.rows {
		line(row, t.marks[i])
	}
}

// wrap writes words, of a file too, behind a prefix, breaking before textWidth; the following
// lines are indented by the prefix's width.
func wrap(b *strings.Builder, prefix, words string) {
	indent := utf8.RuneCountInString(prefix)
	b.WriteString(prefix)
	at := indent
	for i, word := range strings.Fields(printable(words)) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > textWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteString("\n")
}

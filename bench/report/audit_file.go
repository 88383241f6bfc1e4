package report

import (
	"fmt"
	"io"
	"strings"

	"lathe/bench/audit"
)

// AuditFile writes the three checks of one result file.
func AuditFile(w io.Writer, r *audit.Report, format string) error {
	switch format {
	case "text":
		return auditFileText(w, r)
	case "json":
		return auditFileJSON(w, r)
	case "markdown":
		return auditFileMarkdown(w, r)
	}
	return fmt.Errorf("write audit: format %q: want one of %s", format, strings.Join(AuditFormats(), ", "))
}

func auditFileText(w io.Writer, r *audit.Report) error {
	var b strings.Builder
	wrap(&b, "", identity(r.File))
	b.WriteString("\n")
	wrap(&b, "checks: ", auditMarks(r))
	b.WriteString("\n")
	width := 0
	for _, x := range r.Facts {
		width = max(width, len(x.Name))
	}
	for _, x := range r.Facts {
		wrap(&b, fmt.Sprintf("  %-*s  ", width, x.Name), plain(x.Value))
	}
	for _, o := range r.Outcomes {
		b.WriteString("\n")
		wrap(&b, fmt.Sprintf("(%d) ", o.Check), auditTitle(o))
		wrap(&b, "    ", plain(strings.Join(o.Words, " ")))
	}
	if len(r.File.Warnings) > 0 {
		b.WriteString("\n")
	}
	for _, text := range r.File.Warnings {
		wrap(&b, "warning: ", plain(text))
	}
	return flush(w, &b)
}

func auditTitle(o audit.Outcome) string {
	title := o.Title
	if o.Reading != "" {
		title += ", " + o.Reading
	}
	return fmt.Sprintf("%s: %s (n = %d)", title, auditMark(o), o.N)
}

func auditMark(o audit.Outcome) string {
	switch {
	case o.NotMade && o.Doubt:
		return "DOUBT, not made"
	case o.NotMade:
		return "not made"
	case o.Doubt:
		return "DOUBT"
	}
	return "ok"
}

// auditMarks is what came of the checks in one line: a mark each, and by whom it
// is read where the readings of a capture differ.
func auditMarks(r *audit.Report) string {
	var parts []string
	for check := 1; check <= 3; check++ {
		var marks []string
		by := map[string][]string{}
		for _, o := range r.Outcomes {
			if o.Check != check {
				continue
			}
			mark := auditMark(o)
			if by[mark] == nil {
				marks = append(marks, mark)
			}
			by[mark] = append(by[mark], o.Reading)
		}
		for i, mark := range marks {
			if len(marks) > 1 {
				marks[i] += " by " + strings.Join(by[mark], " and ")
			}
		}
		if len(marks) > 0 {
			parts = append(parts, fmt.Sprintf("(%d) %s", check, strings.Join(marks, ", ")))
		}
	}
	if len(parts) == 0 {
		return "none made"
	}
	return strings.Join(parts, "; ")
}

func auditFileMarkdown(w io.Writer, r *audit.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s\n\n| | |\n|---|---|\n", escape(identity(r.File)), escape("checks: "+auditMarks(r)))
	for _, x := range r.Facts {
		fmt.Fprintf(&b, "| %s | %s |\n", escape(x.Name), escape(x.Value))
	}
	b.WriteString("\n")
	for _, o := range r.Outcomes {
		fmt.Fprintf(&b, "**(%d) %s**\n\n%s\n\n", o.Check, escape(auditTitle(o)), escape(strings.Join(o.Words, " ")))
	}
	for _, text := range r.File.Warnings {
		fmt.Fprintf(&b, "**warning:** %s\n\n", escape(text))
	}
	return flush(w, &b)
}

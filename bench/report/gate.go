package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"lathe/bench/gate"
)

// Gate writes the outcome of golden bounds in text, json or markdown.
func Gate(w io.Writer, r gate.Report, format string) error {
	switch format {
	case "text":
		return gateText(w, r)
	case "json":
		return indented(w, r)
	case "markdown":
		if _, err := io.WriteString(w, r.Markdown()); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		return nil
	}
	return fmt.Errorf("write report: format %q: want text, json or markdown", format)
}

func indented(w io.Writer, v any) error {
	e := json.NewEncoder(jsonText{w})
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func gateText(w io.Writer, r gate.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "gate: %s\n", r.Outcome)
	for _, reason := range r.Reasons {
		wrap(&b, "  - ", plain(reason))
	}
	for _, warning := range r.Warnings {
		wrap(&b, "  warning:  ", plain(warning))
	}
	if len(r.Cases) == 0 {
		return flush(w, &b)
	}
	b.WriteString("\n")
	t := table{titles: []string{"phase", "batch", "context", "output", "median ms", "golden ms", "limit ms", "change %", "n", "outcome"}, shown: map[string]bool{}}
	for _, c := range r.Cases {
		row := []string{string(c.Key.Phase), strconv.Itoa(c.Key.Batch), strconv.Itoa(c.Key.ContextLen), none, none, none, none, none,
			strconv.Itoa(len(c.ValuesNS)), string(c.Outcome)}
		if c.Key.OutputLen != nil {
			row[3] = strconv.Itoa(*c.Key.OutputLen)
		}
		if c.Bound != nil {
			row[5], row[6] = sig(c.Bound.MedianNS/msPer, 4), sig(c.Bound.UpperNS/msPer, 4)
		}
		if c.ChangePercent != nil {
			row[4] = sig((1+*c.ChangePercent/100)*c.Bound.MedianNS/msPer, 4)
			row[7] = fmt.Sprintf("%+.2f", *c.ChangePercent)
		}
		t.rows = append(t.rows, row)
		notes := c.Notes
		if c.Outcome != gate.Pass {
			notes = append([]string{c.Reason}, notes...)
		}
		t.marks = append(t.marks, t.number(notes))
	}
	t.text(&b)
	b.WriteString("\n")
	for i, note := range t.notes {
		wrap(&b, fmt.Sprintf("[%d] ", i+1), note)
	}
	return flush(w, &b)
}

// Trends writes how keys moved over recordings, in text or json.
func Trends(w io.Writer, trends []gate.Trend, format string) error {
	switch format {
	case "json":
		return indented(w, struct {
			Trends []gate.Trend `json:"trends"`
		}{trends})
	case "text":
	default:
		return fmt.Errorf("write report: format %q: want text or json", format)
	}
	var b strings.Builder
	t := table{titles: []string{"phase", "batch", "context", "runs", "first ms", "last ms", "% a run", "% in all", "p"}, shown: map[string]bool{}}
	for _, x := range trends {
		first, last := none, none
		if n := len(x.ValuesNS); n > 0 {
			first, last = sig(x.ValuesNS[0]/msPer, 4), sig(x.ValuesNS[n-1]/msPer, 4)
		}
		t.rows = append(t.rows, []string{string(x.Key.Phase), strconv.Itoa(x.Key.Batch), strconv.Itoa(x.Key.ContextLen), strconv.Itoa(len(x.ValuesNS)),
			first, last, fmt.Sprintf("%+.2f", x.PercentPerRun), fmt.Sprintf("%+.2f", x.TotalPercent), strconv.FormatFloat(x.P, 'g', 2, 64)})
		var notes []string
		if x.Warning != "" {
			notes = []string{x.Warning}
		}
		t.marks = append(t.marks, t.number(notes))
	}
	if len(t.rows) == 0 {
		b.WriteString("No key was measured.\n")
		return flush(w, &b)
	}
	t.text(&b)
	b.WriteString("\n")
	for i, note := range t.notes {
		wrap(&b, fmt.Sprintf("[%d] ", i+1), note)
	}
	wrap(&b, "", "Theil-Sen slope of the logarithm over the recordings in the order of their start; p of no trend by Mann and Kendall.")
	return flush(w, &b)
}

package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// text writes the verdict first, then what carries it, then the points.
func (c comparison) text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", join(" ", c.title))
	if c.state != "" {
		wrap(&b, "INCOMPLETE: ", c.state)
	}
	b.WriteString("\n")
	for _, fact := range c.facts {
		wrap(&b, fmt.Sprintf("  %-9s ", fact.name), fact.value)
	}
	for _, warning := range c.warnings {
		wrap(&b, "  warning:  ", plain(warning))
	}
	fmt.Fprintf(&b, "\nverdict: %s\n", c.headline())
	for _, reason := range c.result.Reasons {
		wrap(&b, "  - ", plain(reason))
	}
	b.WriteString("\n")
	if len(c.result.Points) == 0 {
		b.WriteString("No point was compared.\n")
		return flush(w, &b)
	}
	t := c.table()
	t.text(&b)
	b.WriteString("\n")
	for i, note := range t.notes {
		wrap(&b, fmt.Sprintf("[%d] ", i+1), note)
	}
	for _, line := range c.legend() {
		wrap(&b, "", line)
	}
	c.behindText(&b)
	return flush(w, &b)
}

// markdown writes the same for an issue or a job summary.
func (c comparison) markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", escape(join(" ", c.title)))
	if c.state != "" {
		fmt.Fprintf(&b, "**INCOMPLETE:** %s\n\n", escape(c.state))
	}
	fmt.Fprintf(&b, "**verdict: %s**\n\n", escape(c.headline()))
	for _, reason := range c.result.Reasons {
		fmt.Fprintf(&b, "- %s\n", escape(reason))
	}
	for _, warning := range c.warnings {
		fmt.Fprintf(&b, "- **warning:** %s\n", escape(warning))
	}
	b.WriteString("\n")
	if len(c.result.Points) > 0 {
		t := c.table()
		t.markdownRows(&b)
		for i, note := range t.notes {
			fmt.Fprintf(&b, "%s %s\n\n", escape(fmt.Sprintf("[%d]", i+1)), escape(note))
		}
		for _, line := range c.legend() {
			fmt.Fprintf(&b, "%s\n", line)
		}
		b.WriteString("\n")
		c.behindMarkdown(&b)
	}
	for _, fact := range c.facts {
		if fact.name == "" {
			fmt.Fprintf(&b, "  %s\n", escape(fact.value))
			continue
		}
		fmt.Fprintf(&b, "- %s: %s\n", fact.name, escape(fact.value))
	}
	return flush(w, &b)
}

// csv writes a row for the whole and a row a point; times are nanoseconds, changes percent, unrounded.
func (c comparison) csv(w io.Writer) error {
	out := newCSV(w)
	out.Write([]string{"scope", "phase", "batch", "context_len", "verdict", "change_percent", "lo_percent", "hi_percent", "threshold_percent",
		"threshold_from", "detectable_percent", "a_median_ns", "b_median_ns", "floor_ns", "epochs", "blocks", "steps", "clock",
		"spread_percent", "aa_floor_percent", "p_value", "reasons", "complete", "raw_sha256"})
	r, sum, complete := c.result, "", strconv.FormatBool(c.result.Complete)
	if c.file != nil {
		sum = c.file.SHA256
	}
	lo, hi := bounds(r.IntervalPercent)
	out.Write([]string{"all", "", "", "", string(r.Verdict), shortest(r.ChangePercent), lo, hi, shortest(r.ThresholdPercent), "", "", "", "", "",
		strconv.Itoa(r.Epochs), strconv.Itoa(r.Blocks), strconv.Itoa(r.Steps), "", "", "", "", strings.Join(r.Reasons, "; "), complete, sum})
	for _, p := range r.Points {
		lo, hi := bounds(p.IntervalPercent)
		out.Write([]string{"point", string(p.Phase), strconv.Itoa(p.Batch), strconv.Itoa(p.ContextLen), string(p.Verdict), shortest(p.ChangePercent),
			lo, hi, shortest(p.ThresholdPercent), p.ThresholdFrom, shortest(p.DetectablePercent), shortest(p.AMedianNS), shortest(p.BMedianNS),
			shortest(p.FloorNS), strconv.Itoa(p.Epochs), strconv.Itoa(p.Blocks), strconv.Itoa(p.Steps), p.Clock, shortest(p.SpreadPercent),
			shortest(p.AAFloorPercent), shortest(p.PValue), strings.Join(p.Reasons, "; "), complete, sum})
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func bounds(interval *[2]float64) (lo, hi string) {
	if interval == nil {
		return "", ""
	}
	return shortest(&interval[0]), shortest(&interval[1])
}

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"lathe/bench"
	"lathe/bench/kernel"
)

// kernelFormats are the forms of a file of operator samples.
func kernelFormats() []string { return []string{"text", "json", "csv", "markdown"} }

// Kernel writes what a file of operator samples says. Every figure follows from the samples.
func Kernel(w io.Writer, f *bench.File, format string) error {
	s, err := kernel.Summarise(f)
	if err != nil {
		return err
	}
	v := look(f)
	switch format {
	case "text":
		return kernelText(w, v, s)
	case "json":
		return kernelJSON(w, v, s)
	case "csv":
		return kernelCSV(w, v, s)
	case "markdown":
		return kernelMarkdown(w, v, s)
	}
	return fmt.Errorf("write report: format %q: a file of operator samples has one of %s", format, strings.Join(kernelFormats(), ", "))
}

// kernelTable has a row a figure; the proof's footprint has one of its own.
func kernelTable(s kernel.Summary) table {
	t := table{titles: []string{"cache", "kernel", "copies", "us a call", "n", "GB/s"}, shown: map[string]bool{}}
	for _, f := range s.Figures {
		t.rows = append(t.rows, []string{plain(f.Mode), plain(f.Variant), strconv.Itoa(copiesOf(s, f)), microseconds(f), strconv.Itoa(f.N), sig(f.GBps, 3)})
		t.marks = append(t.marks, "")
	}
	return t
}

// microseconds is a median and how far its interval reaches, in percent.
func microseconds(f kernel.Figure) string {
	text := sig(f.MedianNS/1e3, 4)
	if f.LoNS != nil && f.HiNS != nil && f.MedianNS > 0 {
		text += fmt.Sprintf(" ±%s%%", sig(100*max(f.MedianNS-*f.LoNS, *f.HiNS-f.MedianNS)/f.MedianNS, 2))
	}
	return text
}

func copiesOf(s kernel.Summary, f kernel.Figure) int {
	for _, m := range s.Modes {
		if m.Mode == f.Mode {
			return m.Schedule.Copies * f.Footprint
		}
	}
	return 0
}

// kernelRemarks are what stands under the table: the plan of each mode, the proofs, the notes.
func kernelRemarks(s kernel.Summary) []string {
	var out []string
	for _, m := range s.Modes {
		p := m.Schedule.Pilot
		line := fmt.Sprintf("%s: %d copies, %d calls a sample, %s a call; before it began a call took %s us and what stands around it %s us",
			plain(m.Mode), m.Schedule.Copies, m.Schedule.Batch, bytesText(m.Call.Bytes), sig(float64(p.Call.Nanoseconds())/1e3, 3),
			sig(float64(p.Around.Nanoseconds())/1e3, 3))
		if m.Schedule.Cut {
			line += "; cut short by the time limit"
		}
		out = append(out, line)
	}
	for _, p := range s.Proofs {
		state := "cold"
		if !p.Cold {
			state = "NOT PROVEN COLD"
		}
		out = append(out, fmt.Sprintf("%s, %s: %s: %s (ratio %s)", plain(p.Mode), plain(p.Variant), state, plain(p.Why), sig(p.Ratio, 4)))
	}
	for _, n := range s.Notes {
		out = append(out, plain(n))
	}
	return out
}

func kernelText(w io.Writer, v view, s kernel.Summary) error {
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
	t := kernelTable(s)
	t.text(&b)
	b.WriteString("\n")
	for _, line := range kernelRemarks(s) {
		wrap(&b, "", line)
	}
	return flush(w, &b)
}

func kernelMarkdown(w io.Writer, v view, s kernel.Summary) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", escape(join(" ", v.title)))
	if !v.complete {
		fmt.Fprintf(&b, "**INCOMPLETE:** %s\n\n", escape(v.state))
	}
	for _, warning := range v.warnings {
		fmt.Fprintf(&b, "**warning:** %s\n\n", escape(warning))
	}
	t := kernelTable(s)
	t.markdownRows(&b)
	for _, line := range kernelRemarks(s) {
		fmt.Fprintf(&b, "- %s\n", escape(line))
	}
	for _, fact := range v.facts {
		fmt.Fprintf(&b, "- %s: %s\n", fact.name, escape(fact.value))
	}
	return flush(w, &b)
}

func kernelCSV(w io.Writer, v view, s kernel.Summary) error {
	c := newCSV(w)
	c.Write([]string{"complete", "cache", "kernel", "footprint", "copies", "n", "median_ns", "lo_ns", "hi_ns", "bytes", "gb_per_s", "raw_sha256"})
	for _, f := range s.Figures {
		c.Write([]string{strconv.FormatBool(v.complete), f.Mode, f.Variant, strconv.Itoa(f.Footprint), strconv.Itoa(copiesOf(s, f)), strconv.Itoa(f.N),
			shortest(&f.MedianNS), shortest(f.LoNS), shortest(f.HiNS), strconv.FormatUint(f.Bytes, 10), shortest(&f.GBps), v.file.SHA256})
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func kernelJSON(w io.Writer, v view, s kernel.Summary) error {
	enc := json.NewEncoder(jsonText{w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(struct {
		Schema    int            `json:"schema"`
		Complete  bool           `json:"complete"`
		RawSHA256 string         `json:"raw_sha256"`
		Proven    bool           `json:"proven_cold"`
		Summary   kernel.Summary `json:"summary"`
		Warnings  []string       `json:"warnings"`
		Run       bench.Run      `json:"run"`
	}{1, v.complete, v.file.SHA256, s.Proven(), s, v.warnings, v.file.Run})
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

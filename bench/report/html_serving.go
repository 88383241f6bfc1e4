package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lathe/bench/figure"
	"lathe/bench/serving"
)

// Said is what stands around the readings of a capture: before them what a reader
// has to know of the run first, such as that the client was its limit, and behind
// them what the client did.
type Said struct{ Head, Notes []string }

// ServingHTML writes the readings of one capture as a page: the table of all of
// them, the distributions of each, latency over time, and what is said around them.
// sum is the sha256 of the capture's file, "" where it is unknown.
func ServingHTML(w io.Writer, c *serving.Capture, sum string, results []*serving.Result, said Said) error {
	all := readingsOf(results)
	r := c.Run
	p := page{Title: join(": ", r.Command, modelName(r)), Warnings: cleaned(c.Warnings)}
	if c.End == nil {
		p.State = "the capture has no end record, the run was cut"
	}
	var first []string
	for _, line := range cleaned(said.Head) {
		if state, ok := strings.CutPrefix(line, "incomplete: "); ok {
			p.State = state
		} else {
			first = append(first, line)
		}
	}
	p.Warnings = append(first, p.Warnings...)
	for _, f := range []fact{{"model", modelFact(r)}, {"client's host", hostFact(r.Host)}, {"build", join(" ", r.Build.Version, r.Build.Revision, r.Build.Go)},
		{"started", r.StartedAt}, {"workload", sha(r.WorkloadSHA256)}, {"capture", sha(sum)}} {
		if f.value != "" {
			p.Facts = append(p.Facts, pageFact{f.name, plain(f.value)})
		}
	}
	cells := servingCells(all)
	t := pageTable{Labelled: true, Head: cells[0]}
	for _, row := range cells[1:] {
		t.Rows = append(t.Rows, pageRow{Cells: row})
	}
	s := section{Title: "One capture, every reading", Table: &t}
	for _, line := range slices.Concat(servingWords(all), servingNotes(results)) {
		s.Notes = append(s.Notes, line.name+": "+line.value)
	}
	p.Sections = append(p.Sections, s)
	figures, err := servingFigures(results)
	if err != nil {
		return err
	}
	p.Sections = append(p.Sections, figures...)
	if len(said.Notes) > 0 {
		p.Sections = append(p.Sections, section{Title: "What the client did", Notes: cleaned(said.Notes)})
	}
	return p.write(w)
}

// latencies are one reading's samples in milliseconds; Start is the send time of
// each request in seconds.
type latencies struct {
	name              string
	start, ttft, e2el []float64 // of the successful requests
	itl               []float64
}

func latenciesOf(r *serving.Result) latencies {
	l := latencies{name: r.Semantics.String()}
	for i := range r.Requests {
		q := &r.Requests[i]
		if !q.Success {
			continue
		}
		l.start, l.ttft, l.e2el = append(l.start, q.Start()), append(l.ttft, 1e3*q.TTFT), append(l.e2el, 1e3*q.Latency)
		for _, gap := range q.ITL {
			l.itl = append(l.itl, 1e3*gap)
		}
	}
	for i := range r.Exact {
		q := &r.Exact[i]
		if !q.Success || q.TTFTNS == nil || q.LastNS == nil {
			continue
		}
		l.start, l.ttft, l.e2el = append(l.start, float64(q.SentNS)/1e9), append(l.ttft, float64(*q.TTFTNS)/msPer), append(l.e2el, float64(*q.LastNS)/msPer)
		for _, gap := range q.Gaps {
			l.itl = append(l.itl, float64(gap)/msPer)
		}
	}
	return l
}

// servingFigures are the distributions and the latencies over time; nothing where
// no reading has a successful request.
func servingFigures(results []*serving.Result) ([]section, error) {
	var all []latencies
	most := 0
	for _, r := range results {
		if l := latenciesOf(r); r.Err == "" && len(l.start) > 0 {
			all = append(all, l)
			most = max(most, len(l.start))
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	spread, err := spreadSection(all)
	if err != nil {
		return nil, err
	}
	course, err := courseSection(all, most)
	return []section{spread, course}, err
}

// spreadSection are the distributions of every reading.
func spreadSection(all []latencies) (section, error) {
	s := section{Title: "Distributions"}
	for _, m := range []struct {
		name string
		of   func(latencies) []float64
	}{
		{"TTFT", func(l latencies) []float64 { return l.ttft }}, {"ITL", func(l latencies) []float64 { return l.itl }},
		{"E2EL", func(l latencies) []float64 { return l.e2el }},
	} {
		var series []figure.Series
		var counts []string
		for _, l := range all {
			if values := m.of(l); len(values) > 0 {
				series = append(series, figure.Series{Name: l.name, X: ranks(values)})
				counts = append(counts, fmt.Sprintf("%s n=%d", l.name, len(values)))
			}
		}
		if len(series) == 0 {
			continue
		}
		caption := fmt.Sprintf("Share of %s samples at or below each value: %s.", m.name, strings.Join(counts, ", "))
		if m.name == "ITL" {
			caption += " What a sample is stands above; in the exact reading it is the gap between two frames."
		}
		if err := s.draw(caption, func() (string, error) {
			return figure.Distribution(figure.Axes{Title: m.name + " by reading", X: m.name + " ms", Y: "share"}, series...)
		}); err != nil {
			return s, err
		}
	}
	return s, nil
}

// courseSection is latency over the time of sending; most is the largest number of
// requests of a reading.
func courseSection(all []latencies, most int) (section, error) {
	s := section{Title: "Over time"}
	stride := max(1, (most*len(all)+mostMarks-1)/mostMarks)
	for _, m := range []struct {
		name string
		of   func(latencies) []float64
	}{{"TTFT", func(l latencies) []float64 { return l.ttft }}, {"E2EL", func(l latencies) []float64 { return l.e2el }}} {
		var series []figure.Series
		for _, l := range all {
			series = append(series, figure.Series{Name: l.name, X: every(l.start, stride), Y: every(m.of(l), stride)})
		}
		caption := fmt.Sprintf("%s of each successful request at the time it was sent, n=%d.", m.name, most)
		if stride > 1 {
			caption = fmt.Sprintf("%s of one request in %d at the time it was sent, of n=%d.", m.name, stride, most)
		}
		if err := s.draw(caption, func() (string, error) {
			return figure.Scatter(figure.Axes{Title: m.name + " over time", X: "seconds since the start", Y: m.name + " ms"}, series...)
		}); err != nil {
			return s, err
		}
	}
	return s, nil
}

// ranks thins values to about a thousand order statistics, the ends among them.
func ranks(values []float64) []float64 {
	const kept = 1000
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) <= kept {
		return sorted
	}
	out := make([]float64, kept)
	for i := range out {
		out[i] = sorted[i*(len(sorted)-1)/(kept-1)]
	}
	return out
}

func every(values []float64, stride int) []float64 {
	var out []float64
	for i := 0; i < len(values); i += stride {
		out = append(out, values[i])
	}
	return out
}

package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"lathe/bench/serving"
)

// reading is the figures of one result that the table shows.
type reading struct {
	r                     *serving.Result
	ok, failed            int
	input, output         int64
	outputRate            *float64
	ttft, tpot, itl, e2el *serving.ExactStats
	gap                   *serving.ExactStats
	late, lateEnd         *serving.ExactStats // TTFT and E2EL from the schedule
	sample                string              // what one sample of itl is
	counted               string              // what counts an output token
	concurrent            int
}

// look at a result of any harness. Zeros that a harness writes where it has no
// samples are its figures, and stay.
func readingOf(r *serving.Result) reading {
	x := reading{r: r}
	for i := range r.Requests {
		if r.Requests[i].Success {
			x.ok++
		} else {
			x.failed++
		}
	}
	switch {
	case r.VLLM != nil:
		m := r.VLLM
		x.input, x.output, x.outputRate, x.concurrent = m.TotalInput, m.TotalOutput, &m.OutputThroughput, m.MaxConcurrentRequests
		x.ttft, x.tpot, x.itl, x.e2el = harnessStats(m.TTFT), harnessStats(m.TPOT), harnessStats(m.ITL), harnessStats(m.E2EL)
		x.sample, x.counted = "a frame", "usage, else the text encoded again"
	case r.SGLang != nil:
		m := r.SGLang
		x.input, x.output, x.outputRate, x.concurrent = m.TotalInput, m.TotalOutput, &m.OutputThroughput, m.MaxConcurrentRequests
		x.ttft, x.tpot, x.itl, x.e2el = harnessStats(m.TTFT), harnessStats(m.TPOT), harnessStats(m.ITL), harnessStats(m.E2E)
		x.sample, x.counted = "a frame with text", "usage on a frame with text, else the length asked for"
		switch {
		case r.Semantics.Wire == serving.Native:
			x.sample, x.counted = "a token by the server's count", "the server's count"
		case m.SplitByTokens:
			x.sample = "a token of the text encoded again"
		}
		if r.Semantics.Wire == serving.Chat {
			x.counted = "usage, else the length asked for"
		}
	case r.ExactM != nil:
		m := r.ExactM
		x.ok, x.failed, x.input, x.output, x.outputRate, x.concurrent = m.Completed, m.Failed, m.TotalInput, m.TotalOutput, m.OutputThroughput, m.MaxConcurrent
		x.ttft, x.tpot, x.itl, x.e2el, x.gap = m.TTFT, m.TPOT, m.ITL, m.E2EL, m.FrameGap
		if m.Queue != nil && m.Queue.Max >= queueShown {
			x.late, x.lateEnd = m.TTFTFromSchedule, m.E2ELFromSchedule
		}
		if m.ITL != nil {
			x.sample = "a token by the server's count"
		}
		var by []string
		for _, t := range m.Sources {
			by = append(by, fmt.Sprintf("%s (%d)", t.Name, t.N))
		}
		x.counted = strings.Join(by, ", ")
	}
	return x
}

func harnessStats(s serving.Stats) *serving.ExactStats {
	return &serving.ExactStats{Mean: s.Mean, Median: s.Median, Percentiles: s.Percentiles}
}

// ServingTable writes the readings of one capture side by side, and under them
// what makes them differ.
func ServingTable(w io.Writer, results []*serving.Result) error {
	all := readingsOf(results)
	var b strings.Builder
	align(&b, servingCells(all))
	b.WriteString("\n")
	for _, line := range servingWords(all) {
		wrap(&b, line.name+": ", line.value)
	}
	for _, line := range servingNotes(results) {
		wrap(&b, line.name+": ", line.value)
	}
	return flush(w, &b)
}

func readingsOf(results []*serving.Result) []reading {
	all := make([]reading, len(results))
	for i, r := range results {
		all[i] = readingOf(r)
	}
	return all
}

// servingWords says what each reading counts.
func servingWords(all []reading) []fact {
	var lines []fact
	for _, x := range all {
		name := x.r.Semantics.String()
		if x.r.Err != "" {
			lines = append(lines, fact{name, "the harness ends in " + x.r.Err + " instead of a result"})
			continue
		}
		if x.r.CacheErr != "" {
			lines = append(lines, fact{name, "the harness ends in " + x.r.CacheErr + " in its cache report and writes no result file"})
		}
		if x.counted == "" {
			continue // nothing succeeded, which a warning says
		}
		sample := "no ITL, as the server did not say the tokens of each frame"
		if x.sample != "" {
			sample = "an ITL sample is " + x.sample
		}
		if n := x.r.Unasked; n > 0 {
			sample += fmt.Sprintf("; without the usage frames (%d), which its client does not ask for", n)
		}
		lines = append(lines, fact{name, sample + "; output tokens: " + x.counted})
	}
	return lines
}

// servingNotes are the warnings, and the requests on which the readings disagree.
func servingNotes(results []*serving.Result) []fact {
	var lines []fact
	for _, r := range results {
		for _, warning := range r.Warnings {
			lines = append(lines, fact{"warning", r.Semantics.String() + ": " + plain(warning)})
		}
	}
	for _, r := range results {
		if r.ExactM == nil {
			continue
		}
		notes := serving.Disagreements(r, results...)
		const shown = 10
		for i, note := range notes {
			if i == shown {
				lines = append(lines, fact{"note", fmt.Sprintf("… and %d more causes for which the readings disagree", len(notes)-shown)})
				break
			}
			lines = append(lines, fact{"note", plain(note)})
		}
	}
	return lines
}

// align writes cells, the first column to the left, the others to the right.
func align(b *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString(cell + pad)
				continue
			}
			b.WriteString("  " + pad + cell)
		}
		b.WriteString("\n")
	}
}

package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"lathe/bench/serving"
	"lathe/bench/stat"
)

// ServingRuns is one reading of several runs of the same command: a row a figure,
// the median of the runs, and how far they lie apart. No run is left out.
type ServingRuns struct {
	Semantics string      `json:"semantics"`
	Rule      string      `json:"rule"` // how Median came about
	Rows      []RunFigure `json:"figures"`
	Limit     float64     `json:"limit"` // of a spread
	Unstable  []string    `json:"unstable"`
}

// RunFigure is one figure of every run; nil where a run does not define it.
type RunFigure struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"`
	Median *float64   `json:"median"` // of the runs that define it
	Spread *float64   `json:"spread"` // greatest over least; nil with less than two, or with one that is not above 0
	digits int
}

// runFigures are the figures that say whether runs are alike.
func runFigures() []string {
	return []string{"output tok/s", "mean TTFT ms", "mean TPOT ms", "mean E2EL ms"}
}

// ReadRuns puts the runs beside each other; limit is the spread above which they
// are unstable.
func ReadRuns(runs []*serving.Result, limit float64) ServingRuns {
	s := ServingRuns{Rule: fmt.Sprintf("median of %d runs, each counted the same", len(runs)), Limit: limit, Unstable: []string{}}
	if len(runs) > 0 {
		s.Semantics = runs[0].Semantics.String()
	}
	all := readingsOf(runs)
	for _, row := range servingRows() {
		f := RunFigure{Name: row.label, digits: row.digits}
		for _, x := range all {
			v := row.value(x)
			if x.r.Err != "" || x.ok == 0 && row.digits > 0 {
				v = nil // a harness's zeros where nothing succeeded
			}
			f.Values = append(f.Values, v)
		}
		f.summarise()
		if f.Median == nil {
			continue
		}
		s.Rows = append(s.Rows, f)
		if slices.Contains(runFigures(), f.Name) && f.Spread != nil && *f.Spread > limit {
			s.Unstable = append(s.Unstable, fmt.Sprintf("%s: max/min = %.2f", f.Name, *f.Spread))
		}
	}
	for i, x := range all {
		if x.ok == 0 {
			s.Unstable = append(s.Unstable, fmt.Sprintf("run %d: no request succeeded", i+1))
		}
	}
	return s
}

func (f *RunFigure) summarise() {
	var there []float64
	for _, v := range f.Values {
		if v != nil && !math.IsNaN(*v) {
			there = append(there, *v)
		}
	}
	slices.Sort(there)
	if m, ok := stat.Median(there); ok {
		f.Median = &m
	}
	if len(there) > 1 && there[0] > 0 {
		r := there[len(there)-1] / there[0]
		f.Spread = &r
	}
}

// Write writes the runs as a table and says whether they are stable.
func (s ServingRuns) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", s.Semantics, s.Rule)
	head := []string{""}
	if len(s.Rows) > 0 {
		for i := range s.Rows[0].Values {
			head = append(head, fmt.Sprintf("run %d", i+1))
		}
	}
	rows := [][]string{append(head, "median", "max/min")}
	for _, f := range s.Rows {
		line := []string{f.Name}
		for _, v := range append(slices.Clone(f.Values), f.Median) {
			cell := none
			switch {
			case v != nil && f.digits == 0:
				cell = shortest(v)
			case v != nil:
				cell = sigOr(v, 1, f.digits)
			}
			line = append(line, cell)
		}
		spread := none
		if f.Spread != nil {
			spread = fmt.Sprintf("%.2f", *f.Spread)
		}
		rows = append(rows, append(line, spread))
	}
	align(&b, rows)
	b.WriteString("\n")
	if len(s.Unstable) == 0 {
		fmt.Fprintf(&b, "stable: no figure of %s is more than %.2f apart\n", strings.Join(runFigures(), ", "), s.Limit)
	} else {
		fmt.Fprintf(&b, "unstable: %s (limit %.2f)\n", strings.Join(s.Unstable, "; "), s.Limit)
	}
	return flush(w, &b)
}

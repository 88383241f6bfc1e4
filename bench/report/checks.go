package report

import (
	"encoding/json"
	"fmt"
	"strconv"

	"lathe/bench"
)

// table is the points of the run: their times, or, of a correctness test, their
// checks.
func (v view) table() table {
	if v.file.Run.Workload.Kind == bench.KindCorrectness {
		return tabulateChecks(v)
	}
	return tabulate(v.points)
}

// tabulateChecks has a row a prompt, and one with the reason for a point that
// did not end well.
func tabulateChecks(v view) table {
	t := table{
		titles: []string{"batch", "input", "output", "prompt", "verdict", "equal", "largest", "median rms", "allowed", "largest rms", "allowed", "class"},
		about: []string{"Each row is a prompt, its tokens and logits beside the reference's. equal: tokens that both choose; largest: " +
			"difference of a logit; rms: of a step's differences, relative to the deviation of its logits."},
	}
	for _, p := range v.points {
		shape := []string{strconv.Itoa(p.Batch), strconv.Itoa(p.InputLen), output(p)}
		add := func(cells ...string) {
			t.rows = append(t.rows, append(shape[:dims:dims], cells...))
			t.marks = append(t.marks, "")
		}
		for _, c := range v.file.Checks {
			if c.Name == bench.CheckCorrectness && c.Point != nil && *c.Point == p.Point.Point {
				add(checkCells(c)...)
			}
		}
		if p.Status != bench.StatusOK {
			add(verdict(p))
		}
	}
	return t
}

// checkCells are the cells of a prompt, or a reason alone.
func checkCells(check bench.Check) []string {
	var c bench.Correctness
	if err := json.Unmarshal(check.Detail, &c); err != nil {
		return []string{"the check cannot be read: " + plain(err.Error())}
	}
	word := "differs"
	switch {
	case check.OK:
		word = "ok"
	case c.NonFinite != nil:
		word = fmt.Sprintf("not finite at step %d", *c.NonFinite)
	}
	figure := func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
	return []string{strconv.Itoa(c.Prompt), word, fmt.Sprintf("%d/%d", c.TokensEqual, c.Steps), figure(c.Largest),
		figure(c.MedianRMS), figure(c.Tolerance.MedianRMS), figure(c.EachRMS), figure(c.Tolerance.EachRMS), plain(c.Tolerance.Class)}
}

package report

import (
	"fmt"
	"html/template"

	"lathe/bench"
	"lathe/bench/figure"
	"lathe/bench/metric"
	"lathe/bench/roofline"
)

// mostMarks is how many marks a figure draws; of more samples every k-th is drawn.
const mostMarks = 2000

// pointSection shows how one point's steps went; nil where it has none.
func pointSection(p metric.Point) (*section, error) {
	if !figures(p) || len(p.DecodeTimes) == 0 && len(p.IterationTimes) == 0 {
		return nil, nil
	}
	name := fmt.Sprintf("batch %d, input %d", p.Batch, p.InputLen)
	s := section{Title: name}
	what, times := "decode step", p.DecodeTimes
	if len(times) == 0 {
		what, times = "call", p.IterationTimes
	}
	series, drawn := inOrder(what, times)
	caption := fmt.Sprintf("Every %s in its order, n=%d.", what, len(times))
	if drawn < len(times) {
		caption = fmt.Sprintf("%d of %d %ss, evenly picked, in their order.", drawn, len(times), what)
	}
	err := s.draw(caption, func() (string, error) {
		return figure.Scatter(figure.Axes{Title: name + ": " + what + " times", X: what, Y: "ms"}, series)
	})
	if err == nil {
		err = s.draw(fmt.Sprintf("How often a %s took how long, n=%d.", what, len(times)), func() (string, error) {
			return figure.Histogram(figure.Axes{Title: name + ": distribution of " + what + " times", X: "ms", Y: what + "s"},
				figure.Series{Name: what, X: milliseconds(times)})
		})
	}
	return &s, err
}

// draw adds a figure.
func (s *section) draw(caption string, figure func() (string, error)) error {
	svg, err := figure()
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	s.Figures = append(s.Figures, pageFigure{SVG: template.HTML(svg), Caption: caption})
	return nil
}

// inOrder is times over their number, thinned.
func inOrder(name string, times []int64) (series figure.Series, drawn int) {
	stride := (len(times) + mostMarks - 1) / mostMarks
	series.Name = name
	for i := 0; i < len(times); i += max(1, stride) {
		series.X, series.Y = append(series.X, float64(i+1)), append(series.Y, float64(times[i])/msPer)
	}
	return series, len(series.X)
}

func milliseconds(ns []int64) []float64 {
	out := make([]float64, len(ns))
	for i, n := range ns {
		out[i] = float64(n) / msPer
	}
	return out
}

// roofSections are the roofline's table and chart, and its operators.
func roofSections(sheet roofline.Sheet) ([]section, error) {
	t := roofTable(sheet)
	s := section{Title: "Roofline", Table: t.page(), Notes: append(numbered(t.notes), roofLegend(sheet)...)}
	var roofs []figure.Roof
	for _, r := range sheet.Roofs {
		roofs = append(roofs, figure.Roof{Name: r.Kind, Slope: r.Bandwidth, Flat: r.Compute})
	}
	phases := []figure.Series{{Name: string(bench.Prefill)}, {Name: string(bench.Decode)}}
	for _, r := range sheet.Rows {
		if r.Work == nil || r.FLOPRate == nil || r.Work.Bytes() == 0 {
			continue
		}
		at := &phases[0]
		if r.Phase == bench.Decode {
			at = &phases[1]
		}
		at.X = append(at.X, float64(r.Work.FLOPs())/float64(r.Work.Bytes()))
		at.Y = append(at.Y, *r.FLOPRate)
	}
	if len(phases[0].X)+len(phases[1].X) > 0 {
		err := s.draw("Each point's rate over its arithmetic intensity, under the roofs; both axes are logarithmic.", func() (string, error) {
			return figure.Roofline(figure.Axes{Title: "Roofline", X: "FLOP / byte", Y: "FLOP/s"}, roofs, phases...)
		})
		if err != nil {
			return nil, err
		}
	}
	list := []section{s}
	if ops := operatorTable(sheet); len(ops.rows) > 0 {
		list = append(list, section{Title: "Operators of a decode step", Table: ops.page(),
			Notes: []string{"From an instrumented pass of their own: no part of the steps above."}})
	}
	return list, nil
}

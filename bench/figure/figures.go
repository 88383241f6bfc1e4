package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// xys are the finite pairs of a series.
func (s Series) xys() plotter.XYs {
	pts := make(plotter.XYs, 0, len(s.X))
	for i := range min(len(s.X), len(s.Y)) {
		if !math.IsNaN(s.X[i]) && !math.IsInf(s.X[i], 0) && !math.IsNaN(s.Y[i]) && !math.IsInf(s.Y[i], 0) {
			pts = append(pts, plotter.XY{X: s.X[i], Y: s.Y[i]})
		}
	}
	return pts
}

// Scatter draws series as marks. The Y axis starts where the data do: it is for
// telling drift and modes, not for proportions.
func Scatter(a Axes, series ...Series) (string, error) {
	p := blank(a)
	radius := markRadius(series)
	for i, s := range series {
		pts := s.xys()
		if len(pts) == 0 {
			continue
		}
		marks, err := plotter.NewScatter(pts)
		if err != nil {
			return "", fmt.Errorf("draw %s: %s: %w", a.Title, s.Name, err)
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: colour(i), Shape: shape(i), Radius: radius}
		p.Add(marks)
		if len(series) > 1 {
			p.Legend.Add(s.Name, &legendMark{i})
		}
	}
	roomy(p)
	return render(p, a, Height)
}

// markRadius is the size of marks: the fewer there are, the larger.
func markRadius(series []Series) vg.Length {
	n := 0
	for _, s := range series {
		n += len(s.X)
	}
	switch {
	case n <= 60:
		return 2.6
	case n <= 400:
		return 1.8
	}
	return 1.3
}

// legendMark is a mark large enough for a legend.
type legendMark struct{ i int }

// Thumbnail implements plot.Thumbnailer.
func (m *legendMark) Thumbnail(c *draw.Canvas) {
	c.DrawGlyph(draw.GlyphStyle{Color: colour(m.i), Shape: shape(m.i), Radius: 3}, c.Center())
}

// roomy leaves room above the data for the legend.
func roomy(p *plot.Plot) {
	if p.Y.Max > p.Y.Min {
		p.Y.Max += 0.18 * (p.Y.Max - p.Y.Min)
	}
	widen(&p.X)
	widen(&p.Y)
}

// widen gives an axis that has no extent one, so that a single value can be drawn.
func widen(x *plot.Axis) {
	if !(x.Max > x.Min) {
		half := math.Max(math.Abs(x.Min)*0.05, 0.5)
		if math.IsInf(x.Min, 0) || math.IsInf(x.Max, 0) {
			x.Min, x.Max = 0, 1
			return
		}
		x.Min, x.Max = x.Min-half, x.Max+half
	}
}

// Distribution draws the share of values at or below each, a line a series. Y of a
// Series is not read.
func Distribution(a Axes, series ...Series) (string, error) {
	p := blank(a)
	for i, s := range series {
		values := sorted(s.X)
		if len(values) == 0 {
			continue
		}
		pts := plotter.XYs{{X: values[0], Y: 0}}
		for k, v := range values {
			pts = append(pts, plotter.XY{X: v, Y: float64(k) / float64(len(values))}, plotter.XY{X: v, Y: float64(k+1) / float64(len(values))})
		}
		line, err := plotter.NewLine(pts)
		if err != nil {
			return "", fmt.Errorf("draw %s: %s: %w", a.Title, s.Name, err)
		}
		line.LineStyle = draw.LineStyle{Color: colour(i), Width: 1.3, Dashes: dashes(i)}
		p.Add(line)
		p.Legend.Add(s.Name, line)
	}
	p.Legend.Top, p.Legend.Left = false, false
	p.Y.Min, p.Y.Max = 0, 1
	widen(&p.X)
	return render(p, a, Height)
}

// Histogram draws how often values fall into bins, as outlines over one another.
// The bins are shared: Freedman and Diaconis' width over all values, 8 to 60 of
// them. Y of a Series is not read.
func Histogram(a Axes, series ...Series) (string, error) {
	var all []float64
	for _, s := range series {
		all = append(all, s.X...)
	}
	all = sorted(all)
	p := blank(a)
	if len(all) > 0 {
		lo, width, n := bins(all)
		for i, s := range series {
			line, err := outline(sorted(s.X), lo, width, n)
			if err != nil {
				return "", fmt.Errorf("draw %s: %s: %w", a.Title, s.Name, err)
			}
			line.LineStyle = draw.LineStyle{Color: colour(i), Width: 1.3, Dashes: dashes(i)}
			p.Add(line)
			if len(series) > 1 {
				p.Legend.Add(s.Name, line)
			}
		}
	}
	p.Y.Min = 0
	roomy(p)
	return render(p, a, Height)
}

// bins is the start, the width and the number of bins of sorted values.
func bins(values []float64) (lo, width float64, n int) {
	lo, hi := values[0], values[len(values)-1]
	if hi <= lo {
		return lo - 0.5, 1, 1
	}
	iqr := values[len(values)*3/4] - values[len(values)/4]
	width = 2 * iqr / math.Cbrt(float64(len(values)))
	n = 60
	if width > 0 {
		n = int(math.Min(60, math.Max(8, math.Ceil((hi-lo)/width))))
	}
	return lo, (hi - lo) / float64(n), n
}

// outline is the edge of a histogram.
func outline(values []float64, lo, width float64, n int) (*plotter.Line, error) {
	counts := make([]float64, n)
	for _, v := range values {
		counts[min(n-1, max(0, int((v-lo)/width)))]++
	}
	pts := plotter.XYs{{X: lo, Y: 0}}
	for i, c := range counts {
		pts = append(pts, plotter.XY{X: lo + float64(i)*width, Y: c}, plotter.XY{X: lo + float64(i+1)*width, Y: c})
	}
	return plotter.NewLine(append(pts, plotter.XY{X: lo + float64(n)*width, Y: 0}))
}

// Interval is one row of Intervals.
type Interval struct {
	Name       string
	Lo, At, Hi float64
}

// Intervals draws a row an interval over a band of -Band to +Band around zero.
func Intervals(a Axes, band float64, rows ...Interval) (string, error) {
	p := blank(a)
	n := len(rows)
	edges := []float64{0}
	if band > 0 {
		edges = append(edges, -band, band)
	}
	for i, x := range edges {
		line, err := plotter.NewLine(plotter.XYs{{X: x, Y: -0.7}, {X: x, Y: float64(n) - 0.3}})
		if err != nil {
			return "", fmt.Errorf("draw %s: %w", a.Title, err)
		}
		line.LineStyle = draw.LineStyle{Color: grey(), Width: 0.8}
		if i > 0 {
			line.Dashes = []vg.Length{3, 2}
		}
		p.Add(line)
	}
	var ticks []plot.Tick
	for i, r := range rows {
		y := float64(n - 1 - i)
		line, err := plotter.NewLine(plotter.XYs{{X: r.Lo, Y: y}, {X: r.Hi, Y: y}})
		if err != nil {
			return "", fmt.Errorf("draw %s: %s: %w", a.Title, r.Name, err)
		}
		line.LineStyle = draw.LineStyle{Color: colour(0), Width: 1.6}
		mark, err := plotter.NewScatter(plotter.XYs{{X: r.At, Y: y}})
		if err != nil {
			return "", fmt.Errorf("draw %s: %s: %w", a.Title, r.Name, err)
		}
		mark.GlyphStyle = draw.GlyphStyle{Color: colour(0), Shape: draw.CircleGlyph{}, Radius: 3}
		p.Add(line, mark)
		ticks = append(ticks, plot.Tick{Value: y, Label: r.Name})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Min, p.Y.Max = -0.7, float64(n)-0.3
	margin := 0.06 * (p.X.Max - p.X.Min)
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	widen(&p.X)
	return render(p, a, 60+20*float64(max(2, n)))
}

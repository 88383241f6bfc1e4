package figure

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

func sorted(values []float64) []float64 {
	list := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return list
}

// Roof is one ceiling of a Roofline: rate = min(Flat, Slope * intensity).
type Roof struct {
	Name        string
	Slope, Flat float64
}

// Roofline draws rates over arithmetic intensities, both logarithmic, under roofs.
// What is not above zero is left out.
func Roofline(a Axes, roofs []Roof, series ...Series) (string, error) {
	p := blank(a)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	lo, hi := math.Inf(1), math.Inf(-1)
	least := math.Inf(1)
	for i, s := range series {
		pts := s.xys()
		pts = slices.DeleteFunc(pts, func(q plotter.XY) bool { return !(q.X > 0 && q.Y > 0) })
		for _, q := range pts {
			lo, hi, least = math.Min(lo, q.X), math.Max(hi, q.X), math.Min(least, q.Y)
		}
		if len(pts) == 0 {
			continue
		}
		marks, err := plotter.NewScatter(pts)
		if err != nil {
			return "", fmt.Errorf("draw %s: %s: %w", a.Title, s.Name, err)
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: colour(i), Shape: shape(i), Radius: 3}
		p.Add(marks)
		p.Legend.Add(s.Name, marks)
	}
	if math.IsInf(lo, 0) {
		lo, hi, least = 1, 1, math.Inf(1)
	}
	top := 0.0
	for i, r := range roofs {
		if !(r.Slope > 0 && r.Flat > 0) {
			continue
		}
		ridge := r.Flat / r.Slope
		from, to := math.Min(lo, ridge)/2, math.Max(hi, ridge)*4
		line, err := plotter.NewLine(plotter.XYs{{X: from, Y: from * r.Slope}, {X: ridge, Y: r.Flat}, {X: to, Y: r.Flat}})
		if err != nil {
			return "", fmt.Errorf("draw %s: %s: %w", a.Title, r.Name, err)
		}
		line.LineStyle = draw.LineStyle{Color: grey(), Width: 1.3, Dashes: dashes(i)}
		p.Add(line)
		p.Legend.Add(r.Name, line)
		top, least = math.Max(top, r.Flat), math.Min(least, from*r.Slope)
	}
	if top == 0 || math.IsInf(least, 0) {
		return "", fmt.Errorf("draw %s: no roof is known", a.Title)
	}
	p.Legend.Top, p.Legend.Left = false, false
	p.Y.Min, p.Y.Max = least/2, top*3
	return render(p, a, Height)
}

// decades are the ticks of a logarithmic axis: a label at each power of ten, and at
// 2 and 5 where there are few.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	for e := first; e <= last; e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, float64(e))
			if v < lo || v > hi {
				continue
			}
			label := ""
			if m == 1 || last-first <= 2 {
				label = engineering(v)
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}

// engineering writes a number with the prefix of its thousand.
func engineering(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return fmt.Sprintf("%g%s", v/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%g", v)
}

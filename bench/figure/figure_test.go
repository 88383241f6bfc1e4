package figure

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"
)

// drawings is every kind of figure over the same awkward data.
func drawings(t *testing.T) map[string]string {
	t.Helper()
	nan, inf := math.NaN(), math.Inf(1)
	a := Series{Name: `a <"&>`, X: []float64{1, 2, 3, nan, inf}, Y: []float64{5, 5.1, 4.9, 1, 2}}
	b := Series{Name: "b", X: []float64{1.5, 2.5}, Y: []float64{4, 4.2}}
	one, none := Series{Name: "one", X: []float64{3}, Y: []float64{7}}, Series{Name: "none"}
	axes := Axes{Title: `figure <"&>`, X: "x <ms>", Y: "y"}
	out := map[string]string{}
	keep := func(name string) func(string, error) {
		return func(svg string, err error) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			out[name] = svg
		}
	}
	keep("scatter")(Scatter(axes, a, b))
	keep("scatter of one")(Scatter(axes, one))
	keep("scatter of nothing")(Scatter(axes, none))
	keep("distribution")(Distribution(axes, a, b))
	keep("distribution of nothing")(Distribution(axes))
	keep("histogram")(Histogram(axes, a, b))
	keep("histogram of one")(Histogram(axes, one))
	keep("histogram of nothing")(Histogram(axes, none))
	keep("intervals")(Intervals(axes, 0.5, Interval{"p0", -1, 0, 1}, Interval{"p1", 2, 2.5, 3}))
	keep("intervals of nothing")(Intervals(axes, 0))
	keep("roofline")(Roofline(axes, []Roof{{"measured", 20e9, 500e9}, {"given", 10e9, 1e12}}, a, b, Series{Name: "zero", X: []float64{0}, Y: []float64{0}}))
	keep("roofline without points")(Roofline(axes, []Roof{{"measured", 20e9, 500e9}}))
	return out
}

// Figures are well-formed, name themselves, need nothing from elsewhere, hold no
// undefined number, and are the same each time.
func TestFigures(t *testing.T) {
	again := drawings(t)
	for name, svg := range drawings(t) {
		if svg != again[name] {
			t.Errorf("%s: drawn differently a second time", name)
		}
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
		for _, bad := range []string{"NaN", "Inf", "<image", "href", "<script", "Liberation Serif"} {
			if strings.Contains(svg, bad) {
				t.Errorf("%s: has %s", name, bad)
			}
		}
		if !strings.HasPrefix(svg, "<svg ") || !strings.Contains(svg, `role="img" aria-label="figure &lt;`) || !strings.HasSuffix(svg, "</svg>") {
			t.Errorf("%s: is no labelled element: %.200s", name, svg)
		}
	}
}

func TestRooflineNeedsARoof(t *testing.T) {
	if _, err := Roofline(Axes{Title: "x"}, nil, Series{X: []float64{1}, Y: []float64{1}}); err == nil {
		t.Error("a roofline without a roof was drawn")
	}
}

// Every value is in one bin, the largest in the last.
func TestBins(t *testing.T) {
	for _, values := range [][]float64{{1}, {1, 1, 1}, {1, 2}, {0, 0, 0, 0, 100}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}} {
		lo, width, n := bins(sorted(values))
		line, err := outline(sorted(values), lo, width, n)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i := 1; i+1 < len(line.XYs); i += 2 {
			sum += line.XYs[i].Y
		}
		if int(sum) != len(values) || n > 60 || n < 1 {
			t.Errorf("%v: %v values in %d bins", values, sum, n)
		}
	}
}

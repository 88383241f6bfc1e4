package figure

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of a figure in points (1/72 inch): narrow enough for a telephone, and two of
// them stand beside each other on a desk.
const (
	Width  = 380.0
	Height = 240.0
)

// Axes are the words of a figure.
type Axes struct {
	Title string // also read out where a figure cannot be seen
	X, Y  string // with units
}

// Series is one thing drawn: pairs of X and Y.
type Series struct {
	Name string
	X, Y []float64
}

// colours are those of Okabe and Ito (2008), which the common colour blindnesses
// leave apart; in the order in which they are used.
func colour(i int) color.Color {
	list := []color.RGBA{
		{0x00, 0x72, 0xB2, 0xFF}, {0xD5, 0x5E, 0x00, 0xFF}, {0x00, 0x9E, 0x73, 0xFF},
		{0xCC, 0x79, 0xA7, 0xFF}, {0xE6, 0x9F, 0x00, 0xFF}, {0x56, 0xB4, 0xE9, 0xFF},
	}
	return list[i%len(list)]
}

// shape is the mark of the i-th series.
func shape(i int) draw.GlyphDrawer {
	list := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.RingGlyph{}, draw.TriangleGlyph{}, draw.SquareGlyph{}}
	return list[i%len(list)]
}

// dashes are the pattern of the i-th line; none for the first.
func dashes(i int) []vg.Length {
	list := [][]vg.Length{nil, {5, 2}, {1.5, 1.5}, {7, 2, 1.5, 2}, {3, 3}, {9, 3}}
	return list[i%len(list)]
}

// grey is of what is no data: bands, zero lines.
func grey() color.Color { return color.RGBA{0x60, 0x60, 0x60, 0xFF} }

// blank is a plot with our fonts and words.
func blank(a Axes) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = a.X, a.Y
	p.BackgroundColor = color.Transparent
	sans := func(f *font.Font, size float64) { f.Variant, f.Size = "Sans", vg.Length(size) }
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		sans(&axis.Label.TextStyle.Font, 9)
		sans(&axis.Tick.Label.Font, 8)
	}
	sans(&p.Legend.TextStyle.Font, 8)
	p.Legend.Top, p.Legend.Padding = true, 2
	return p
}

var opening = regexp.MustCompile(`(?s)^.*?<svg[^>]*viewBox="([^"]*)"[^>]*>`)

// render draws a plot as an SVG element for an HTML page.
func render(p *plot.Plot, a Axes, height float64) (string, error) {
	c := vgsvg.New(Width, vg.Length(height))
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", fmt.Errorf("draw %s: %w", a.Title, err)
	}
	text := b.String()
	at := opening.FindStringSubmatchIndex(text)
	if at == nil {
		return "", fmt.Errorf("draw %s: the drawing has no SVG element", a.Title)
	}
	title := html.EscapeString(a.Title)
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="%s" role="img" aria-label="%s"><title>%s</title>`, text[at[2]:at[3]], title, title)
	body := strings.TrimSpace(text[at[1]:])
	return head + families.ReplaceAllString(body, "font-family:Arial,'Liberation Sans',sans-serif"), nil
}

var families = regexp.MustCompile(`font-family:[^;"]*`)

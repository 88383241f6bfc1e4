package report

import (
	"fmt"
	"io"
	"strings"

	"lathe/bench/compare"
	"lathe/bench/figure"
)

// html writes the comparison as a page: the verdict on top, the intervals of the
// points, then each point's steps of both sides as they were interleaved.
func (c comparison) html(w io.Writer) error {
	p := page{Title: join(" ", c.title), State: printable(c.state), Warnings: cleaned(c.warnings), Facts: pageFacts(c.facts)}
	for i := range p.Facts {
		p.Facts[i].Value = printable(p.Facts[i].Value)
	}
	r := c.result
	p.Banner = &banner{Verdict: string(r.Verdict), Line: c.bannerLine(), Reasons: cleaned(r.Reasons)}
	if len(r.Points) == 0 {
		p.Sections = []section{{Title: "Points", Notes: []string{"No point was compared."}}}
		return p.write(w)
	}
	t := c.table()
	points := section{Title: "Points", Table: t.page(), Notes: append(numbered(t.notes), c.legend()...)}
	if err := c.intervals(&points); err != nil {
		return err
	}
	p.Sections = append(p.Sections, points)
	for _, point := range r.Points {
		s, err := c.pointSection(point)
		if err != nil {
			return err
		}
		if len(s.Figures) > 0 {
			p.Sections = append(p.Sections, s)
		}
	}
	return p.write(w)
}

// bannerLine is what stands beside the verdict.
func (c comparison) bannerLine() string {
	r := c.result
	_, words, _ := strings.Cut(c.headline(), " ")
	line := strings.Trim(words, "()")
	if r.ChangePercent != nil {
		line += ": " + changeCell(r.ChangePercent, r.IntervalPercent) + " %"
	}
	if r.ThresholdPercent != nil {
		line += ", threshold " + percentCell(r.ThresholdPercent) + " %"
	}
	if c.file == nil {
		return fmt.Sprintf("%s; n = %d points, %d steps", line, len(r.Points), r.Steps)
	}
	return fmt.Sprintf("%s; n = %d epochs, %d blocks, %d steps", line, r.Epochs, r.Blocks, r.Steps)
}

// intervals draws the interval of the whole and of each point.
func (c comparison) intervals(s *section) error {
	var rows []figure.Interval
	add := func(name string, change *float64, interval *[2]float64) {
		if change != nil && interval != nil {
			rows = append(rows, figure.Interval{Name: name, Lo: interval[0], At: *change, Hi: interval[1]})
		}
	}
	if len(c.result.Points) > 1 {
		add("all", c.result.ChangePercent, c.result.IntervalPercent)
	}
	for _, p := range c.result.Points {
		add(pointLabel(p), p.ChangePercent, p.IntervalPercent)
	}
	if len(rows) == 0 {
		return nil
	}
	band := 0.0
	if c.result.ThresholdPercent != nil {
		band = *c.result.ThresholdPercent
	}
	return s.draw("Change of B against A and the interval that the verdict was read from; dashed: the threshold. Left of zero B needs less time.",
		func() (string, error) {
			return figure.Intervals(figure.Axes{Title: "Change of B against A, percent", X: "change %"}, band, rows...)
		})
}

func pointLabel(p compare.PointResult) string {
	return fmt.Sprintf("%s %d×%d", p.Phase, p.Batch, p.ContextLen)
}

// pointSection shows one point's epochs and steps; without figures where the file
// has no interleaved steps.
func (c comparison) pointSection(p compare.PointResult) (section, error) {
	s := section{Title: fmt.Sprintf("%s, batch %d, context %d", p.Phase, p.Batch, p.ContextLen)}
	if c.file == nil {
		return s, nil
	}
	sides := c.sideSeries(p)
	n := []int{len(sides[0].X), len(sides[1].X)}
	if n[0]+n[1] == 0 {
		return s, nil
	}
	stride := max(1, (n[0]+n[1]+mostMarks-1)/mostMarks)
	caption := fmt.Sprintf("Every step of both sides when it ran, on the %s's clock; n = %d of A, %d of B.", p.Clock, n[0], n[1])
	if stride > 1 {
		caption = fmt.Sprintf("One step in %d of both sides when it ran, on the %s's clock; of n = %d of A, %d of B.", stride, p.Clock, n[0], n[1])
	}
	thin := func(x figure.Series) figure.Series {
		return figure.Series{Name: x.Name, X: every(x.X, stride), Y: every(x.Y, stride)}
	}
	err := s.draw(caption, func() (string, error) {
		return figure.Scatter(figure.Axes{Title: s.Title + ": steps over time", X: "seconds since the start", Y: "ms"}, thin(sides[0]), thin(sides[1]))
	})
	if err == nil {
		err = s.draw("How often a step took how long.", func() (string, error) {
			return figure.Histogram(figure.Axes{Title: s.Title + ": distribution of step times", X: "ms", Y: "steps"},
				figure.Series{Name: sides[0].Name, X: sides[0].Y}, figure.Series{Name: sides[1].Name, X: sides[1].Y})
		})
	}
	if err == nil && len(p.EpochPercent) > 0 {
		epochs := figure.Series{Name: "epoch", Y: p.EpochPercent}
		for e := range p.EpochPercent {
			epochs.X = append(epochs.X, float64(e+1))
		}
		err = s.draw(fmt.Sprintf("What each epoch (fresh sessions) says: the replication that the interval is made of, n = %d.", len(p.EpochPercent)),
			func() (string, error) {
				return figure.Scatter(figure.Axes{Title: s.Title + ": change by epoch", X: "epoch", Y: "change %"}, epochs)
			})
	}
	return s, err
}

// sideSeries are the recorded steps of a point, a series a side: seconds and ms.
func (c comparison) sideSeries(p compare.PointResult) [2]figure.Series {
	sides := [2]figure.Series{{Name: "A"}, {Name: "B"}}
	for _, step := range c.file.Steps {
		if step.Warmup || step.Variant == nil || step.Point != p.Point || step.Phase != p.Phase {
			continue
		}
		ns := step.HostNS
		if p.Clock == "device" && step.DeviceNS != nil {
			ns = *step.DeviceNS
		}
		side := &sides[0]
		if *step.Variant == compare.VariantB {
			side = &sides[1]
		}
		side.X, side.Y = append(side.X, float64(step.TNS)/1e9), append(side.Y, float64(ns)/msPer)
	}
	return sides
}

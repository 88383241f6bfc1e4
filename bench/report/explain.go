package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"lathe/bench"
	"lathe/bench/compare"
)

// explained is the JSON of Explain.
type explained struct {
	Verdict compare.Verdict  `json:"verdict"`
	Reasons []string         `json:"reasons"`
	Points  []explainedPoint `json:"points"`
}

type explainedPoint struct {
	Point        int             `json:"point"`
	Phase        bench.Phase     `json:"phase"`
	Batch        int             `json:"batch"`
	ContextLen   int             `json:"context_len"`
	Verdict      compare.Verdict `json:"verdict"`
	Votes        []compare.Vote  `json:"votes"`
	Reasons      []string        `json:"reasons"`
	EpochPercent []float64       `json:"epoch_percent"`
}

// Explain writes what each check of a comparison said and where it moved the answer, point by point,
// in text or json.
func Explain(w io.Writer, f *bench.File, format string) error {
	r, err := compare.Judge(f)
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	switch format {
	case "text":
		return explainText(w, f, r)
	case "json":
		d := explained{Verdict: r.Verdict, Reasons: r.Reasons, Points: []explainedPoint{}}
		for _, p := range r.Points {
			d.Points = append(d.Points, explainedPoint{p.Point, p.Phase, p.Batch, p.ContextLen, p.Verdict, p.Votes, p.Reasons, p.EpochPercent})
		}
		e := json.NewEncoder(jsonText{w})
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(d); err != nil {
			return fmt.Errorf("explain: %w", err)
		}
		return nil
	}
	return fmt.Errorf("explain: format %q: want text or json", format)
}

func explainText(w io.Writer, f *bench.File, r compare.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", join(" ", f.Run.Command), r.Verdict)
	if s := state(f); s != "" {
		wrap(&b, "INCOMPLETE: ", printable(s))
	}
	for _, reason := range r.Reasons {
		wrap(&b, "  - ", plain(reason))
	}
	for _, p := range r.Points {
		fmt.Fprintf(&b, "\n%s, batch %d, context %d: %s\n", p.Phase, p.Batch, p.ContextLen, p.Verdict)
		width := 0
		for _, v := range p.Votes {
			width = max(width, utf8.RuneCountInString(v.Check))
		}
		for _, v := range p.Votes {
			wrap(&b, fmt.Sprintf("  %-*s  %-12s  ", width, plain(v.Check), v.Effect), plain(v.Detail))
		}
		explainFigures(&b, p)
		for _, reason := range p.Reasons {
			wrap(&b, "  - ", plain(reason))
		}
	}
	b.WriteString("\nA check lets an answer stand (ok), notes something beside it (note), or moves it to inconclusive or invalid; none can\nmake it faster or slower.\n")
	return flush(w, &b)
}

// explainFigures are the numbers that the rule was applied to.
func explainFigures(b *strings.Builder, p compare.PointResult) {
	var epochs []string
	for _, x := range p.EpochPercent {
		epochs = append(epochs, fmt.Sprintf("%+.2f", x))
	}
	if len(epochs) > 0 {
		wrap(b, "  epochs, %:  ", strings.Join(epochs, " "))
	}
	var parts []string
	for _, x := range []struct {
		name string
		at   *float64
		unit string
	}{{"spread of the epochs", p.SpreadPercent, " %"}, {"t test p", p.PValue, ""}, {"sign flip p", p.SignFlipP, ""},
		{"Hodges-Lehmann", p.ShiftPercent, " %"}, {"A/A floor", p.AAFloorPercent, " %"}, {"in cycles", p.ChangeCyclesPercent, " %"}} {
		if x.at != nil {
			parts = append(parts, fmt.Sprintf("%s %s%s", x.name, strconv.FormatFloat(*x.at, 'g', 3, 64), x.unit))
		}
	}
	parts = append(parts, p.Clock+" clock decides")
	wrap(b, "  figures:    ", strings.Join(parts, "; "))
}

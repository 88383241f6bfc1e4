package report

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"lathe/bench"
	"lathe/bench/compare"
)

// ComparisonFormats are the forms that a comparison has beyond Formats.
func ComparisonFormats() []string { return append(Formats(), "benchstat") }

// comparison is what every form of a comparison's report shows.
type comparison struct {
	result   compare.Result
	file     *bench.File // nil for two recordings
	title    string
	state    string // why the recording is not complete; "" where it is, and for two recordings
	facts    []fact
	warnings []string
}

// Comparison writes the report of an interleaved comparison's raw file.
func Comparison(w io.Writer, f *bench.File, format string) error {
	r, err := compare.Judge(f)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	r.Raw = RawPath(f)
	c := comparison{result: r, file: f, state: state(f), warnings: r.Warnings, title: f.Run.Command}
	if m := modelName(f.Run); m != "" {
		c.title += ": " + m
	}
	c.facts = slices.DeleteFunc(facts(f), func(x fact) bool { return x.name == "backend" })
	c.facts = append([]fact{{"a", variantFact(r.A)}, {"b", variantFact(r.B)}}, c.facts...)
	return c.write(w, format)
}

// TwoRecordings writes the report of two finished recordings that were judged against each other.
func TwoRecordings(w io.Writer, a, b *bench.File, r compare.Result, format string) error {
	c := comparison{result: r, title: "compare two recordings", warnings: r.Warnings}
	for _, side := range []struct {
		name string
		f    *bench.File
		is   json.RawMessage
	}{{"a", a, r.A}, {"b", b, r.B}} {
		c.facts = append(c.facts, fact{side.name, variantFact(side.is)}, fact{"", join(", ", modelFact(side.f.Run), hostFact(side.f.Run.Host))},
			fact{"", join(", ", side.f.Run.Command, side.f.Run.StartedAt, sha(side.f.SHA256))})
	}
	return c.write(w, format)
}

func (c comparison) write(w io.Writer, format string) error {
	switch format {
	case "text":
		return c.text(w)
	case "json":
		return c.json(w)
	case "csv":
		return c.csv(w)
	case "markdown":
		return c.markdown(w)
	case "benchstat":
		return c.benchstat(w)
	case "html":
		return c.html(w)
	}
	return fmt.Errorf("write report: format %q: want one of %s", format, strings.Join(ComparisonFormats(), ", "))
}

// RawPath is where a run wrote its raw file, as its header says; the file may have been moved since.
func RawPath(f *bench.File) string {
	var o struct {
		Raw string `json:"raw"`
	}
	_ = json.Unmarshal(f.Run.Options, &o) // options of another shape name no file
	return o.Raw
}

// variantFact says what a side is.
func variantFact(raw json.RawMessage) string {
	var v compare.Variant
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	parts := []string{}
	if v.File != "" {
		parts = append(parts, v.File)
	}
	if v.Backend.Path != "" {
		parts = append(parts, filepath.ToSlash(v.Backend.Path))
	}
	for _, k := range v.Kernels {
		text := k.Op + "=" + k.File
		if k.SHA256 != "" {
			text += " (sha256 " + k.SHA256[:min(12, len(k.SHA256))] + ")"
		}
		parts = append(parts, text)
	}
	return join(", ", append(parts, backendFact(v.Backend))...)
}

func (c comparison) json(w io.Writer) error {
	e := json.NewEncoder(jsonText{w})
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	r := c.result
	for _, side := range []*json.RawMessage{&r.A, &r.B} {
		if len(*side) == 0 {
			*side = json.RawMessage("null")
		}
	}
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// headline words the verdict and what carries it.
func (c comparison) headline() string {
	r := c.result
	what := map[compare.Verdict]string{
		compare.Faster: "B needs less time than A", compare.Slower: "B needs more time than A",
		compare.NoDifference: "no difference that matters", compare.Inconclusive: "the samples do not decide",
		compare.Invalid: "not comparable, or not to be believed",
	}[r.Verdict]
	return fmt.Sprintf("%s (%s)", r.Verdict, what)
}

// comparisonTable is the points as text cells.
func (c comparison) table() table {
	t := table{shown: map[string]bool{},
		titles: []string{"phase", "batch", "context", "A ms", "B ms", "change %", "threshold %", "detectable %", "epochs", "verdict"}}
	if c.file == nil {
		t.titles[8] = "steps"
	}
	for _, p := range c.result.Points {
		row := []string{string(p.Phase), strconv.Itoa(p.Batch), strconv.Itoa(p.ContextLen),
			sigOr(p.AMedianNS, msPer, 4), sigOr(p.BMedianNS, msPer, 4), changeCell(p.ChangePercent, p.IntervalPercent),
			percentCell(p.ThresholdPercent), percentCell(p.DetectablePercent), strconv.Itoa(p.Epochs), string(p.Verdict)}
		if c.file == nil {
			row[8] = strconv.Itoa(p.Steps)
		}
		t.rows = append(t.rows, row)
		t.marks = append(t.marks, t.number(c.notes(p)))
	}
	return t
}

// notes are what is said of a point beside its figures: its reasons where the headline does not give
// them, where its threshold came from, and what its checks noted.
func (c comparison) notes(p compare.PointResult) []string {
	var out []string
	for _, r := range p.Reasons {
		if !slices.Contains(c.result.Reasons, r) {
			out = append(out, r)
		}
	}
	if from := thresholdText(p); from != "" {
		out = append(out, from)
	}
	for _, v := range p.Votes {
		if v.Effect == compare.Noted && v.Check != "dependence" {
			out = append(out, v.Check+": "+v.Detail)
		}
	}
	return out
}

// thresholdText says where a threshold came from; one that came from the run itself is a reason already.
func thresholdText(p compare.PointResult) string {
	floor := "?"
	if p.AAFloorPercent != nil {
		floor = sig(*p.AAFloorPercent, 2)
	}
	switch p.ThresholdFrom {
	case compare.ThresholdAsked:
		return "threshold: as asked for with --delta"
	case compare.ThresholdLeast:
		return "threshold: the least there is"
	case compare.ThresholdCalibration:
		return "threshold: twice the stored A/A floor of " + floor + " %"
	}
	return ""
}

// changeCell is a change with its interval.
func changeCell(change *float64, interval *[2]float64) string {
	if change == nil {
		return none
	}
	text := fmt.Sprintf("%+.2f", *change)
	if interval != nil {
		text += fmt.Sprintf(" [%+.2f, %+.2f]", interval[0], interval[1])
	}
	return text
}

func percentCell(x *float64) string { return sigOr(x, 1, 2) }

// legend says what the columns of a comparison mean.
func (c comparison) legend() []string {
	l := []string{"A ms, B ms: median over the slots' medians. change: mean over epochs (fresh sessions), not over steps, with the " +
		"interval that the verdict was read from; negative: B needs less time. detectable: smallest true change that this " +
		"spread and number of epochs finds 8 times of 10."}
	if c.file == nil {
		l = []string{"A ms, B ms: median over the common steps. change: B against A, with the interval of this pair of runs; negative: " +
			"B needs less time. detectable: smallest true change that would have been found 8 times of 10."}
	}
	return l
}

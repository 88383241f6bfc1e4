package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"lathe/bench/audit"
)

// auditFile is one file in the JSON of an audit.
type auditFile struct {
	Name     string      `json:"name"`
	Form     string      `json:"form"`
	Kind     audit.Kind  `json:"kind"`
	Harness  string      `json:"harness"`
	Versions []string    `json:"harness_versions"` // that the file fits
	Backend  *string     `json:"backend"`
	Entry    int         `json:"entry"`
	Entries  int         `json:"entries"`
	Facts    []auditFact `json:"facts"`
	Warnings []string    `json:"warnings"`
}

type auditFact struct {
	Name  string  `json:"name"`
	Value *string `json:"value"` // null: not told
	Why   string  `json:"why,omitempty"`
}

func auditFileOf(f *audit.File) auditFile {
	j := auditFile{Name: f.Name, Form: f.Form, Kind: f.Kind, Harness: string(f.Harness), Versions: []string{}, Entry: f.Entry, Entries: f.Entries,
		Facts: []auditFact{}, Warnings: listed(f.Warnings)}
	for _, v := range f.Versions {
		j.Versions = append(j.Versions, string(v))
	}
	if f.Backend != "" {
		j.Backend = &f.Backend
	}
	for _, x := range audit.Facts(f) {
		fact := auditFact{Name: x.Name}
		if x.Told {
			fact.Value = &x.Value
		} else {
			fact.Why = x.Value
		}
		j.Facts = append(j.Facts, fact)
	}
	return j
}

type auditRow struct {
	ID       string       `json:"id"`
	Topic    string       `json:"topic"`
	Effect   audit.Effect `json:"effect"`
	A        string       `json:"a"`
	B        string       `json:"b"`
	Moves    []auditMove  `json:"moves"`
	Evidence *string      `json:"evidence"`
	Keeps    string       `json:"still_compares"`
}

type auditMove struct {
	Figure    audit.Figure `json:"figure"`
	Direction string       `json:"direction"`
}

type auditRemark struct {
	ID    string `json:"id"`
	Topic string `json:"topic"`
	Why   string `json:"why"`
	Rare  bool   `json:"rare,omitempty"` // a difference on streams of a kind that the files do not tell
}

// auditLine is one figure of a pair.
type auditLine struct {
	Figure audit.Figure  `json:"figure"`
	Unit   string        `json:"unit"`
	A      *float64      `json:"a"`
	B      *float64      `json:"b"`
	Moved  []auditMoving `json:"moved_by"` // none: it compares
}

type auditMoving struct {
	Direction string   `json:"direction"`
	Rows      []string `json:"rows"`
}

func auditLines(c *audit.Comparison) []auditLine {
	out := []auditLine{}
	for _, l := range c.Summary() {
		j := auditLine{Figure: l.Figure, Unit: l.Unit, A: l.A, B: l.B, Moved: []auditMoving{}}
		for _, m := range l.By {
			j.Moved = append(j.Moved, auditMoving{m.Direction, m.Rows})
		}
		out = append(out, j)
	}
	return out
}

func auditRemarks(all []audit.Remark) []auditRemark {
	out := []auditRemark{}
	for _, r := range all {
		out = append(out, auditRemark{r.ID, r.Topic, r.Why, r.Rare})
	}
	return out
}

func auditPairJSON(w io.Writer, c *audit.Comparison) error {
	d := struct {
		Comparable bool           `json:"comparable"`
		A          auditFile      `json:"a"`
		B          auditFile      `json:"b"`
		Reading    *string        `json:"reading"` // by whose rules a capture is taken to be read
		Figures    []auditLine    `json:"figures"`
		Rows       []auditRow     `json:"rows"`
		NotTold    []auditRemark  `json:"not_told"`
		RuledOut   []auditRemark  `json:"ruled_out"`
		Unmoved    []audit.Figure `json:"unmoved"`
	}{Comparable: c.Comparable, A: auditFileOf(c.A), B: auditFileOf(c.B), Figures: auditLines(c), Rows: []auditRow{}, NotTold: auditRemarks(c.NotTold), RuledOut: auditRemarks(c.RuledOut), Unmoved: listed(c.Unmoved)}
	if c.Reading != "" {
		d.Reading = &c.Reading
	}
	for _, f := range c.Rows {
		row := auditRow{ID: f.ID, Topic: f.Topic, Effect: f.Effect, A: f.A, B: f.B, Moves: []auditMove{}, Keeps: f.Keeps}
		if f.Evidence != "" {
			row.Evidence = &f.Evidence
		}
		for _, m := range f.Moves {
			row.Moves = append(row.Moves, auditMove{m.Figure, m.Direction})
		}
		d.Rows = append(d.Rows, row)
	}
	return auditEncode(w, d)
}

type auditOutcome struct {
	Check   int              `json:"check"`
	Title   string           `json:"title"`
	Reading *string          `json:"reading"`
	N       int              `json:"n"`
	Doubt   bool             `json:"doubt"`
	Made    bool             `json:"made"`
	Values  []auditNamedUnit `json:"values"`
	Words   []string         `json:"words"`
}

type auditNamedUnit struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
	Unit  string   `json:"unit,omitempty"`
}

func auditFileJSON(w io.Writer, r *audit.Report) error {
	d := struct {
		File   auditFile      `json:"file"`
		Checks []auditOutcome `json:"checks"`
	}{auditFileOf(r.File), []auditOutcome{}}
	for _, o := range r.Outcomes {
		j := auditOutcome{Check: o.Check, Title: o.Title, N: o.N, Doubt: o.Doubt, Made: !o.NotMade, Values: []auditNamedUnit{}, Words: listed(o.Words)}
		if o.Reading != "" {
			j.Reading = &o.Reading
		}
		for _, v := range o.Values {
			named := auditNamedUnit{Name: v.Name, Unit: v.Unit}
			if !math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) {
				named.Value = &v.Value
			}
			j.Values = append(j.Values, named)
		}
		d.Checks = append(d.Checks, j)
	}
	return auditEncode(w, d)
}

func auditEncode(w io.Writer, d any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return fmt.Errorf("write audit: %w", err)
	}
	return nil
}

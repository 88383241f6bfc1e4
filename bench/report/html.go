package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"lathe/bench"
)

//go:embed page.html
var pageSource string

// page is one self-contained HTML document: no script, nothing from elsewhere.
type page struct {
	Title    string
	State    string // why it is incomplete; "" where it is complete
	Banner   *banner
	Warnings []string
	Sections []section
	Facts    []pageFact
}

// banner is the verdict on top.
type banner struct {
	Verdict string // also the CSS class
	Line    string // the interval, the threshold, the n
	Reasons []string
}

type pageFact struct{ Name, Value string }

// section is a heading with a table and figures below it.
type section struct {
	Title   string
	Table   *pageTable
	Figures []pageFigure
	Notes   []string
}

type pageFigure struct {
	SVG     template.HTML // made by package figure, which escapes what it is given
	Caption string
}

type pageTable struct {
	Labelled bool // the first column is words
	Head     []string
	Rows     []pageRow
}

// pageRow is the cells of a row; the last one spans the columns that are left.
type pageRow struct {
	Cells []string
	Last  string // of a row that has no figures: its reason
	Span  int
	Mark  string
}

// HTML writes the report as one page for a browser or a printer.
func HTML(w io.Writer, f *bench.File) error {
	p, err := runPage(f)
	if err != nil {
		return err
	}
	return p.write(w)
}

func (p page) write(w io.Writer) error {
	t, err := template.New("page").Parse(pageSource)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return flush(w, &b)
}

// runPage is the page of one-batch, latency and roofline.
func runPage(f *bench.File) (page, error) {
	v := look(f)
	p := page{Title: join(" ", v.title), State: v.state, Warnings: cleaned(v.warnings), Facts: pageFacts(v.facts)}
	if len(v.points) == 0 {
		p.Sections = []section{{Title: "Points", Notes: []string{"No point was measured."}}}
		return p, nil
	}
	t := v.table()
	p.Sections = append(p.Sections, section{Title: "Points", Table: t.page(), Notes: append(numbered(t.notes), t.legend()...)})
	if v.roofline != nil {
		s, err := roofSections(*v.roofline)
		if err != nil {
			return p, err
		}
		p.Sections = append(p.Sections, s...)
	}
	for _, point := range v.points {
		s, err := pointSection(point)
		if err != nil {
			return p, err
		}
		if s != nil {
			p.Sections = append(p.Sections, *s)
		}
	}
	return p, nil
}

// page gives the table to a page.
func (t *table) page() *pageTable {
	out := &pageTable{Head: append([]string{}, t.titles...)}
	for i, row := range t.rows {
		r := pageRow{Mark: t.marks[i]}
		if len(row) < len(t.titles) {
			last := len(row) - 1
			r.Last, r.Span = row[last], len(t.titles)-last
			row = row[:last]
		}
		r.Cells = row
		out.Rows = append(out.Rows, r)
	}
	return out
}

// numbered puts a note's number before it.
func numbered(notes []string) []string {
	var out []string
	for i, n := range notes {
		out = append(out, fmt.Sprintf("[%d] %s", i+1, n))
	}
	return out
}

func pageFacts(facts []fact) []pageFact {
	var out []pageFact
	for _, f := range facts {
		out = append(out, pageFact{f.name, f.value})
	}
	return out
}

func cleaned(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, plain(t))
	}
	return out
}

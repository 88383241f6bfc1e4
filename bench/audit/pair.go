package audit

import (
	"slices"

	"lathe/bench/serving"
)

// Effect is what a row does to a pair.
type Effect string

// The effects.
const (
	Moves    Effect = "moves"     // figures of the two do not compare
	OneSided Effect = "one-sided" // a figure is in one of them only
)

// Move is one figure that a row moves.
type Move struct {
	Figure    Figure
	Direction string // "higher in B", "lower in B", "either way", "only in A", "only in B"
}

// eitherWay is the direction of a row whose direction is not known.
const eitherWay = "either way"

// Finding is a row that two files differ in.
type Finding struct {
	ID, Topic string
	Effect    Effect
	A, B      string // what each does
	Moves     []Move
	Keeps     string // what can still be compared, as far as this row goes
	Evidence  string // by what the files show it, "" where the rules alone do
}

// Remark is a row without a finding, and why.
type Remark struct {
	ID, Topic, Why string
	// Rare says that the two differ, but on streams of a kind only that the files do
	// not tell.
	Rare bool
}

// Comparison is what [Compare] says of two files.
type Comparison struct {
	A, B     *File
	Rows     []Finding
	NotTold  []Remark
	RuledOut []Remark
	// Comparable says that no row is known to move a figure.
	Comparable bool
	// Unmoved are the figures that both hold and no row moves.
	Unmoved []Figure
	// Reading says by whose rules a capture was taken to be read, "" without one.
	Reading string
	// Uncovered are harnesses that the tables do not cover: most of their rows are
	// not told and left out.
	Uncovered []Harness
}

// Compare says row by row why two files do or do not compare.
func Compare(a, b *File) *Comparison {
	c := &Comparison{A: a, B: b}
	if a.Kind != b.Kind || a.Kind != Serving {
		c.offline()
		return c
	}
	ra, rb := c.asRead(a, b)
	for _, r := range rows() {
		fa, fb := a, b
		if r.reading && !r.captures && a.Harness == Lathe && b.Harness == Lathe {
			continue
		}
		if r.reading {
			fa, fb = ra, rb
		}
		c.row(&r, fa, fb)
	}
	c.close()
	return c
}

// asRead gives a capture the harness of the other file, by whose rules it can be
// read.
func (c *Comparison) asRead(a, b *File) (*File, *File) {
	for _, h := range []Harness{a.Harness, b.Harness} {
		if h != Lathe && !harnessed(side{File: &File{Harness: h}}) {
			c.Uncovered = append(c.Uncovered, h)
		}
	}
	switch {
	case a.Harness == Lathe && b.Harness != Lathe:
		return c.likened(a, b), b
	case b.Harness == Lathe && a.Harness != Lathe:
		return a, c.likened(b, a)
	}
	return a, b
}

func (c *Comparison) likened(capture, to *File) *File {
	c.Reading = "exact"
	if !harnessed(side{File: to}) {
		return capture
	}
	f := *capture
	f.Harness, f.Versions, f.Backend = to.Harness, to.Versions, to.Backend
	f.Counts, f.Stats, f.Requests, f.Work.AcceptLength = to.Counts, to.Stats, to.Requests, to.Work.AcceptLength
	if n, ok := capture.survived[to.Harness]; ok && slices.Contains(to.Versions, serving.Latest) {
		f.Counts.Completed, f.Counts.Failed = &n[0], &n[1]
	} else {
		f.Counts.Completed, f.Counts.Failed = capture.Counts.Completed, capture.Counts.Failed
	}
	f.Detailed, f.MultiTurn, f.Other, f.Load.Probes = to.Detailed, to.MultiTurn, to.Other, to.Load.Probes
	f.Work.GoodputAsked, f.Work.ReportedSLOs = to.Work.GoodputAsked, to.Work.ReportedSLOs
	switch to.Harness {
	case VLLM, VLLMRust:
		c.Reading = "vllm:" + to.Backend
	case SGLang, SGLangRust:
		c.Reading = "sglang:" + to.Backend
	}
	if to.WireKnown && f.WireKnown && to.Wire != f.Wire {
		c.Reading = "" // another endpoint: no reading makes them one
	}
	return &f
}

// row judges one row.
func (c *Comparison) row(r *row, a, b *File) {
	sa, sb := at(a), at(b)
	if r.never != "" || r.arises != nil && !r.arises(sa, sb) {
		return
	}
	x, y := r.stanceOf(a), r.stanceOf(b)
	switch {
	case x.unknown != "" || y.unknown != "":
		if len(c.Uncovered) == 0 || r.state != nil {
			c.NotTold = append(c.NotTold, Remark{ID: r.id, Topic: r.topic, Why: unknownWhy(x, y)})
		}
		return
	case r.equal != nil:
		same, open := r.equal(sa, sb)
		if open != "" {
			c.NotTold = append(c.NotTold, Remark{ID: r.id, Topic: r.topic, Why: open})
		}
		if same {
			return
		}
	case x.does == y.does:
		return
	}
	f := Finding{ID: r.id, Topic: r.topic, Effect: Moves, A: x.does, B: y.does, Keeps: r.keeps}
	if r.oneSided {
		f.Effect = OneSided
	}
	if r.ruledOut != nil {
		if why := r.ruledOut(sa, sb); why != "" {
			c.RuledOut = append(c.RuledOut, Remark{ID: r.id, Topic: r.topic, Why: why})
			return
		}
	}
	if r.shown != nil {
		f.Evidence = r.shown(sa, sb)
	}
	if r.rare != nil && f.Evidence == "" {
		if condition := r.rare(x, y); condition != "" {
			c.NotTold = append(c.NotTold, Remark{r.id, r.topic, "where " + condition + ": A, " + x.does + "; B, " + y.does, true})
			return
		}
	}
	if f.Moves = r.directions(sa, sb, x, y); r.list != nil {
		f.Moves = r.list(sa, sb)
	}
	f.Moves = c.held(f.Moves)
	c.Rows = append(c.Rows, f)
}

// at is a file under the newest state that it fits, for the questions that do
// not hang on it.
func at(f *File) side {
	v := serving.Latest
	if n := len(f.Versions); n > 0 {
		v = f.Versions[n-1]
	}
	sw, _ := serving.SwitchesOf(v)
	return side{f, sw}
}

func unknownWhy(x, y stance) string {
	switch {
	case x.unknown == y.unknown:
		return x.unknown
	case x.unknown == "":
		return "A, " + x.does + "; B, " + y.unknown
	case y.unknown == "":
		return "A, " + x.unknown + "; B, " + y.does
	}
	return "A, " + x.unknown + "; B, " + y.unknown
}

func (r *row) directions(a, b side, x, y stance) []Move {
	var by map[Figure]int
	if r.directed != nil {
		by = r.directed(a, b)
	}
	moves := make([]Move, 0, len(r.moves))
	for _, f := range r.moves {
		d := y.reads[f] - x.reads[f]
		if by != nil {
			d = by[f]
		}
		m := Move{f, eitherWay}
		switch {
		case r.oneSided:
			m.Direction = r.only(a, b)
		case d > 0:
			m.Direction = "higher in B"
		case d < 0:
			m.Direction = "lower in B"
		}
		moves = append(moves, m)
	}
	return moves
}

// only says which of two files holds a figure of a one-sided row.
func (r *row) only(a, b side) string {
	x, y := r.stanceAt(a), r.stanceAt(b)
	switch {
	case x.does == absent:
		return "only in B"
	case y.does == absent:
		return "only in A"
	}
	return "not the same in both"
}

// absent is the stance of a file that lacks a figure.
const absent = "not in it"

// held leaves out the figures that neither file has.
func (c *Comparison) held(moves []Move) []Move {
	kept := make([]Move, 0, len(moves))
	for _, m := range moves {
		if c.A.holds(m.Figure) || c.B.holds(m.Figure) {
			kept = append(kept, m)
		}
	}
	if len(kept) == 0 {
		return moves
	}
	return kept
}

// close says what is left.
func (c *Comparison) close() {
	moved := map[Figure]bool{}
	c.Comparable = true
	for _, f := range c.Rows {
		if f.Effect == Moves {
			c.Comparable = false
		}
		for _, m := range f.Moves {
			moved[m.Figure] = true
		}
	}
	if moved[Everything] {
		return
	}
	for _, f := range figures() {
		if !moved[f] && c.A.holds(f) && c.B.holds(f) {
			c.Unmoved = append(c.Unmoved, f)
		}
	}
}

// figures are those that a result can hold, in the order of a report.
func figures() []Figure {
	return slices.Concat([]Figure{Completed, FailedCount}, rates(), []Figure{InputTokens, OutputTokens, Retokens, PeakRate, PeakConcurrent}, times(), []Figure{Tails, Acceptance})
}

// holds says whether a file has a figure; a capture has those of every reading.
func (f *File) holds(x Figure) bool {
	switch x {
	case TTFT, ITL, TPOT, E2EL:
		return f.Harness == Lathe || f.has(x)
	case Completed:
		return f.Counts.Completed != nil
	case FailedCount:
		return f.Counts.Failed != nil
	case Acceptance:
		return f.Work.AcceptLength != nil
	case Goodput:
		return f.Work.GoodputAsked
	case InputRate, Concurrency, Retokens:
		return f.Harness == Lathe || slices.Contains(f.Other, string(x))
	case Tails:
		return f.Harness == Lathe || len(f.Stats) > 0
	}
	return true
}

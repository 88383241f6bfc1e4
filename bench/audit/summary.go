package audit

import "slices"

// Line is one figure of a pair: what each file says of it, and whether the two
// compare.
type Line struct {
	Figure Figure
	Unit   string   // "ms" (a mean), "s", "/s", "" for a count or a ratio
	A, B   *float64 // nil where the file does not say, or a capture is yet to be read
	By     []Moved  // the rows that move it; none where it compares
}

// Moved are the rows that move a figure in one direction.
type Moved struct {
	Direction string
	Rows      []string // ids
}

// Summary is a pair by its figures: those that either file holds, in the order
// of a report. It is empty for files that are not both of requests.
func (c *Comparison) Summary() []Line {
	if c.A.Kind != Serving || c.B.Kind != Serving {
		return nil
	}
	var all []Line
	for _, figure := range figures() {
		l := Line{Figure: figure, By: c.movedBy(figure)}
		l.A, l.Unit = c.A.figure(figure)
		l.B, _ = c.B.figure(figure)
		if both := c.A.holds(figure) && c.B.holds(figure); both || len(l.By) > 0 && (c.A.holds(figure) || c.B.holds(figure)) {
			all = append(all, l)
		}
	}
	return all
}

// movedBy gathers the rows that move a figure, by direction. A row that moves
// every figure moves this one either way.
func (c *Comparison) movedBy(figure Figure) []Moved {
	var by []Moved
	for _, f := range c.Rows {
		for _, m := range f.Moves {
			if m.Figure != figure && m.Figure != Everything {
				continue
			}
			at := slices.IndexFunc(by, func(x Moved) bool { return x.Direction == m.Direction })
			if at < 0 {
				at, by = len(by), append(by, Moved{Direction: m.Direction})
			}
			by[at].Rows = append(by[at].Rows, f.ID)
		}
	}
	slices.SortStableFunc(by, func(x, y Moved) int { return openEnd(x) - openEnd(y) })
	return by
}

// openEnd puts the rows of no known direction last.
func openEnd(m Moved) int {
	if m.Direction == eitherWay {
		return 1
	}
	return 0
}

// figure is what a file says of a figure; a capture says nothing until it is
// read by somebody's rules.
func (f *File) figure(x Figure) (value *float64, unit string) {
	c := &f.Counts
	if f.Harness == Lathe && x != Duration {
		return nil, ""
	}
	switch x {
	case TTFT, ITL, TPOT, E2EL:
		if v, ok := f.stat(x, "mean"); ok {
			value = &v
		}
		return value, "ms"
	case Completed:
		return asFloat(c.Completed), ""
	case FailedCount:
		if n, ok := f.failed(); ok {
			value = asFloat(&n)
		}
		return value, ""
	case InputTokens:
		return asFloat(c.Input), ""
	case OutputTokens:
		return asFloat(c.Output), ""
	case Retokens:
		return asFloat(c.Retokenised), ""
	case Duration:
		return c.Duration, "s"
	case Acceptance:
		return f.Work.AcceptLength, ""
	case RequestRate:
		return f.rate(asFloat(c.Completed)), "/s"
	case InputRate:
		return f.rate(asFloat(c.Input)), "/s"
	case OutputRate:
		return f.rate(asFloat(c.Output)), "/s"
	case TotalRate:
		if in, out := asFloat(c.Input), asFloat(c.Output); in != nil && out != nil {
			total := *in + *out
			value = f.rate(&total)
		}
		return value, "/s"
	}
	return nil, ""
}

func asFloat[T int | int64](n *T) *float64 {
	if n == nil {
		return nil
	}
	x := float64(*n)
	return &x
}

// rate is a count over the duration.
func (f *File) rate(n *float64) *float64 {
	if d := f.Counts.Duration; n != nil && d != nil && *d > 0 {
		x := *n / *d
		return &x
	}
	return nil
}

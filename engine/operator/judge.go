package operator

import (
	"fmt"
	"math"

	"lathe/engine/native"
)

// Bounds of the distance from the float64 reference, relative L2 over segments of an output and over
// the whole of it.
const (
	boundF32  = 1e-5
	boundBF16 = 3e-3 // for each rounding to bf16, in quadrature
	// timesBuiltin is how much further away than our own operator a kernel may be.
	timesBuiltin = 2
	// boundFloor is where that rule ends: our own operator may be exact.
	boundFloor = 1e-4
	// segment is the length that distances are taken over beside the whole of an output, about: a wrong
	// head, or a few wrong columns of a long row, must not drown in the rest.
	segment = 64
	// few widens the bound for a segment, and for an output below enough elements. There a few large
	// elements decide, and one that is rounded right may lie 2^-8 = 3.9e-3 from its value.
	few    = 1.5
	enough = 1024
	// gross is a distance that no lower precision explains.
	gross = 0.1
)

// bound is what outputs may be off that were rounded to bf16 so many times on their way, each rounding
// independent of the others; 0: never. builtin is our own operator's distance on the same inputs in the
// segment where it is furthest off (negative: not known). Without a rounding it is the wider of two
// bounds: a path of ours that rounds inputs to bf16 must not refuse its own copy.
func bound(roundings int, builtin float64) float64 {
	if roundings == 0 {
		return math.Max(boundF32, timesBuiltin*builtin)
	}
	b := boundBF16 * math.Sqrt(float64(roundings))
	if builtin < 0 {
		return b
	}
	return math.Max(boundFloor, math.Min(b, timesBuiltin*builtin))
}

// allowed is the bound of a region of a problem.
func (p *problem) allowed(region int, builtin float64) float64 {
	n := p.roundings(region)
	if n > 0 {
		return bound(n, builtin)
	}
	return p.loose * bound(0, builtin)
}

// roundings is how often a region's outputs are rounded to bf16: on the way, and by their own type.
func (p *problem) roundings(region int) int {
	if p.regions[region].elem == native.BF16 {
		return p.rounds + 1
	}
	return p.rounds
}

// outcome is what a call left in its outputs.
type outcome struct {
	unwritten int // fresh elements that hold the poison
	fresh     int // fresh elements
	changed   bool
	hole      string // where the first unwritten element is
	lostNaN   string // where a NaN should be and is not
	strayNaN  string // where a NaN is and should not be
	token     string // a token that is no index of a largest value
	bad       []string
	segments  int
	worst     float64 // relative L2 of the worst segment over what is allowed
	distance  float64 // of that segment
	allowed   float64
	total     []float64 // relative L2 of each region with runs; NaN where nothing was compared
	counts    []int     // elements that it is over
	peak      []float64 // largest relative L2 of a segment, a region
}

func (o outcome) right() bool {
	return o.unwritten == 0 && o.lostNaN == "" && o.strayNaN == "" && o.token == "" && len(o.bad) == 0
}

// judge compares outputs with the reference. got holds a copy of each region that has runs; before is
// the pattern that fresh runs were filled with; allowed is the bound of each region.
func judge(p *problem, got [][]byte, before pattern, allowed []float64) outcome {
	o := outcome{total: make([]float64, len(p.regions)), counts: make([]int, len(p.regions)), peak: make([]float64, len(p.regions))}
	square, norm := make([]float64, len(p.regions)), make([]float64, len(p.regions))
	for _, r := range p.runs {
		g := p.regions[r.region]
		data := got[r.region]
		if o.written(r, g, data, before) {
			switch r.kind {
			case valuesRun:
				a, b := o.values(r, g, data, allowed[r.region])
				square[r.region] += a
				norm[r.region] += b
				o.counts[r.region] += r.n
			case logsRun:
				o.logs(r, g, data, allowed[r.region])
			case tokenRun:
				o.choice(r, g, data, allowed[r.region])
			}
		}
	}
	for i, g := range p.regions {
		o.total[i] = math.Sqrt(square[i] / norm[i])
		switch allowed := allowed[i]; {
		case norm[i] == 0:
			o.total[i] = math.NaN()
		case o.total[i] > allowed && o.counts[i] >= enough:
			o.bad = append(o.bad, g.name+" as a whole")
			o.note(o.total[i], allowed)
		}
	}
	return o
}

// written counts what of a fresh run still holds the poison, and says whether anything of the run was
// written.
func (o *outcome) written(r run, g *region, data []byte, before pattern) bool {
	w := width(g.elem)
	if !r.fresh {
		o.changed = o.changed || string(data[r.at*w:(r.at+r.n)*w]) != string(g.data[r.at*w:(r.at+r.n)*w])
		return true
	}
	o.fresh += r.n
	left := 0
	for i := r.at; i < r.at+r.n; i++ {
		if before.holds(g.elem, data, i) {
			if o.hole == "" {
				o.hole = fmt.Sprintf("element %d of %s", i-r.at, r.label)
			}
			left++
		}
	}
	o.unwritten += left
	return left == 0
}

// values compares a run by segments and returns the squares of the distance and of the reference over
// the whole of it.
func (o *outcome) values(r run, g *region, data []byte, allowed float64) (square, norm float64) {
	allowed *= few
	segments := max(1, r.n/segment)
	for k := range segments {
		from, to := k*r.n/segments, (k+1)*r.n/segments
		var s, n float64
		for i := from; i < to; i++ {
			want, have := r.want[i], get(g.elem, data, r.at+i)
			if o.notANumber(r, i, want, have) {
				continue
			}
			s += (have - want) * (have - want)
			n += want * want
		}
		square, norm = square+s, norm+n
		o.segments++
		distance := relative(s, n)
		o.peak[r.region] = max(o.peak[r.region], distance)
		if distance > allowed {
			o.bad = append(o.bad, part(r, from, to))
			o.note(distance, allowed)
		} else if distance > o.distance {
			o.note(distance, allowed)
		}
	}
	return square, norm
}

// relative is the L2 distance over the reference's norm: of a reference that is zero, 0 or infinity.
func relative(square, norm float64) float64 {
	if square == 0 {
		return 0
	}
	return math.Sqrt(square / norm)
}

func (o *outcome) note(distance, allowed float64) {
	if distance/allowed > o.worst {
		o.worst, o.distance, o.allowed = distance/allowed, distance, allowed
	}
}

// notANumber handles what a distance cannot: true where either is a NaN or the output infinite.
func (o *outcome) notANumber(r run, i int, want, have float64) bool {
	switch bad := math.IsNaN(have) || math.IsInf(have, 0); {
	case math.IsNaN(want) && !math.IsNaN(have):
		if o.lostNaN == "" {
			o.lostNaN = fmt.Sprintf("%s, element %d", r.label, i)
		}
		return true
	case math.IsNaN(want):
		return true
	case bad:
		if o.strayNaN == "" {
			o.strayNaN = fmt.Sprintf("%s, element %d", r.label, i)
		}
		return true
	}
	return false
}

// part names elements of a run.
func part(r run, from, to int) string {
	if from == 0 && to == r.n {
		return r.label
	}
	return fmt.Sprintf("elements %d to %d of %s", from, to-1, r.label)
}

// logs compares logarithms and single values, each by its distance over 1 or its own size.
func (o *outcome) logs(r run, g *region, data []byte, allowed float64) {
	for i, want := range r.want {
		have := get(g.elem, data, r.at+i)
		if o.notANumber(r, i, want, have) {
			continue
		}
		o.segments++
		allowed := logsSlack * allowed
		d := math.Abs(have-want) / math.Max(1, math.Abs(want))
		o.peak[r.region] = max(o.peak[r.region], d)
		if d > allowed {
			o.bad = append(o.bad, fmt.Sprintf("%s, element %d", r.label, i))
			o.note(d, allowed)
		}
	}
}

// logsSlack widens the bound for single values, whose distance no average calms.
const logsSlack = 4

// choice wants an index whose value is largest, up to what the values themselves may be off.
func (o *outcome) choice(r run, g *region, data []byte, allowed float64) {
	best := r.choice[int(r.want[0])]
	if math.IsNaN(best) {
		return // whatever is chosen, the NaN shows in the value
	}
	have := int(get(g.elem, data, r.at))
	if have < 0 || have >= len(r.choice) {
		o.token = fmt.Sprintf("%s is %d, outside 0 to %d", r.label, have, len(r.choice)-1)
	} else if off := best - r.choice[have]; off > 2*logsSlack*allowed*math.Max(1, math.Abs(best)) {
		o.token = fmt.Sprintf("%s is %d, whose logit is %.4g below the largest, that of %d", r.label, have, off, int(r.want[0]))
	}
}

// resembles says that outputs are those of another problem of the same shape: every run of values
// lies nearer to its reference than a gross error.
func resembles(other *problem, got [][]byte) bool {
	seen := false
	for _, r := range other.runs {
		if r.kind != valuesRun {
			continue
		}
		var s, n float64
		for i, want := range r.want {
			have := get(other.regions[r.region].elem, got[r.region], r.at+i)
			if math.IsNaN(want) || math.IsNaN(have) {
				continue
			}
			s += (have - want) * (have - want)
			n += want * want
		}
		if n == 0 || math.IsNaN(s) || relative(s, n) > gross {
			return false
		}
		seen = true
	}
	return seen
}

// fault turns an outcome that is not right into a finding about the numbers alone.
func (o outcome) fault() Finding {
	switch {
	case o.unwritten > 0:
		return Finding{Code: Unwritten, Detail: fmt.Sprintf("%d of %d outputs are not written, the first is %s", o.unwritten, o.fresh, o.hole)}
	case o.strayNaN != "":
		return Finding{Code: OutOfBounds, Detail: fmt.Sprintf("%s is no finite number: gaps, unused pages and slots past the end hold NaN, "+
			"and it uses one of them, or it overflows", o.strayNaN)}
	case o.lostNaN != "":
		return Finding{Code: LosesNaN, Detail: fmt.Sprintf("%s should be NaN, because an input is", o.lostNaN)}
	case len(o.bad) > 0 && o.distance > gross && 2*len(o.bad) <= o.segments:
		return Finding{Code: WrongPart, Detail: fmt.Sprintf("%d of %d parts are wrong, the first is %s (worst relative L2 %.2g); the others are right",
			len(o.bad), o.segments, o.bad[0], o.distance)}
	case len(o.bad) > 0 && o.distance > gross:
		return Finding{Code: WrongNumbers, Detail: fmt.Sprintf("relative L2 %.2g from the reference in %s", o.distance, o.bad[0])}
	case len(o.bad) > 0:
		return Finding{Code: LowPrecision, Detail: fmt.Sprintf("relative L2 %.2g from the reference in %s, %.2g is allowed", o.distance, o.bad[0], o.allowed)}
	case o.token != "":
		return Finding{Code: WrongNumbers, Detail: o.token}
	}
	return Finding{}
}

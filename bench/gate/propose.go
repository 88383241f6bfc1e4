package gate

import (
	"fmt"
	"math"
	"slices"

	"lathe/bench"
	"lathe/bench/metric"
)

// ProposeOptions say how bounds are made.
type ProposeOptions struct {
	Delta   float64 // least distance of a bound from the median, as a ratio
	MinRuns int     // fewer runs make no bound
	Date    string  // of the proposal; a label
	// Floor gives the noise floor of a key, as a ratio, where one is known: a bound
	// keeps at least twice that distance. Nil: none is known.
	Floor func(Key) (ratio float64, ok bool)
}

// DefaultProposal asks for ten recordings and keeps one percent of distance.
func DefaultProposal() ProposeOptions { return ProposeOptions{Delta: 0.01, MinRuns: 10} }

const (
	madScale  = 1.4826 // makes a MAD comparable with a standard deviation
	madFactor = 3
)

// Propose makes bounds from accepted recordings, one value a recording and key:
//
//	upper = median * (1 + max(delta, 2*floor, 3*1.4826*MAD/median)), lower likewise below
//
// The strings say what was left out and why.
func Propose(runs []Run, o ProposeOptions) (Bounds, []string, error) {
	out := Bounds{Schema: Schema, Bounds: []Bound{}}
	if !(o.Delta > 0 && o.Delta < 1) || o.MinRuns < 1 {
		return out, nil, fmt.Errorf("propose bounds: delta %g, at least %d runs: want above 0 and below 1, and at least 1", o.Delta, o.MinRuns)
	}
	seen := map[string]string{}
	for _, run := range runs {
		if run.Refused != "" {
			return out, nil, fmt.Errorf("propose bounds: %s: %s", run.Name, run.Refused)
		}
		if before, ok := seen[run.SHA256]; ok && run.SHA256 != "" {
			return out, nil, fmt.Errorf("propose bounds: %s and %s are the same recording", before, run.Name)
		}
		seen[run.SHA256] = run.Name
	}
	var left []string
	for _, key := range keys(runs) {
		var values []float64
		var from []string
		for _, run := range runs {
			for _, m := range run.Measurements {
				if m.Key.equal(key) && m.Unmeasured == "" {
					values, from = append(values, m.ValueNS), append(from, run.SHA256)
				}
			}
		}
		if len(values) < o.MinRuns {
			left = append(left, fmt.Sprintf("%s: %d recordings, want %d", key, len(values), o.MinRuns))
			continue
		}
		slices.Sort(from)
		out.Bounds = append(out.Bounds, boundOf(key, values, from, o))
	}
	return out, left, nil
}

func boundOf(key Key, values []float64, from []string, o ProposeOptions) Bound {
	m := median(values)
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - m)
	}
	distance := max(o.Delta, madFactor*madScale*median(deviations)/m)
	if o.Floor != nil {
		if floor, ok := o.Floor(key); ok {
			distance = max(distance, 2*floor)
		}
	}
	return Bound{
		Key: key, MedianNS: m, UpperNS: math.Ceil(m * (1 + distance)), LowerNS: math.Floor(m * max(0, 1-distance)),
		N: len(values), MadeFrom: from, Date: o.Date,
	}
}

// Renew puts proposed bounds into the place of those of the same key and adds the
// others. The strings say what changes.
func Renew(old, proposed Bounds) (Bounds, []string) {
	out := Bounds{Schema: Schema, Bounds: slices.Clone(old.Bounds)}
	var changes []string
	for _, x := range proposed.Bounds {
		i := slices.IndexFunc(out.Bounds, func(y Bound) bool { return y.Key.equal(x.Key) })
		if i < 0 {
			out.Bounds = append(out.Bounds, x)
			changes = append(changes, fmt.Sprintf("%s: new, %s", x.Key, milliseconds(x.MedianNS)))
			continue
		}
		was := out.Bounds[i].MedianNS
		out.Bounds[i] = x
		changes = append(changes, fmt.Sprintf("%s: %s to %s (%s)", x.Key, milliseconds(was), milliseconds(x.MedianNS), signed(100*(x.MedianNS/was-1))))
	}
	return out, changes
}

// median is that of metric's summaries; 0 of nothing.
func median(xs []float64) float64 {
	if m := metric.Summarise(bench.SemanticsStep, "", "", xs).Median; m != nil {
		return *m
	}
	return 0
}

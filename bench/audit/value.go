package audit

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"lathe/bench/frame"
)

// fields reads members of an object and keeps the first thing that is wrong.
type fields struct {
	v   frame.Value
	err error
}

func (d *fields) fail(key, why string) {
	if d.err == nil {
		d.err = fmt.Errorf("%q %s", key, why)
	}
}

// text is a string; "" where it is missing or null.
func (d *fields) text(key string) string {
	switch v := d.v.Get(key); v.Kind() {
	case frame.Missing, frame.Null:
		return ""
	case frame.String:
		return v.Text()
	default:
		d.fail(key, "is no string")
		return ""
	}
}

// number is a finite number; nil where it is missing, null or NaN. "inf" is
// infinite, as is Infinity.
func (d *fields) number(key string) *float64 {
	v := d.v.Get(key)
	switch v.Kind() {
	case frame.Missing, frame.Null:
		return nil
	case frame.Int, frame.Float:
		if x, ok := v.Float(); ok && !math.IsNaN(x) {
			return &x
		}
		return nil
	case frame.String:
		if x, err := strconv.ParseFloat(v.Text(), 64); err == nil && !math.IsNaN(x) {
			return &x
		}
	}
	d.fail(key, "is no number")
	return nil
}

// count is a whole number of at least 0; nil where it is missing or null.
func (d *fields) count(key string) *int64 {
	v := d.v.Get(key)
	if v.Is(frame.Missing) || v.Is(frame.Null) {
		return nil
	}
	n, ok := whole(v)
	if !ok {
		d.fail(key, "is no count")
		return nil
	}
	return &n
}

// maxCount is the largest count that is taken for one.
const maxCount = 1 << 48

// whole is a count, written as an integer or as a float.
func whole(v frame.Value) (int64, bool) {
	if !v.Is(frame.Int) && !v.Is(frame.Float) {
		return 0, false
	}
	x, ok := v.Float()
	if !ok || x != math.Trunc(x) || x < 0 || x > maxCount {
		return 0, false
	}
	return int64(x), true
}

// need is count of a key that must be there.
func (d *fields) need(key string) int64 {
	n := d.count(key)
	if n == nil {
		if d.err == nil {
			d.err = fmt.Errorf("%q is missing", key)
		}
		return 0
	}
	return *n
}

// seconds is a time that is not negative; nil where it is not told.
func (d *fields) seconds(key string) *float64 {
	x := d.number(key)
	if x != nil && (*x < 0 || math.IsInf(*x, 0)) {
		d.fail(key, "is no duration")
		return nil
	}
	return x
}

// numbers is an array of numbers, NaN for what is none; nil where there is no
// array.
func numbers(v frame.Value) []float64 {
	if !v.Is(frame.Array) {
		return nil
	}
	all := make([]float64, 0, v.Len())
	for x := range v.All() {
		f, ok := x.Float()
		if !ok {
			f = math.NaN()
		}
		all = append(all, f)
	}
	return all
}

func asInt(n *int64) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

// metricKeys finds the statistics of a result file by the names of their keys.
func metricKeys() *regexp.Regexp {
	return regexp.MustCompile(`^(mean|median|std|p[0-9]+(?:\.[0-9]+)?)_(ttft|tpot|itl|e2el|e2e_latency)_ms$`)
}

func metricOf(name string) Figure {
	switch name {
	case "ttft":
		return TTFT
	case "tpot":
		return TPOT
	case "itl":
		return ITL
	}
	return E2EL
}

// statistics collects the statistics in ms. NaN is none; what cannot be a time is
// wrong. A TPOT may be a little below 0, where the two clock reads of a first frame
// straddle the only one.
func (d *fields) statistics() map[Figure]map[string]float64 {
	all := map[Figure]map[string]float64{}
	keys := metricKeys()
	for key, x := range d.v.Members() {
		m := keys.FindStringSubmatch(key)
		value, ok := x.Float()
		if m == nil || !ok || math.IsNaN(value) {
			continue
		}
		if math.IsInf(value, 0) || value < -1 {
			d.fail(key, "is no time")
		}
		figure := metricOf(m[2])
		if all[figure] == nil {
			all[figure] = map[string]float64{}
		}
		all[figure][m[1]] = value
	}
	return all
}

// lists are the per-request arrays of a result file with details.
type lists struct {
	n                                   int
	outputs, ttfts, latencies, inputs   []float64
	itls                                frame.Value
	errors, texts                       []string
	errorsKnown, latenciesKnown, inputN bool
}

// errLists says that per-request arrays do not belong together.
var errLists = errors.New("its per-request lists differ in length")

func listsOf(v frame.Value) (*lists, error) {
	l := &lists{outputs: numbers(v.Get("output_lens")), ttfts: numbers(v.Get("ttfts")), itls: v.Get("itls"),
		latencies: numbers(v.Get("latencies")), inputs: numbers(v.Get("input_lens"))}
	l.n = len(l.outputs)
	if l.outputs == nil || l.ttfts == nil || !l.itls.Is(frame.Array) {
		return nil, nil
	}
	l.errors, l.errorsKnown = strs(v.Get("errors"))
	l.texts, _ = strs(v.Get("generated_texts"))
	l.latenciesKnown, l.inputN = l.latencies != nil, l.inputs != nil
	for _, n := range []int{len(l.ttfts), l.itls.Len()} {
		if n != l.n {
			return nil, errLists
		}
	}
	if l.errorsKnown && len(l.errors) != l.n || l.latenciesKnown && len(l.latencies) != l.n || l.inputN && len(l.inputs) != l.n {
		return nil, errLists
	}
	return l, nil
}

func strs(v frame.Value) ([]string, bool) {
	if !v.Is(frame.Array) {
		return nil, false
	}
	all := make([]string, 0, v.Len())
	for x := range v.All() {
		all = append(all, x.Text())
	}
	return all, true
}

// requests joins the lists; count counts the tokens of texts where it is given.
func (l *lists) requests(count func(string) int) ([]Request, error) {
	all := make([]Request, l.n)
	i := 0
	for gaps := range l.itls.All() {
		r := &all[i]
		*r = Request{OK: true, TTFT: l.ttfts[i], Latency: -1, Tokens: -1}
		if !(l.outputs[i] >= 0 && l.outputs[i] <= maxCount) || !(r.TTFT >= 0) || math.IsInf(r.TTFT, 0) {
			return nil, fmt.Errorf("request %d: a length or a time that cannot be", i)
		}
		r.Output = int64(l.outputs[i])
		for _, g := range numbers(gaps) {
			if !math.IsNaN(g) && !math.IsInf(g, 0) {
				r.Events++
				r.GapSum += g
			}
		}
		if l.latenciesKnown && l.latencies[i] >= 0 && !math.IsInf(l.latencies[i], 0) {
			r.Latency = l.latencies[i]
		}
		if l.errorsKnown && l.errors[i] != "" {
			r.OK, r.Error = false, firstLine(l.errors[i])
		}
		if count != nil && i < len(l.texts) && r.OK {
			r.Tokens = int64(count(l.texts[i]))
		}
		i++
	}
	return all, nil
}

// firstLine is the last line of a traceback, which names the exception, or the
// text itself.
func firstLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return clip(strings.TrimSpace(lines[len(lines)-1]), 200)
}

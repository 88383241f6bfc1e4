package metric

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lathe/bench"
	"lathe/bench/stat"
)

// StatusUnfinished is the status of a point that has no line in its file.
const StatusUnfinished bench.Status = "unfinished"

// Point is what is said of one point. Times are nanoseconds; nil is undefined.
type Point struct {
	bench.Point
	// Finished is false for the point that was being measured when the file
	// was cut: its figures are of what there is.
	Finished bool

	Prefill        bench.Summary // repetitions of the prefill, ns
	Decode         bench.Summary // decode steps, ns
	Device         bench.Summary // the same decode steps on the device's clock; N 0 where it has none
	SlopeNS        *float64      // ns a decode step grows by, a token of context; Theil-Sen
	Repetitions    []int64       // prefill samples in their order, ns
	DecodeTimes    []int64       // decode samples in their order, ns
	Pass           []bench.Step  // decode steps of the pass that the total is made of
	PassOf         int           // its iteration
	TotalNS        *float64      // median prefill + sum of that pass
	WallNS         *float64      // that pass from its prefill's start to its last step's end
	Graph          string        // how the decode steps ran: "captured", "eager", "none", or counts where mixed
	InputRate      *float64      // prompt tokens a second of the prefill, all rows
	OutputRate     *float64      // tokens a second of the median decode step, all rows
	RowRate        *float64      // the same for one sequence
	TotalRate      *float64      // prompt and new tokens over TotalNS, all rows
	Iterations     bench.Summary // whole generate calls, ns; N 0 where none were timed
	IterationTimes []int64       // in their order, ns
	Notes          []string      // warnings: the point's own, then those found in its records
}

// Points summarises a file, in the order of its point lines; the point that was
// cut comes last.
func Points(f *bench.File) []Point {
	steps, calls := map[int][]bench.Step{}, map[int][]bench.Iteration{}
	var open []int // points without a line
	seen := func(point int) {
		if !slices.ContainsFunc(f.Points, func(p bench.Point) bool { return p.Point == point }) && !slices.Contains(open, point) {
			open = append(open, point)
		}
	}
	for _, s := range f.Steps {
		if s.Variant == nil {
			steps[s.Point] = append(steps[s.Point], s)
			seen(s.Point)
		}
	}
	for _, c := range f.Iterations {
		calls[c.Point] = append(calls[c.Point], c)
		seen(c.Point)
	}
	points := make([]Point, 0, len(f.Points)+len(open))
	for _, p := range f.Points {
		points = append(points, summarise(Point{Point: p, Finished: true}, steps[p.Point], calls[p.Point], emptyStep(f.Checks, p.Point)))
	}
	for _, n := range open {
		points = append(points, summarise(unfinished(f, n, steps[n]), steps[n], calls[n], emptyStep(f.Checks, n)))
	}
	return points
}

// unfinished makes up for a missing line: the shape from the steps, and from
// the workload's place of the point. An OutputLen of 0 is unknown.
func unfinished(f *bench.File, n int, steps []bench.Step) Point {
	p := Point{Point: bench.Point{Kind: bench.KindPoint, Point: n, Status: StatusUnfinished}}
	reason := "unfinished: the run ended while this point was measured"
	p.Reason = &reason
	if len(steps) > 0 {
		p.Batch = steps[0].Batch
		p.InputLen = steps[0].ContextLen - steps[0].Index
	}
	batch, input, output, ok := place(f.Run.Workload, n)
	if ok && (len(steps) == 0 || p.Batch == batch && p.InputLen == input) {
		p.Batch, p.InputLen, p.OutputLen = batch, input, output
	}
	return p
}

// place is the shape of a point by its number, which is its position in the
// product of the workload's lists, batch outermost.
func place(w bench.Workload, n int) (batch, input, output int, ok bool) {
	b, i, o := len(w.BatchSizes), len(w.InputLens), len(w.OutputLens)
	if n < 0 || b == 0 || i == 0 || o == 0 || n/o/i >= b {
		return 0, 0, 0, false
	}
	return w.BatchSizes[n/o/i], w.InputLens[n/o%i], w.OutputLens[n%o], true
}

// summarise fills in the figures. A point that failed or was skipped gets none:
// numbers of something that went wrong are not kept apart by those who copy them.
// empty is the empty step in ns, 0 where it is unknown.
func summarise(p Point, steps []bench.Step, calls []bench.Iteration, empty int64) Point {
	p.Notes = slices.Clone(p.Warnings)
	if p.Finished && p.Status != bench.StatusOK {
		steps, calls = nil, nil
	}
	var prefill, decode, context, device []float64
	for _, s := range steps {
		switch {
		case s.Warmup:
		case s.Phase == bench.Prefill:
			prefill = append(prefill, float64(s.HostNS))
			p.Repetitions = append(p.Repetitions, s.HostNS)
		default:
			decode = append(decode, float64(s.HostNS))
			p.DecodeTimes = append(p.DecodeTimes, s.HostNS)
			context = append(context, float64(s.ContextLen))
			if s.DeviceNS != nil {
				device = append(device, float64(*s.DeviceNS))
			}
		}
	}
	p.Prefill = Summarise(bench.SemanticsStep, "prefill", "ns", prefill)
	p.Decode = Summarise(bench.SemanticsStep, "decode_step", "ns", decode)
	p.Device = Summarise(bench.SemanticsStep, "decode_step_device", "ns", device)
	p.Device.Failed = len(decode) - len(device)
	p.SlopeNS = defined(slope(context, decode))
	modes := graphs(steps)
	p.Graph = strings.Join(modes, ", ")
	p.pass(steps)
	p.rates()
	p.iterations(calls)
	p.doubt(prefill, steps)
	if len(modes) > 1 {
		p.raise(&p.Decode, "decode steps ran in different ways: "+p.Graph)
	}
	if text := p.short(empty); text != "" {
		p.Notes = append(p.Notes, text)
	}
	return p
}

// slope is of host ns over context length. Several passes walk the same
// contexts, so that the points are sorted first.
func slope(context, ns []float64) (float64, bool) {
	order := make([]int, len(ns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(context[a]) - int(context[b]) })
	x, y := make([]float64, len(ns)), make([]float64, len(ns))
	for i, at := range order {
		x[i], y[i] = context[at], ns[at]
	}
	return stat.Slope(x, y)
}

// graphs says how the decode steps ran: the one mode, or each with its count, as
// when a backend falls back from a captured graph.
func graphs(steps []bench.Step) []string {
	counts := map[string]int{}
	var modes []string
	for _, s := range steps {
		if s.Warmup || s.Phase != bench.Decode {
			continue
		}
		mode := string(s.Graph)
		if counts[mode] == 0 {
			modes = append(modes, mode)
		}
		counts[mode]++
	}
	if len(modes) == 1 {
		return modes
	}
	slices.Sort(modes)
	for i, m := range modes {
		modes[i] = fmt.Sprintf("%s %d", cmp.Or(m, "unknown"), counts[m])
	}
	return modes
}

// pass picks the last iteration with all output_len-1 decode steps. Where some
// of them are marked warmup they are part of its time all the same; an iteration
// of warm-up alone is none.
func (p *Point) pass(steps []bench.Step) {
	if p.OutputLen < 1 || p.Prefill.Median == nil {
		return
	}
	last := -1
	by := map[int][]bench.Step{} // decode steps, and the prefill in front of them
	for _, s := range steps {
		if s.Index == 0 && s.Phase == bench.Prefill {
			by[s.Iteration] = nil
			if s.Warmup {
				continue
			}
		}
		by[s.Iteration] = append(by[s.Iteration], s)
		if whole(by[s.Iteration], p.OutputLen) {
			last = s.Iteration
			p.Pass = by[last]
		}
	}
	if last < 0 {
		return
	}
	p.PassOf = last
	sum := make([]float64, 0, len(p.Pass))
	for _, s := range p.Pass[1:] {
		sum = append(sum, float64(s.HostNS))
	}
	first, end := p.Pass[0], p.Pass[len(p.Pass)-1]
	p.Pass = p.Pass[1:]
	total := *p.Prefill.Median + stat.Sum(sum)
	wall := float64(end.TNS + end.HostNS - first.TNS)
	p.TotalNS, p.WallNS = &total, &wall
}

// whole says whether steps are a measured prefill and all decode steps behind
// it, in order.
func whole(steps []bench.Step, outputLen int) bool {
	if len(steps) != outputLen || steps[0].Phase != bench.Prefill || steps[0].Warmup {
		return false
	}
	for i, s := range steps {
		if s.Index != i {
			return false
		}
	}
	return true
}

package compare

import (
	"math"
	"slices"

	"lathe/bench"
	"lathe/bench/stat"
)

// slot is one variant's run of recorded steps, read from its records.
type slot struct {
	epoch, block, pos int
	b                 bool // of variant B
	steps             int
	host, device      series  // device.median is 0 where a step has no device time
	clock             float64 // mean SM clock in MHz, 0 where it is not known
	reasons           uint64  // all throttle reasons seen
	graph             string  // one mode, or "mixed"
	first, last       int64   // on the run's clock
}

// series is what is said of a slot's times on one clock.
type series struct {
	median float64 // ns
	log    float64 // its logarithm
	slope  float64 // Theil-Sen, ns a token of context (a repetition, for prefills)
	span   float64 // contexts (repetitions) from the first to behind the last
	noise  float64 // MAD of what the slope leaves, scaled to a standard deviation, ns
	lag1   float64 // sum of products of neighbouring residuals
	power  float64 // sum of squared residuals
}

// of is the series that decides: the device's own clock where it has one.
func (s *slot) of(device bool) *series {
	if device {
		return &s.device
	}
	return &s.host
}

// slotKey is where a slot stands.
type slotKey struct{ point, epoch, block, pos int }

// slots reads the slots of one point out of a recording's steps, in the order of
// epoch, block and position.
func slots(steps []bench.Step, point int) []slot {
	by := map[slotKey][]bench.Step{}
	var keys []slotKey
	for _, s := range steps {
		if s.Point != point || s.Warmup || s.Variant == nil || s.Block < 0 {
			continue
		}
		k := slotKey{s.Point, s.Epoch, s.Block, s.Slot}
		if _, ok := by[k]; !ok {
			keys = append(keys, k)
		}
		by[k] = append(by[k], s)
	}
	slices.SortFunc(keys, func(a, b slotKey) int {
		for _, d := range []int{a.epoch - b.epoch, a.block - b.block} {
			if d != 0 {
				return d
			}
		}
		return a.pos - b.pos
	})
	out := make([]slot, 0, len(keys))
	for _, k := range keys {
		out = append(out, newSlot(by[k]))
	}
	return out
}

// newSlot summarises the recorded steps of one slot, at least one.
func newSlot(steps []bench.Step) slot {
	first := &steps[0]
	s := slot{
		epoch: first.Epoch, block: first.Block, pos: first.Slot,
		b: *first.Variant == VariantB, steps: len(steps), graph: string(first.Graph),
		first: first.TNS,
	}
	x, host, device := make([]float64, len(steps)), make([]float64, len(steps)), make([]float64, 0, len(steps))
	var clocks []float64
	for i := range steps {
		st := &steps[i]
		x[i] = float64(st.ContextLen)
		if st.Phase == bench.Prefill {
			x[i] = float64(st.Iteration)
		}
		host[i] = float64(st.HostNS)
		if st.DeviceNS != nil {
			device = append(device, float64(*st.DeviceNS))
		}
		if st.SMClockMHz != nil {
			clocks = append(clocks, float64(*st.SMClockMHz))
		}
		if st.ThrottleReasons != nil {
			s.reasons |= *st.ThrottleReasons
		}
		if string(st.Graph) != s.graph {
			s.graph = "mixed"
		}
		s.last = max(s.last, st.TNS+st.HostNS)
	}
	s.host = newSeries(x, host)
	if len(device) == len(steps) {
		s.device = newSeries(x, device)
	}
	if mean, ok := stat.Mean(clocks); ok {
		s.clock = mean
	}
	return s
}

// newSeries summarises times over x. A median of 0 has no logarithm, and counts
// as no time at all.
func newSeries(x, ns []float64) series {
	var s series
	median, ok := stat.Median(stat.Sorted(ns))
	if !ok || median <= 0 {
		return s
	}
	s.median, s.log = median, math.Log(median)
	s.span = slices.Max(x) - slices.Min(x) + 1
	slope, ok := slopeOf(x, ns)
	if ok {
		s.slope = slope
	}
	mid, _ := stat.Median(stat.Sorted(x))
	residual := make([]float64, len(ns))
	for i := range ns {
		residual[i] = ns[i] - median - s.slope*(x[i]-mid)
	}
	for i := range residual {
		s.power += residual[i] * residual[i]
		if i > 0 {
			s.lag1 += residual[i] * residual[i-1]
		}
	}
	if mad, ok := stat.MAD(stat.Sorted(residual)); ok {
		s.noise = madScale * mad
	}
	return s
}

// madScale makes a MAD comparable with a standard deviation of normal samples.
const madScale = 1.4826

// usesDevice says whether every slot has device times, so that they decide.
func usesDevice(all []slot) bool {
	if len(all) == 0 {
		return false
	}
	for i := range all {
		if all[i].device.median <= 0 {
			return false
		}
	}
	return true
}

// medianOf is the median of the slot medians of one variant in ns; nil where it
// has none.
func medianOf(all []slot, b, device bool) *float64 {
	var ns []float64
	for i := range all {
		if m := all[i].of(device).median; all[i].b == b && m > 0 {
			ns = append(ns, m)
		}
	}
	if m, ok := stat.Median(stat.Sorted(ns)); ok {
		return &m
	}
	return nil
}

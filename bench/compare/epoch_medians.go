package compare

import (
	"maps"
	"slices"

	"lathe/bench"
	"lathe/bench/stat"
)

// EpochMedian is what one variant took in one epoch of a point.
type EpochMedian struct {
	Epoch    int
	Variant  string
	Steps    int     // recorded ones
	MedianNS float64 // over them, on the clock that decides
}

// EpochMedians lists the epochs of a judged point, A's before B's: one sample an
// epoch and variant, for tools that take samples for independent. Blocks that the
// judgement left out are in them.
func EpochMedians(f *bench.File, p PointResult) []EpochMedian {
	var out []EpochMedian
	for _, variant := range []string{VariantA, VariantB} {
		by := map[int][]float64{}
		for _, s := range f.Steps {
			if s.Point != p.Point || s.Phase != p.Phase || s.Warmup || s.Variant == nil || *s.Variant != variant {
				continue
			}
			device := p.Clock == "device"
			if device && s.DeviceNS == nil {
				continue
			}
			by[s.Epoch] = append(by[s.Epoch], timeOf(s, device))
		}
		for _, e := range slices.Sorted(maps.Keys(by)) {
			if m, ok := stat.Median(stat.Sorted(by[e])); ok {
				out = append(out, EpochMedian{e, variant, len(by[e]), m})
			}
		}
	}
	return out
}

package roofline

// Floor is the least time that work can take under roofs.
type Floor struct {
	// OneRoofNS is max(FLOPs/compute, bytes/bandwidth) of the whole.
	OneRoofNS float64 `json:"one_roof_ns"`
	// AdditiveNS is the same of the products with weights and of attention apart,
	// summed: the two are serial and have different limits, so it is the tighter
	// floor. Both are equal where one roof limits both parts.
	AdditiveNS float64 `json:"additive_ns"`
	Limit      string  `json:"limit"` // "memory" or "compute": which roof the one-roof floor is of
}

// Limits of a Floor.
const (
	LimitMemory  = "memory"
	LimitCompute = "compute"
)

// Floor applies the roofs; false where one that is needed is unknown.
func (r Roofs) Floor(w Work) (Floor, bool) {
	if r.Bandwidth <= 0 || r.Compute <= 0 {
		return Floor{}, false
	}
	move := func(bytes int64) float64 { return 1e9 * float64(bytes) / r.Bandwidth }
	compute := func(flops int64) float64 { return 1e9 * float64(flops) / r.Compute }
	f := Floor{Limit: LimitMemory, OneRoofNS: move(w.Bytes())}
	if c := compute(w.FLOPs()); c > f.OneRoofNS {
		f.Limit, f.OneRoofNS = LimitCompute, c
	}
	f.AdditiveNS = max(compute(w.LinearFLOPs), move(w.WeightBytes)) + max(compute(w.AttentionFLOPs), move(w.KVBytes))
	return f, true
}

// Sizes of the lie detector, in the words of the method's page.
const (
	coldFactor = 4    // a step's bytes over the last-level cache, from which no cache can beat the memory roof
	overRoof   = 1.25 // a rate over the measured roof that is doubted
)

// Verdicts on one time.
const (
	Possible   = "possible"
	Impossible = "impossible" // below the datasheet's floor: the measurement is wrong
	Doubtful   = "doubtful"   // more than 1.25 times a measured or given roof
	Cached     = "cached"     // the bytes may come from a cache: the memory roof does not bind
)

// Judge says whether ns nanoseconds for the work can be under the roofs, and the
// reason where it is not simply possible. The datasheet's compute roof counts at
// the device's highest clock.
func (r Roofs) Judge(w Work, ns float64) (verdict, reason string) {
	if r.Ceiling > r.Compute {
		r.Compute = r.Ceiling
	}
	floor, ok := r.Floor(w)
	if !ok || !(ns > 0) || ns >= floor.OneRoofNS {
		return Possible, ""
	}
	if floor.Limit == LimitMemory && (r.CacheBytes == 0 || float64(w.Bytes()) <= coldFactor*float64(r.CacheBytes)) {
		return Cached, "faster than the memory roof, and its bytes are not over four times the last-level cache: part of them came from there"
	}
	if r.Kind == Datasheet {
		return Impossible, "below the floor of the datasheet: a wrong interval, or work that was not done"
	}
	if floor.OneRoofNS/ns > overRoof {
		return Doubtful, "more than 1.25 times the " + r.Kind + " roof: the roof or the measurement is wrong"
	}
	return Possible, ""
}

package main

import (
	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/roofline"
)

// withFloors gives the points of a plan their roofline floor, by a GPU's datasheet or by the
// processor's ceilings where they were measured before: a comparison measures no ceiling. The lower
// one of both sides counts; none where one side's is unknown.
func (app *application) withFloors(plan *compare.Plan, s *sides) {
	for i := range plan.Points {
		pt := &plan.Points[i]
		a, b := app.floorOf(s.a.model, *plan, *pt), app.floorOf(s.b.model, *plan, *pt)
		if pt.Floor = a; a == nil || b != nil && b.NS < a.NS {
			pt.Floor = b
		}
		if a == nil || b == nil {
			pt.Floor = nil
		}
	}
}

// floorOf is the floor of a point's step on one side; nil where it is unknown, or a cache may beat it.
func (app *application) floorOf(l *loadedModel, plan compare.Plan, pt compare.Point) *compare.Floor {
	if l == nil {
		return nil
	}
	r, ok := app.knownRoofs(l)
	if !ok {
		return nil
	}
	kv := l.engineOptions(1, 1).KV.Bytes()
	w := roofline.Prefill(l.source.config, pt.Batch, pt.ContextLen, kv)
	if pt.Phase == bench.Decode {
		w = roofline.Decode(l.source.config, pt.Batch, pt.ContextLen+plan.Warmup+(plan.Steps+1)/2, kv)
	}
	f, ok := r.Floor(w)
	if !ok || f.Limit == roofline.LimitMemory && float64(w.Bytes()) <= coldFactor*float64(r.CacheBytes) {
		return nil
	}
	return &compare.Floor{NS: f.OneRoofNS, Binding: r.Kind == roofline.Datasheet && r.CacheBytes > 0, Source: r.Kind + ": " + r.Device}
}

// coldFactor: from a step's bytes of so many last-level caches on, no cache beats the memory's roof.
const coldFactor = 4

// knownRoofs are the ceilings of a backend's device that need no measuring.
func (app *application) knownRoofs(l *loadedModel) (roofline.Roofs, bool) {
	var r roofline.Roofs
	ok := false
	switch path := l.probe.path; l.backend.Name() {
	case "cpu":
		var m measuredRoofs
		m, ok = app.storedRoofs(roofKeyOf(l.probe.threads, path))
		r = m.Roofs
	case "reference":
		var m measuredRoofs
		m, ok = app.storedRoofs(roofKeyOf(l.probe.threads, "portable")) // plain float32 arithmetic
		r = m.Roofs
	default:
		r, ok = app.quotedRoofs(l.options.Device)
	}
	if r.Ceiling > r.Compute {
		r.Compute = r.Ceiling // the highest clock that the device can be set to
	}
	return r, ok
}

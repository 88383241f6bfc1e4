package bench

import "fmt"

// repeats finds records that stand twice in a file, as after an editor or a
// script has joined parts of it: a step or an iteration that is equal in every
// field, its time on the run's clock included, is the same one. Counted twice it
// would move a median, and narrow its interval.
type repeats struct {
	last       int64 // latest start seen
	steps      map[int64][]Step
	iterations map[int64][]Iteration
	n          int
}

// found says whether rec is in f already. Times ascend in what Lathe writes, so
// that nothing is kept of a file in which they do.
func (r *repeats) found(f *File, rec any) bool {
	switch v := rec.(type) {
	case *Resume: // what f drops for it is measured again
		r.steps, r.iterations = nil, nil
	case *Step:
		if r.ascends(v.TNS) && r.steps == nil {
			return false
		}
		if r.steps == nil {
			r.steps = index(f.Steps, func(s Step) int64 { return s.TNS })
		}
		return r.among(equal(r.steps[v.TNS], *v, sameStep), func() { r.steps[v.TNS] = append(r.steps[v.TNS], *v) })
	case *Iteration:
		if r.iterations == nil {
			r.iterations = index(f.Iterations, func(i Iteration) int64 { return i.TNS })
		}
		same := func(a, b Iteration) bool { return a == b }
		return r.among(equal(r.iterations[v.TNS], *v, same), func() { r.iterations[v.TNS] = append(r.iterations[v.TNS], *v) })
	}
	return false
}

// ascends says whether a start lies behind all before it.
func (r *repeats) ascends(start int64) bool {
	ok := start > r.last
	r.last = max(r.last, start)
	return ok
}

// among counts a record that is there, and keeps one that is not.
func (r *repeats) among(there bool, keep func()) bool {
	if there {
		r.n++
	} else {
		keep()
	}
	return there
}

// warning says what was left out; "" for nothing.
func (r *repeats) warning() []string {
	switch r.n {
	case 0:
		return nil
	case 1:
		return []string{"a record stands twice in the file and was counted once"}
	}
	return []string{fmt.Sprintf("%d records stand more than once in the file and were counted once", r.n)}
}

func index[T any](all []T, start func(T) int64) map[int64][]T {
	at := make(map[int64][]T, len(all))
	for _, v := range all {
		at[start(v)] = append(at[start(v)], v)
	}
	return at
}

func equal[T any](all []T, v T, same func(a, b T) bool) bool {
	for _, other := range all {
		if same(other, v) {
			return true
		}
	}
	return false
}

// sameStep compares what the pointers point to.
func sameStep(a, b Step) bool {
	pointed := equalValue(a.Variant, b.Variant) && equalValue(a.DeviceNS, b.DeviceNS) &&
		equalValue(a.SMClockMHz, b.SMClockMHz) && equalValue(a.ThrottleReasons, b.ThrottleReasons)
	a.Variant, a.DeviceNS, a.SMClockMHz, a.ThrottleReasons = b.Variant, b.DeviceNS, b.SMClockMHz, b.ThrottleReasons
	return pointed && a == b
}

func equalValue[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

package step

import (
	"fmt"
	"slices"

	"lathe/bench"
)

// overheadFactor is how many empty steps a step must last for the harness's own
// share of it to be left unmentioned (1 %).
const overheadFactor = 100

// EmptyStep measures what a timed step costs when the engine has nothing to do:
// Wait, clock, Wait, clock, with neither Prefill nor Decode. It returns the
// median of the given number of pairs in nanoseconds (the lower one of two).
func EmptyStep(e Engine, clock bench.Clock, pairs int) (int64, error) {
	if pairs < 1 {
		return 0, fmt.Errorf("measure the empty step: %d pairs: want at least 1", pairs)
	}
	ns := make([]int64, pairs)
	for i := range ns {
		if err := e.Wait(); err != nil {
			return 0, fmt.Errorf("measure the empty step: drain: %w", err)
		}
		t0 := clock.Now()
		err := e.Wait()
		ns[i] = clock.Now() - t0
		if err != nil {
			return 0, fmt.Errorf("measure the empty step: wait: %w", err)
		}
	}
	slices.Sort(ns)
	return ns[(pairs-1)/2], nil
}

// ShortStepWarning says that the shortest step of a point is too short against
// the empty step; "" where it is not. Both in nanoseconds.
func ShortStepWarning(shortest, empty int64) string {
	if empty <= 0 || shortest >= overheadFactor*empty {
		return ""
	}
	share := 100.0
	if shortest > empty {
		share = 100 * float64(empty) / float64(shortest)
	}
	return fmt.Sprintf("shortest step %d ns is under %d times the empty step (%d ns): the harness is %.2g %% of it",
		shortest, overheadFactor, empty, share)
}

// FirstCallWarning says that the first of a series of equal calls was slower
// than the steady ones, as happens without enough warm-up; "" where it was not.
// Steady is the median of the later half (the middle call left out), so that a
// few slow calls at the start cannot hide each other. Slower means by a quarter,
// and slower than nine tenths of that half, so that a noisy machine says it
// seldom. ns in nanoseconds, in the order of the calls; under 4 nothing is said.
func FirstCallWarning(ns []int64) string {
	if len(ns) < 4 {
		return ""
	}
	later := slices.Clone(ns[(len(ns)+1)/2:])
	slices.Sort(later)
	median := later[(len(later)-1)/2]
	if first := ns[0]; first > later[len(later)*9/10] && first-median > median/4 {
		return fmt.Sprintf("first call %.4g ms slower than median of the later half: not warmed up",
			float64(first-median)/1e6)
	}
	return ""
}

// graphWarning says that decode steps of one point ran in different ways, as
// when a backend falls back from a captured graph.
func graphWarning(seen map[string]int) string {
	if len(seen) < 2 {
		return ""
	}
	modes := make([]string, 0, len(seen))
	for mode := range seen {
		modes = append(modes, mode)
	}
	slices.Sort(modes)
	text := "decode steps ran in different ways:"
	for _, mode := range modes {
		text += fmt.Sprintf(" %d %s", seen[mode], mode)
	}
	return text
}

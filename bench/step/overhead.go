package step

import (
	"fmt"
	"slices"

	"lathe/bench"
)

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

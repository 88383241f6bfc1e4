//go:build !linux

package load

import "lathe/bench"

func newPacer(clock bench.Clock) (pacer, error) { return newTimerPacer(clock), nil }

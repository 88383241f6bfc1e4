package load

import (
	"math"
	"runtime"
	"runtime/debug"
)

// Prepare sets this process up for measuring and returns what undoes it: the
// garbage collector runs only as the heap nears the limit of bytes (0: leave
// it), there are enough runtime processors that a reading thread which wakes
// never waits for one, and as many file descriptors as the system grants.
func Prepare(heapLimit int64) (undo func(), warnings []string) {
	procs := runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 8))
	percent, limit := 0, int64(0)
	if heapLimit > 0 {
		percent, limit = debug.SetGCPercent(-1), debug.SetMemoryLimit(heapLimit)
	}
	if w := raiseFiles(); w != "" {
		warnings = append(warnings, w)
	}
	return func() {
		runtime.GOMAXPROCS(procs)
		if heapLimit > 0 {
			debug.SetGCPercent(percent)
			debug.SetMemoryLimit(min(limit, math.MaxInt64))
		}
	}, warnings
}

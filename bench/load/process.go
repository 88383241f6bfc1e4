package load

import (
	"runtime"
	"runtime/debug"
)

// Prepare sets this process up for measuring and returns what undoes it: the
// garbage collector runs only as the runtime's memory nears the limit in bytes
// (0: leave it), there are enough runtime processors that a reading thread which wakes
// never waits for one, and as many file descriptors as the system grants. connections
// is how many may be open at once: fewer descriptors than that are a warning.
func Prepare(limit int64, connections int) (undo func(), warnings []string) {
	procs := runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 8))
	percent, before := 0, int64(0)
	if limit > 0 {
		percent, before = debug.SetGCPercent(-1), debug.SetMemoryLimit(limit)
	}
	if w := raiseFiles(connections); w != "" {
		warnings = append(warnings, w)
	}
	return func() {
		runtime.GOMAXPROCS(procs)
		if limit > 0 {
			debug.SetGCPercent(percent)
			debug.SetMemoryLimit(before)
		}
	}, warnings
}

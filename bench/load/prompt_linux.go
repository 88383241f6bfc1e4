package load

import "golang.org/x/sys/unix"

// promptSlice is the shortest time slice that Linux gives a thread, in
// nanoseconds (sched_setattr(2): 0.1 ms to 100 ms).
const promptSlice = 100_000

// promptThread asks for short time slices for the calling thread: it needs less
// than one each time it wakes. As long as it has not used more than its share of
// the core, a thread with a shorter slice then takes the core at once from one
// with a longer slice, where it would otherwise wait for the end of the other's
// slice (some 3 ms). The share stays the same. Kernels before 6.12, and policies
// that have no slices, leave things as they are.
func promptThread() {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil || a.Policy != unix.SCHED_NORMAL {
		return
	}
	a.Runtime = promptSlice
	_ = unix.SchedSetAttr(0, a, 0)
}

// yieldThread lets another thread have the core. Threads of a real-time policy
// and kernels without short slices need it: there one that runs is not
// interrupted by another that wakes.
func yieldThread() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

//go:build unix

package load

import "golang.org/x/sys/unix"

// cpuTime is the processor time that this process used so far, in nanoseconds,
// user and system together; 0 where the system does not say.
func cpuTime() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

package bench

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// monotonic reads CLOCK_MONOTONIC and the identity of the boot that it counts
// from. It is a system call: used once a run, to place the run's own clock.
func monotonic() (ns int64, boot string, ok bool) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0, "", false
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, "", false
	}
	return ts.Nano(), strings.TrimSpace(string(id)), true
}

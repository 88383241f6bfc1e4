package load

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"lathe/bench"
)

// kernelPacer waits in ppoll, to the nanosecond, on a thread whose timer slack
// is off. Its goroutine stays locked to the thread, which ends with it.
type kernelPacer struct {
	clock bench.Clock
	bell  int // eventfd
	woken atomic.Bool
}

// newPacer is to be called on the goroutine that will wait.
func newPacer(clock bench.Clock) (pacer, error) {
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("pace sends: eventfd: %w", err)
	}
	runtime.LockOSThread()
	promptThread()
	// Without it a thread sleeps up to 50 us too long. A kernel that refuses
	// costs just that.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return &kernelPacer{clock: clock, bell: bell}, nil
}

func (p *kernelPacer) until(t int64) bool {
	fds := []unix.PollFd{{Fd: int32(p.bell), Events: unix.POLLIN}}
	for {
		if p.woken.Swap(false) {
			var b [8]byte
			_, _ = unix.Read(p.bell, b[:])
			return false
		}
		left := t - p.clock.Now()
		if left <= 0 {
			return true
		}
		ts := unix.NsecToTimespec(left)
		_, _ = unix.Ppoll(fds, &ts, nil) // interrupted or not, the clock decides
	}
}

func (p *kernelPacer) wake() {
	p.woken.Store(true)
	_, _ = unix.Write(p.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func (p *kernelPacer) close() { _ = unix.Close(p.bell) }

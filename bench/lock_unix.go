//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package bench

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the exclusive lock of a file, which lasts until f is closed or the
// process ends, however it ends. A file system that has no locks grants it.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errWritten
		default:
			return nil
		}
	}
}

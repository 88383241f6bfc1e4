//go:build cgo && linux

package device

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// withoutStdout runs f with the descriptor of standard output turned away, and returns what was written
// there. It is turned to a terminal of its own, for which C's library writes every line at once instead
// of keeping it for later. Where there is none to be had f runs all the same.
func withoutStdout(f func()) (written string) {
	const stdout = 1
	kept, err := unix.FcntlInt(stdout, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil { // closed: what is printed goes nowhere
		f()
		return ""
	}
	defer unix.Close(kept)
	near, far, err := terminal()
	if err != nil {
		f()
		return ""
	}
	defer near.Close()
	all := make(chan string)
	go func() { // a terminal holds a few pages, and then its writer waits
		text, _ := io.ReadAll(near) // ends with an error, as a terminal does when its last writer is gone
		all <- string(text)
	}()
	turned := unix.Dup3(far, stdout, 0) == nil
	unix.Close(far)
	f()
	if turned {
		for unix.Dup3(kept, stdout, 0) == unix.EINTR {
		}
	}
	const patience = time.Second // for a process that f left behind and that holds the terminal
	_ = near.SetReadDeadline(time.Now().Add(patience))
	return <-all
}

// terminal makes a pseudo-terminal: what is written to far can be read from near (pts(4)).
func terminal() (near *os.File, far int, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	number := 0
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
	}
	if err == nil {
		far, err = unix.Open(fmt.Sprintf("/dev/pts/%d", number), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		unix.Close(fd)
		return nil, 0, err
	}
	return os.NewFile(uintptr(fd), "ptmx"), far, nil
}

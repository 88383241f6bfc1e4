//go:build cgo && linux

package device

// #include <stdio.h>
import "C"

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// withoutStdout runs f with the descriptor of standard output turned to a file in memory, and returns
// what was written there. C's own buffer is emptied before and after, so that each text goes where it
// belongs. Where the descriptor cannot be turned f runs all the same.
func withoutStdout(f func()) (written string) {
	const stdout, nothing = 1, ""
	kept, err := unix.FcntlInt(stdout, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil { // closed: what is printed goes nowhere
		f()
		return nothing
	}
	defer unix.Close(kept)
	fd, err := unix.MemfdCreate("lathe-stdout", unix.MFD_CLOEXEC)
	if err != nil {
		f()
		return nothing
	}
	memory := os.NewFile(uintptr(fd), "stdout")
	defer memory.Close()
	C.fflush(nil)
	if unix.Dup3(fd, stdout, 0) != nil {
		f()
		return nothing
	}
	f()
	C.fflush(nil)
	for unix.Dup3(kept, stdout, 0) == unix.EINTR {
	}
	const most = 64 << 10
	text, _ := io.ReadAll(io.NewSectionReader(memory, 0, most))
	return string(text)
}

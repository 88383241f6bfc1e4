package load

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// wantFiles is what SGLang's client asks for.
const wantFiles = 65_535

// raiseFiles raises the soft limit of open files, and says where it stays low.
func raiseFiles() string {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return ""
	}
	if l.Cur >= wantFiles {
		return ""
	}
	l.Cur = min(wantFiles, l.Max)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Cur < wantFiles {
		return fmt.Sprintf("open files are limited to %d: as many connections at most", l.Cur)
	}
	return ""
}

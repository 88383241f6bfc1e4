package load

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// wantFiles is what SGLang's client asks for.
const wantFiles = 65_535

// ownFiles is how many descriptors the process has besides its connections.
const ownFiles = 64

// raiseFiles raises the soft limit of open files, and says where it stays below
// what the connections take.
func raiseFiles(connections int) string {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return ""
	}
	if l.Cur >= wantFiles {
		return ""
	}
	before := l.Cur
	l.Cur = min(wantFiles, l.Max)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		l.Cur = before
	}
	if l.Cur < uint64(connections+ownFiles) {
		return fmt.Sprintf("open files are limited to %d: %d connections at once are not to be had", l.Cur, connections)
	}
	return ""
}

//go:build unix

package safetensors

import (
	"fmt"
	"math"
	"os"
	"syscall"
)

// mapping is a file mapped read-only. A file that shrinks while it is mapped
// kills the process when the lost part is read (SIGBUS): weights must not be
// rewritten under a running program.
type mapping struct{ data []byte }

func mapFile(path string) (mapping, error) {
	f, size, err := openRegular(path)
	if err != nil || size == 0 {
		return mapping{}, err
	}
	defer f.Close()
	if size > math.MaxInt {
		return mapping{}, &Error{Class: MissingFile, Path: path, Msg: fmt.Sprintf("cannot map %d bytes on this machine", size)}
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return mapping{}, &Error{Class: MissingFile, Path: path, Msg: "cannot map: " + os.NewSyscallError("mmap", err).Error(), Err: err}
	}
	return mapping{data}, nil
}

func (m mapping) close() error {
	if m.data == nil {
		return nil
	}
	return syscall.Munmap(m.data)
}

package load

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketReader reads a connection of the runtime's poller with its kernel stamp.
type socketReader struct {
	raw  syscall.RawConn // nil: plain reads
	recv receiver
	try  func(fd uintptr) bool

	p      []byte
	n      int
	kernel int64
	errno  syscall.Errno
}

// newSocketReader asks for stamps; where that does not work reads have none.
func newSocketReader(c net.Conn, stamps bool) socketReader {
	sc, ok := c.(syscall.Conn)
	if !ok || !stamps {
		return socketReader{}
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return socketReader{}
	}
	worked := false
	if err := raw.Control(func(fd uintptr) { worked = stampSocket(int(fd)) == nil }); err != nil || !worked {
		return socketReader{}
	}
	return socketReader{raw: raw}
}

func (r *socketReader) read(c net.Conn, p []byte) (n int, kernel int64, err error) {
	if r.raw == nil {
		n, err = c.Read(p)
		return n, 0, err
	}
	if r.try == nil {
		r.try = func(fd uintptr) bool {
			r.n, r.kernel, r.errno = r.recv.read(int(fd), r.p)
			for r.errno == unix.EINTR {
				r.n, r.kernel, r.errno = r.recv.read(int(fd), r.p)
			}
			return r.errno != unix.EAGAIN
		}
	}
	r.p = p
	err = r.raw.Read(r.try)
	r.p = nil
	switch {
	case err != nil:
		return 0, 0, err
	case r.errno != 0:
		return 0, 0, &net.OpError{Op: "read", Net: "tcp", Addr: c.RemoteAddr(), Err: os.NewSyscallError("recvmsg", r.errno)}
	case r.n == 0:
		return 0, 0, io.EOF
	}
	return r.n, r.kernel, nil
}

package load

import (
	"net"

	"lathe/bench"
)

// stamped is a connection that remembers when its latest socket read returned
// and how many there were. Data that a layer above (TLS) hands out later keep
// the stamp of the read that brought them.
type stamped struct {
	net.Conn
	clock  bench.Clock
	reads  uint64
	t      int64
	kernel int64 // wall clock, 0: no stamp
	socket socketReader
}

// Read reads the socket once.
func (s *stamped) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, s.kernel, err = s.socket.read(s.Conn, p)
	s.t = s.clock.Now()
	s.reads++
	return n, err
}

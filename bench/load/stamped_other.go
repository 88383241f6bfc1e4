//go:build !linux

package load

import "net"

// socketReader reads a connection; there are no kernel stamps here.
type socketReader struct{}

func newSocketReader(net.Conn, bool) socketReader { return socketReader{} }

func (*socketReader) read(c net.Conn, p []byte) (n int, kernel int64, err error) {
	n, err = c.Read(p)
	return n, 0, err
}

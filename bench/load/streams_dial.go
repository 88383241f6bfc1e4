package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// dial connects for an exchange, within its limits.
func (s *streams) dial(c *stream, x *exchange) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if t, ok := x.deadline(); ok {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, max(0, time.Duration(t-s.clock.Now())))
		defer stop()
	}
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	err := s.connect(ctx, c)
	class := c.aborted()
	timeout := net.Error(nil)
	switch {
	case err == nil:
		return nil
	case class != "":
		return fail(class, errStopped)
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		e := x.expire(s.clock.Now())
		return fail(e.class, e.err)
	}
	return err
}

// connect opens the socket, the tunnel where there is one, and TLS.
func (s *streams) connect(ctx context.Context, c *stream) error {
	d := net.Dialer{}
	raw, err := d.DialContext(ctx, "tcp", s.target.addr.String())
	if err != nil {
		f := streamFailure(err)
		return fail(f.class, fmt.Errorf("connect %s: %w", s.target.where(), f.err))
	}
	socket := &stamped{Conn: raw, clock: s.clock, socket: newSocketReader(raw, !s.opt.UserStamps)}
	c.mu.Lock()
	c.socket, c.conn = socket, socket
	c.mu.Unlock()
	if t, ok := ctx.Deadline(); ok {
		_ = raw.SetDeadline(t)
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if s.target.tunnelled() {
		if err := s.tunnel(socket); err != nil {
			return err
		}
	}
	if s.target.secure {
		over := tls.Client(socket, s.config())
		if err := over.HandshakeContext(ctx); err != nil {
			f := streamFailure(err)
			return fail(f.class, fmt.Errorf("TLS with %s: %w", s.target.host, f.err))
		}
		c.conn = over
	}
	if !stop() {
		return ctx.Err()
	}
	_ = raw.SetDeadline(time.Time{})
	s.mu.Lock()
	s.fig.Opened++
	s.mu.Unlock()
	return nil
}

// tunnel asks the proxy for a connection to the server.
func (s *streams) tunnel(c net.Conn) error {
	to := net.JoinHostPort(s.target.name, s.target.port)
	head := "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n"
	if s.target.proxyAuth != "" {
		head += "Proxy-Authorization: " + s.target.proxyAuth + "\r\n"
	}
	bad := func(err error) error {
		return fail(ClassProxy, fmt.Errorf("via proxy %s: %w", s.target.addr, err))
	}
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		return bad(err)
	}
	// A byte a read: what stands behind the head belongs to TLS.
	r := bufio.NewReaderSize(io.LimitReader(oneByte{c}, maxHeadBytes), 16)
	status := ""
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return bad(err)
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			break
		}
		if status == "" {
			status = line
		}
	}
	if fields := strings.Fields(status); len(fields) < 2 || fields[1] != "200" {
		return bad(fmt.Errorf("%.64q", status))
	}
	return nil
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// streamFailure is the class of an error of the net and tls packages.
func streamFailure(err error) *failure {
	if f := (*failure)(nil); errors.As(err, &f) {
		return f
	}
	var (
		alert     tls.AlertError
		header    tls.RecordHeaderError
		verify    *tls.CertificateVerificationError
		hostname  x509.HostnameError
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &alert), errors.As(err, &header), errors.As(err, &verify), errors.As(err, &hostname), errors.As(err, &authority), errors.As(err, &invalid):
		return fail(ClassTLS, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fail(ClassRefused, err)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fail(ClassUnreachable, err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fail(ClassDescriptors, err)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fail(ClassReset, err)
	}
	return fail(ClassReset, err)
}

package load

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// conn is one connection of a loop.
type conn struct {
	fd         int
	slot       int32
	generation int32 // tells events of an earlier owner of the slot apart
	up         bool
	writing    bool // EPOLLOUT is asked for
	since      int64
	x          *exchange // nil: idle
	out        [][]byte  // what is still to be sent
	waiting    chan<- error
}

// launch sends an exchange over an idle connection or a new one.
func (l *loop) launch(x *exchange) {
	now := l.clock.Now()
	x.begin(now)
	x.remote = l.target.addr.String()
	if class := x.run.aborted(); class != "" {
		x.run.over(x, failed(now, fail(class, errStopped)))
		return
	}
	if n := len(l.idle); n > 0 {
		c := l.idle[n-1]
		l.idle = l.idle[:n-1]
		l.fig.Reused++
		c.x = x
		x.up(now, true)
		l.load(c)
		return
	}
	c, err := l.dial()
	if err != nil {
		x.run.over(x, failed(l.clock.Now(), err))
		return
	}
	c.x = x
	if c.up {
		x.up(l.clock.Now(), false)
		l.load(c)
	}
}

// load puts the request of c.x on its way.
func (l *loop) load(c *conn) {
	c.out = append(c.out[:0], c.x.head, c.x.job.Body)
	l.send(c)
}

// open connects ahead of any request, unless that many connections are idle or
// on their way.
func (l *loop) open(up chan<- error, want int) {
	if len(l.idle)+l.early >= want {
		up <- nil
		return
	}
	c, err := l.dial()
	switch {
	case err != nil:
		up <- err
	case c.up:
		l.park(c)
		up <- nil
	default:
		c.waiting = up
		l.early++
	}
}

// opened tells who waits for c how it went.
func (l *loop) opened(c *conn, err error) {
	if c.waiting != nil {
		c.waiting <- err
		c.waiting = nil
		l.early--
	}
}

func (l *loop) park(c *conn) {
	c.since = l.clock.Now()
	l.idle = append(l.idle, c)
}

// dial opens a socket and starts to connect it.
func (l *loop) dial() (*conn, error) {
	family, address := sockaddr(l.target.addr)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return nil, socketFailure("open a socket", err)
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if !l.opt.UserStamps {
		_ = stampSocket(fd) // without it reads have no kernel stamp, and say so
	}
	err = unix.Connect(fd, address)
	c := &conn{fd: fd, up: err == nil, since: l.clock.Now()}
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		unix.Close(fd)
		return nil, socketFailure("connect "+l.target.where(), err)
	}
	l.seat(c)
	e := unix.EpollEvent{Events: unix.EPOLLIN, Fd: c.slot, Pad: c.generation}
	if !c.up {
		e.Events |= unix.EPOLLOUT
		c.writing = true
	}
	if err := unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
		l.shut(c)
		return nil, socketFailure("watch a socket", err)
	}
	l.fig.Opened++
	return c, nil
}

func socketFailure(doing string, err error) error {
	f := fail(ClassReset, err)
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		f = netFailure(errno)
	}
	f.err = fmt.Errorf("%s: %w", doing, f.err)
	return f
}

func sockaddr(a netip.AddrPort) (family int, address unix.Sockaddr) {
	if a.Addr().Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// seat gives c a slot.
func (l *loop) seat(c *conn) {
	if n := len(l.free); n > 0 {
		c.slot = l.free[n-1]
		l.free = l.free[:n-1]
		l.conns[c.slot] = c
	} else {
		c.slot = int32(len(l.conns))
		l.conns = append(l.conns, c)
	}
	l.generations++
	c.generation = l.generations
}

// shut closes a connection that has no exchange (any more).
func (l *loop) shut(c *conn) {
	unix.Close(c.fd) // also ends its watch
	l.conns[c.slot] = nil
	l.free = append(l.free, c.slot)
	if i := slices.Index(l.idle, c); i >= 0 {
		l.idle = slices.Delete(l.idle, i, i+1)
	}
	l.opened(c, fmt.Errorf("no connection within %v", aheadLimit))
}

// connected takes the outcome of a connect; false says that c is gone.
func (l *loop) connected(c *conn) bool {
	now := l.clock.Now()
	code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		code = int(unix.EBADF)
	}
	if code != 0 {
		f := netFailure(syscall.Errno(code))
		f.err = fmt.Errorf("connect %s: %w", l.target.where(), f.err)
		if c.x == nil {
			l.opened(c, f)
			l.shut(c)
			return false
		}
		l.over(c, failed(now, f), false)
		return false
	}
	c.up = true
	if c.x == nil {
		l.opened(c, nil)
		l.watch(c, false)
		l.park(c)
		return true
	}
	c.x.up(now, false)
	c.out = append(c.out[:0], c.x.head, c.x.job.Body)
	return l.send(c)
}

// send writes what it can; false says that c is gone.
func (l *loop) send(c *conn) bool {
	for len(c.out) > 0 {
		n, err := unix.SendmsgBuffers(c.fd, c.out, nil, nil, unix.MSG_NOSIGNAL)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			l.watch(c, true)
			return true
		case err != nil:
			// The server may have answered before it closed: what it said is read
			// first, and if that is nothing the read says what happened.
			c.out = c.out[:0]
			l.watch(c, false)
			return true
		}
		c.x.last = l.clock.Now()
		for len(c.out) > 0 && n >= len(c.out[0]) {
			n -= len(c.out[0])
			c.out = c.out[1:]
		}
		if len(c.out) > 0 {
			c.out[0] = c.out[0][n:]
		}
	}
	l.watch(c, false)
	return true
}

// watch asks for EPOLLOUT or no longer.
func (l *loop) watch(c *conn, writing bool) {
	if c.writing == writing {
		return
	}
	c.writing = writing
	e := unix.EpollEvent{Events: unix.EPOLLIN, Fd: c.slot, Pad: c.generation}
	if writing {
		e.Events |= unix.EPOLLOUT
	}
	_ = unix.EpollCtl(l.ep, unix.EPOLL_CTL_MOD, c.fd, &e)
}

package load

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"lathe/bench"
)

// streams has a goroutine a request over the runtime's poller: for TLS, and for
// systems without epoll.
type streams struct {
	opt    *Options
	target *target
	clock  bench.Clock

	mu   sync.Mutex
	idle []*stream
	live map[*stream]*exchange // connected, or being connected for an exchange
	fig  Connected
	gone bool
}

// stream is one connection.
type stream struct {
	socket *stamped
	conn   net.Conn // socket, or TLS over it
	since  int64
	cancel context.CancelFunc // of its connecting

	mu     sync.Mutex
	closed bool
	class  Class // why it was aborted
}

func newStreams(c *Client) *streams {
	return &streams{opt: &c.opt, target: c.target, clock: c.clock, live: map[*stream]*exchange{}}
}

func (s *streams) start(x *exchange) { go s.serve(x) }

func (s *streams) abort(r *running, class Class) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, x := range s.live {
		if x.run == r {
			c.abort(class)
		}
	}
}

// abort ends what the stream is waiting for.
func (c *stream) abort(class Class) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.class == "" {
		c.class = class
	}
	if c.cancel != nil {
		c.cancel()
	}
	if c.socket != nil && !c.closed {
		c.closed = true
		c.socket.Conn.Close()
	}
}

func (c *stream) aborted() Class {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.class
}

func (c *stream) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.socket != nil && !c.closed {
		c.closed = true
		c.socket.Conn.Close()
	}
}

// serve carries out one attempt.
func (s *streams) serve(x *exchange) {
	x.begin(s.clock.Now())
	x.remote = s.target.addr.String()
	c, reused := s.take(x)
	var e ending
	reuse := false
	err := error(nil)
	if class := x.run.aborted(); class != "" {
		err = fail(class, errStopped)
	} else if !reused {
		err = s.dial(c, x)
	}
	if err == nil {
		x.up(s.clock.Now(), reused)
		e, reuse = s.exchange(c, x)
	} else {
		e = failed(s.clock.Now(), err)
	}
	if class := c.aborted(); class != "" && e.class != "" {
		e = failed(e.t, fail(class, errStopped))
	}
	s.give(c, reuse, e.t)
	x.run.over(x, e)
}

// take finds an idle connection, or makes room for a new one.
func (s *streams) take(x *exchange) (c *stream, reused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(s.clock.Now())
	if n := len(s.idle); n > 0 {
		c, s.idle = s.idle[n-1], s.idle[:n-1]
		s.fig.Reused++
		reused = true
	} else {
		c = &stream{}
	}
	s.live[c] = x
	return c, reused
}

// give returns a connection to the pool, or closes it.
func (s *streams) give(c *stream, reuse bool, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, c)
	p := &s.opt.Connections
	if reuse && !s.gone && p.Reuse && (p.MaxIdle == 0 || len(s.idle) < p.MaxIdle) && c.aborted() == "" {
		c.since = now
		s.idle = append(s.idle, c)
		return
	}
	c.shut()
}

// expire closes what has been idle for too long. s.mu is held.
func (s *streams) expire(now int64) {
	limit := s.opt.Connections.IdleTimeout
	for limit > 0 && len(s.idle) > 0 && now-s.idle[0].since > int64(limit) {
		s.idle[0].shut()
		s.idle = s.idle[1:]
	}
}

// exchange sends the request and reads the answer.
func (s *streams) exchange(c *stream, x *exchange) (e ending, reuse bool) {
	sent := make(chan error, 1)
	go func() {
		bufs := net.Buffers{x.head, x.job.Body}
		_, err := bufs.WriteTo(c.conn)
		sent <- err
	}()
	buf := make([]byte, 32<<10) // two TLS records
	looked := false             // once more after a deadline, see stalled
	for reads := c.socket.reads; ; reads = c.socket.reads {
		if looked {
			_ = c.conn.SetReadDeadline(time.Now().Add(lastLook))
		} else {
			s.limit(c, x)
		}
		n, err := c.conn.Read(buf)
		if n > 0 {
			looked = false
			again := c.socket.reads == reads
			if e, over := x.received(c.socket.t, c.socket.kernel, buf[:n], again); over {
				return e, x.resp.reusable() && s.written(sent)
			}
		}
		if err != nil {
			if e := net.Error(nil); n == 0 && !looked && errors.As(err, &e) && e.Timeout() && x.stalled(s.clock.Now()) {
				looked = true
				continue
			}
			return s.broken(x, err), false
		}
	}
}

// lastLook is how long a stream that seems silent is read once more, because the
// goroutine may have been held up and not the server.
const lastLook = 10 * time.Millisecond

// written says whether the request is out.
func (s *streams) written(sent <-chan error) bool {
	select {
	case err := <-sent:
		return err == nil
	case <-time.After(time.Second):
		return false
	}
}

// limit sets when the next read has to have come.
func (s *streams) limit(c *stream, x *exchange) {
	var at time.Time
	if t, ok := x.deadline(); ok {
		at = time.Now().Add(max(0, time.Duration(t-s.clock.Now())))
	}
	_ = c.conn.SetReadDeadline(at)
}

// broken is the ending of a read that failed.
func (s *streams) broken(x *exchange, err error) ending {
	now := s.clock.Now()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return x.closed(now)
	}
	if e := net.Error(nil); errors.As(err, &e) && e.Timeout() {
		if x.done != nil {
			s.mu.Lock()
			s.fig.Dropped++
			s.mu.Unlock()
		}
		return x.expire(now)
	}
	return failed(now, streamFailure(err))
}

func (s *streams) ahead(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, aheadLimit)
	defer cancel()
	s.mu.Lock()
	n = max(0, n-len(s.idle))
	s.mu.Unlock()
	errs := make(chan error, n)
	for range n {
		go func() {
			c := &stream{}
			err := s.connect(ctx, c)
			if err == nil {
				s.give(c, true, s.clock.Now())
			}
			errs <- err
		}()
	}
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (s *streams) figures() Connected {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fig
}

func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	for _, c := range s.idle {
		c.shut()
	}
	s.idle = nil
}

// config is the TLS configuration for the target.
func (s *streams) config() *tls.Config {
	cfg := s.opt.TLS.Clone()
	if cfg == nil {
		cfg = &tls.Config{}
	}
	if cfg.ServerName == "" {
		cfg.ServerName = s.target.name
	}
	cfg.NextProtos = []string{"http/1.1"}
	return cfg
}

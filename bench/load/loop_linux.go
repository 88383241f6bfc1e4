package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lathe/bench"
)

// tickEvery is how often deadlines are looked at.
const tickEvery = 50 * time.Millisecond

// loop owns plain connections: one locked thread, one epoll set, one read a
// wake-up of a connection. Other goroutines only post orders.
type loop struct {
	opt    *Options
	target *target
	clock  bench.Clock
	ep     int
	bell   int  // eventfd that ends the wait
	untold bool // the scheduler is not told of waits

	mu    sync.Mutex
	inbox []order
	posts atomic.Bool // inbox is not empty
	awake atomic.Bool

	conns []*conn // by slot
	free  []int32
	idle  []*conn // the one used last is taken first
	early int     // connections being opened ahead
	todo  []order
	buf   []byte
	recv  receiver
	next  int64 // tick
	quit  bool

	generations int32

	fig  Connected
	from int64 // start of the second that is measured
	then int64 // fig.BusyNS at that moment
	gone chan struct{}
}

// order is something that a loop is asked to do.
type order struct {
	start *exchange
	abort *running
	class Class
	open  chan<- error // a connection ahead, where there are fewer than want
	want  int
	tell  chan<- Connected
	quit  bool
}

func newLoop(c *Client) (*loop, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, bell, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1})
	}
	if err != nil {
		unix.Close(ep)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	l := &loop{opt: &c.opt, target: c.target, clock: c.clock, ep: ep, bell: bell, buf: make([]byte, readSize), gone: make(chan struct{})}
	l.untold = runtime.GOMAXPROCS(0) > max(1, c.opt.Loops)
	go l.run()
	return l, nil
}

// post hands an order over and wakes the loop where it waits.
func (l *loop) post(o order) {
	l.mu.Lock()
	l.inbox = append(l.inbox, o)
	l.posts.Store(true)
	l.mu.Unlock()
	if !l.awake.Load() {
		_, _ = unix.Write(l.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

func (l *loop) start(x *exchange)         { l.post(order{start: x}) }
func (l *loop) abort(r *running, c Class) { l.post(order{abort: r, class: c}) }

func (l *loop) ahead(ctx context.Context, n int) error {
	up := make(chan error, n)
	for range n {
		l.post(order{open: up, want: n})
	}
	for range n {
		select {
		case err := <-up:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (l *loop) figures() Connected {
	told := make(chan Connected, 1)
	l.post(order{tell: told})
	return <-told
}

func (l *loop) close() {
	l.post(order{quit: true})
	<-l.gone
}

func (l *loop) run() {
	runtime.LockOSThread() // the thread ends with the goroutine
	promptThread()
	defer close(l.gone)
	defer unix.Close(l.ep)
	defer unix.Close(l.bell)
	events := make([]unix.EpollEvent, 256)
	now := l.clock.Now()
	l.next, l.from = now, now
	for !l.quit {
		n := l.await(events, now)
		woke := l.clock.Now()
		for i := range events[:n] {
			l.event(&events[i])
			if l.posts.Load() { // a due send does not wait for 255 reads
				l.orders()
			}
		}
		l.orders()
		if now = l.clock.Now(); now >= l.next {
			l.tick(now)
		}
		l.fig.BusyNS += now - woke
	}
	for _, c := range l.conns {
		if c != nil {
			l.shut(c)
		}
	}
}

// await waits for events until the next tick. The order of the two flags is
// what keeps a post from being slept over.
func (l *loop) await(events []unix.EpollEvent, now int64) int {
	timeout := max(0, int((l.next-now)/int64(time.Millisecond))+1)
	l.awake.Store(false)
	if l.posts.Load() {
		timeout = 0
	}
	n := l.waitFor(events, timeout)
	l.awake.Store(true)
	return n
}

// waitFor waits for events, up to timeout milliseconds. Where other runtime
// processors are left, the scheduler is not told: each wait that it knows of
// keeps its monitor thread polling, which costs nearly as much as reading the
// frames does (6 us of CPU a frame of 64 streams on the machine where it was
// seen). A stop of the world interrupts the wait with the signal that preempts
// running code.
func (l *loop) waitFor(events []unix.EpollEvent, timeout int) int {
	if l.untold {
		return epollWait(l.ep, events, timeout)
	}
	n, err := unix.EpollWait(l.ep, events, timeout)
	if err != nil {
		return 0
	}
	return n
}

func (l *loop) orders() {
	if !l.posts.Load() {
		return
	}
	l.mu.Lock()
	l.todo, l.inbox = l.inbox, l.todo[:0]
	l.posts.Store(false)
	l.mu.Unlock()
	todo := l.todo
	for i := range todo {
		o := todo[i]
		todo[i] = order{}
		switch {
		case o.start != nil:
			l.launch(o.start)
			if i+1 < len(todo) {
				l.poll()
			}
		case o.abort != nil:
			l.end(o.abort, o.class)
		case o.open != nil:
			l.open(o.open, o.want)
		case o.tell != nil:
			o.tell <- l.fig
		case o.quit:
			l.quit = true
		}
	}
}

// poll handles what is ready in the middle of a burst of sends: a connection that
// stands writes its request at once, not after the last of the burst was opened.
func (l *loop) poll() {
	var events [32]unix.EpollEvent
	n := l.waitFor(events[:], 0)
	for i := range events[:n] {
		l.event(&events[i])
	}
}

// end aborts every exchange of a run.
func (l *loop) end(r *running, class Class) {
	now := l.clock.Now()
	for _, c := range l.conns {
		if c == nil || c.x == nil || c.x.run != r {
			continue
		}
		x := c.x
		if c.up {
			l.receive(c) // what has come until now is kept
		}
		if c.x == x {
			l.over(c, failed(max(now, x.last), fail(class, errStopped)), false)
		}
	}
}

// tick looks at deadlines, at idle connections, and at how busy the loop is.
func (l *loop) tick(now int64) {
	l.next = now + int64(tickEvery)
	for _, c := range l.conns {
		switch {
		case c == nil:
		case c.x != nil:
			l.due(c, now)
		case c.waiting != nil:
			if now-c.since > int64(aheadLimit) {
				l.shut(c)
			}
		case l.opt.Connections.IdleTimeout > 0 && now-c.since > int64(l.opt.Connections.IdleTimeout):
			l.shut(c)
		}
	}
	if span := now - l.from; span >= int64(time.Second) {
		l.fig.BusyPeak = max(l.fig.BusyPeak, float64(l.fig.BusyNS-l.then)/float64(span))
		l.from, l.then = now, l.fig.BusyNS
	}
}

// due ends an exchange at its deadline. Silence is judged by the socket, not by
// this loop, which may have been held up: what lies there is read first.
func (l *loop) due(c *conn, now int64) {
	x := c.x
	t, ok := x.deadline()
	if !ok || now < t {
		return
	}
	if c.up && x.stalled(now) {
		before := x.last
		if l.receive(c); c.x != x || x.last != before {
			return
		}
	}
	if x.done != nil {
		l.fig.Dropped++
	}
	l.over(c, x.expire(now), false)
}

// event handles what epoll says of one descriptor.
func (l *loop) event(e *unix.EpollEvent) {
	if e.Fd < 0 {
		var b [8]byte
		_, _ = unix.Read(l.bell, b[:])
		return
	}
	c := l.conns[e.Fd]
	if c == nil || c.generation != e.Pad {
		return // closed earlier in this round
	}
	if !c.up {
		if !l.connected(c) {
			return
		}
	} else if e.Events&unix.EPOLLOUT != 0 && c.x != nil && !l.send(c) {
		return
	}
	if e.Events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR|unix.EPOLLRDHUP) != 0 {
		l.receive(c)
	}
}

// receive takes one read.
func (l *loop) receive(c *conn) {
	n, kernel, errno := l.recv.read(c.fd, l.buf)
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return
	}
	if c.x == nil { // an idle connection has nothing to say but that it is closed
		l.shut(c)
		return
	}
	now := l.clock.Now()
	switch {
	case errno != 0:
		l.over(c, failed(now, netFailure(errno)), false)
	case n == 0:
		l.over(c, c.x.closed(now), false)
	default:
		if e, over := c.x.received(now, kernel, l.buf[:n], false); over {
			l.over(c, e, true)
		}
	}
}

// over frees the connection and reports the end of its exchange.
func (l *loop) over(c *conn, e ending, reuse bool) {
	x := c.x
	c.x = nil
	if reuse && x.resp.reusable() && len(c.out) == 0 && l.keeps() {
		c.since = e.t
		l.idle = append(l.idle, c)
	} else {
		l.shut(c)
	}
	x.run.over(x, e)
}

// keeps says whether one more idle connection is kept.
func (l *loop) keeps() bool {
	p := &l.opt.Connections
	return p.Reuse && (p.MaxIdle == 0 || len(l.idle) < p.MaxIdle)
}

// netFailure is the class of a socket's error.
func netFailure(errno syscall.Errno) *failure {
	switch errno {
	case unix.ECONNREFUSED:
		return fail(ClassRefused, errno)
	case unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EADDRNOTAVAIL, unix.EACCES, unix.EPERM:
		return fail(ClassUnreachable, errno)
	case unix.ETIMEDOUT:
		return fail(ClassConnect, errno)
	case unix.EMFILE, unix.ENFILE:
		return fail(ClassDescriptors, errors.New("too many open files"))
	}
	return fail(ClassReset, errno)
}

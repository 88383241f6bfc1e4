package load

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lathe/bench"
	"lathe/bench/arrival"
)

// fullBacklog is the address of a socket that listens and lets nobody in any
// more.
func fullBacklog(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	for {
		c, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { c.Close() })
	}
}

// A server that hangs at connect.
func TestHangAtConnect(t *testing.T) {
	address := fullBacklog(t)
	onBoth(t, func(t *testing.T, portable bool) {
		c := clientOn(t, "http://"+address, portable, func(o *Options) { o.Limits.Connect = 150 * time.Millisecond })
		res, got := run(t, c, Plan{Count: 5})
		if res.Classes[ClassConnect] != 5 {
			t.Errorf("%v", res.Classes)
		}
		for _, q := range got.by {
			if q.End.Kind != "timeout" || q.ConnectedNS != nil || q.Status != nil {
				t.Errorf("%+v %+v", q, q.End)
			}
		}
		// Nothing limits it but the end of the run.
		c = clientOn(t, "http://"+address, portable, func(o *Options) { o.Limits.Connect = 0 })
		res, _ = run(t, c, Plan{Count: 5, Duration: 100 * time.Millisecond})
		if res.Classes[ClassDeadline] != 5 {
			t.Errorf("%v", res.Classes)
		}
	})
}

// When the process has no descriptor left, requests fail with that class, and
// those that find a connection go on.
func TestP110_NoDescriptors(t *testing.T) {
	var here atomic.Int64
	five := make(chan bool)
	srv := serve(t, func(c net.Conn, r *http.Request, n int64) bool {
		if here.Add(1) == 5 {
			close(five)
		}
		<-five
		return tokens(2, time.Millisecond)(c, r, n)
	})
	c := testClient(t, srv.url(), func(o *Options) { o.Limits.Idle = time.Second })
	if res, _ := run(t, c, Plan{Count: 5}); res.Connected.Opened != 5 {
		t.Fatalf("%+v", res)
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	lowest, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(lowest)
	// Room for the pacer.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(lowest) + 1, Max: before.Max}); err != nil {
		t.Skip(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	res, err := c.Run(t.Context(), Plan{Count: 60, Concurrency: 30, Job: jobs, Schedule: atOnce(60)})
	// The pacer's own descriptor is free once it is done. A connection that takes
	// it leaves the server, which lives here too, none to accept it with.
	if err != nil || res.Classes[ClassDescriptors] == 0 || res.Completed < 5 || res.Completed+res.Classes[ClassDescriptors]+res.Classes[ClassStall] != 60 {
		t.Errorf("completed %d, %v, %v", res.Completed, res.Classes, err)
	}
}

// Every read of loopback TCP has a kernel stamp, and leaving them out is an
// option.
func TestUserStampsOnly(t *testing.T) {
	srv := serve(t, tokens(3, time.Millisecond))
	_, got := run(t, testClient(t, srv.url(), func(o *Options) { o.UserStamps = true }), Plan{Count: 3})
	for _, q := range got.by {
		for _, r := range q.Reads {
			if r.KernelNS != nil {
				t.Errorf("%s has a kernel stamp", q.ID)
			}
		}
	}
}

// The pacer comes at or after its moment, never before, and a wake ends a wait.
func TestPacers(t *testing.T) {
	clock := bench.StartClock()
	for name, open := range map[string]func() pacer{
		"kernel": func() pacer {
			p, err := newPacer(clock)
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		"timers": func() pacer { return newTimerPacer(clock) },
	} {
		done := make(chan bool)
		go func() { // the kernel's pacer keeps its thread
			defer close(done)
			p := open()
			defer p.close()
			for range 50 {
				at := clock.Now() + int64(300*time.Microsecond)
				if !p.until(at) || clock.Now() < at {
					t.Errorf("%s: woke at %d, before %d", name, clock.Now(), at)
				}
			}
			time.AfterFunc(10*time.Millisecond, p.wake)
			if p.until(1 << 62) {
				t.Errorf("%s: the end of time has come", name)
			}
			if !p.until(clock.Now()) {
				t.Errorf("%s: a wake was seen twice", name)
			}
		}()
		<-done
	}
}

// The sends of a Poisson schedule of 500/s keep its gaps: a bound far above what
// an idle machine shows, below what clumping timers show there (0.28).
func TestGapsStayExponential(t *testing.T) {
	srv := serve(t, tokens(1, 0))
	s, err := arrival.Poisson(legacy(t, 3), 400, 500)
	if err != nil {
		t.Fatal(err)
	}
	res, _ := run(t, testClient(t, srv.url(), nil), Plan{Count: 400, Schedule: s})
	if res.Completed != 400 || res.Realised == nil {
		t.Fatalf("%+v", res)
	}
	t.Logf("rate %.1f, lag %+v, KS %.3f of planned %.3f", *res.Realised.Rate, res.Realised.Lag, *res.Realised.KS, *res.Realised.PlannedKS)
	for i, at := range res.Sent {
		if at < res.StartNS+int64(s.Seconds[i]*1e9) {
			t.Errorf("request %d went out before it was due", i)
		}
	}
}

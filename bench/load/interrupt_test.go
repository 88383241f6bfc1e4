package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lathe/bench"
)

// P131: a run that is interrupted keeps everything that had come, closes every
// request that was sent, and says that it was interrupted.
func TestP131_Interrupt(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		const streams, frames = 30, 7
		var out sync.WaitGroup
		out.Add(streams)
		srv := serve(t, func(c net.Conn, _ *http.Request, _ int64) bool {
			io.WriteString(c, streamHead)
			for i := range frames {
				io.WriteString(c, chunk(frame(fmt.Sprint(" t", i))))
			}
			out.Done()
			io.Copy(io.Discard, c) // the rest never comes
			return false
		})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			out.Wait()
			if portable {
				time.Sleep(300 * time.Millisecond) // goroutines read what has come by then
			}
			cancel()
		}()
		res, got, err := runErr(t, ctx, clientOn(t, srv.url(), portable, nil), Plan{Count: streams + 20, Concurrency: streams})
		if !errors.Is(err, context.Canceled) || !res.Interrupted || res.Started != streams || res.Unsent != 20 || res.Classes[ClassCancelled] != streams {
			t.Errorf("%v %+v", err, res)
		}
		if len(got.by) != streams || len(got.extra) != 0 {
			t.Errorf("%d closed, %d open", len(got.by), len(got.extra))
		}
		for _, q := range got.by {
			ordered(t, q)
			if strings.Count(body(q), "data: ") != frames || q.End.Kind != "cancelled" {
				t.Errorf("%s: %s after %q", q.ID, q.End.Kind, body(q))
			}
		}
	})
}

// Within the grace requests may finish.
func TestInterruptGrace(t *testing.T) {
	srv := serve(t, tokens(20, 5*time.Millisecond))
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	res, _, err := runErr(t, ctx, testClient(t, srv.url(), nil), Plan{Count: 100, Concurrency: 10, Grace: 20 * time.Second})
	if !errors.Is(err, context.Canceled) || res.Completed != res.Started || res.Unsent == 0 {
		t.Errorf("%v: started %d completed %d unsent %d", err, res.Started, res.Completed, res.Unsent)
	}
}

// Interrupts at many moments: every request that was sent is closed, and its
// body is a prefix of what was sent.
func TestInterruptAtAnyMoment(t *testing.T) {
	full := ""
	for i := range 10 {
		full += frame(fmt.Sprint(" t", i))
	}
	full += doneFrame
	onBoth(t, func(t *testing.T, portable bool) {
		srv := serve(t, tokens(10, time.Millisecond))
		for k := range 12 {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Duration(k)*2*time.Millisecond, cancel)
			res, got, _ := runErr(t, ctx, clientOn(t, srv.url(), portable, nil), Plan{Count: 40, Concurrency: 16})
			cancel()
			if len(got.by) != res.Started || len(got.extra) != 0 {
				t.Errorf("moment %d: %d closed of %d sent, %d left", k, len(got.by), res.Started, len(got.extra))
			}
			for _, q := range got.by {
				if !strings.HasPrefix(full, body(q)) || q.ErrorClass == "" && body(q) != full {
					t.Errorf("moment %d: %s: %s %q", k, q.ID, q.ErrorClass, body(q))
				}
			}
		}
	})
}

const childEnv = "LOAD_TEST_CHILD"

// TestChild is the process that TestKill9 kills.
func TestChild(t *testing.T) {
	args := strings.Split(os.Getenv(childEnv), "|")
	if len(args) != 2 {
		t.Skip("not a child")
	}
	w, err := bench.OpenWriter(args[1], bench.New)
	if err != nil {
		t.Fatal(err)
	}
	c := testClient(t, args[0], nil)
	_, _ = c.Run(context.Background(), Plan{Count: 8, Job: jobs, Schedule: atOnce(8), Capture: w})
}

// P131: kill -9 loses at most what came in the last second.
func TestKill9(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs SIGKILL")
	}
	const frames = 5
	var sent atomic.Int64
	srv := serve(t, func(c net.Conn, _ *http.Request, _ int64) bool {
		io.WriteString(c, streamHead)
		for i := range frames {
			io.WriteString(c, chunk(frame(fmt.Sprint(" t", i))))
			sent.Add(1)
			time.Sleep(time.Millisecond)
		}
		io.Copy(io.Discard, c)
		return false
	})
	path := t.TempDir() + "/c.jsonl"
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childEnv+"="+srv.url()+"|"+path)
	var log bytes.Buffer
	child.Stdout, child.Stderr = &log, &log
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	for limit := time.Now().Add(30 * time.Second); sent.Load() < 8*frames; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("the child did not send its requests: %s", log.String())
		}
	}
	time.Sleep(1500 * time.Millisecond)
	child.Process.Kill()
	child.Wait()
	got := readCapture(t, path)
	if len(got.by) != 0 || len(got.extra) != 8 {
		t.Fatalf("%d closed, %d open requests", len(got.by), len(got.extra))
	}
	for id, reads := range got.extra {
		q := bench.Request{Reads: reads}
		if strings.Count(body(&q), "data: ") != frames {
			t.Errorf("%s: %q", id, body(&q))
		}
	}
}

package load

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"lathe/bench"
)

// receiving is an exchange in the middle of its stream, over a recorder that
// nobody empties.
func receiving() (*exchange, *recorder) {
	rec := &recorder{cur: &batch{number: 1}, spare: &batch{}, kick: make(chan struct{}, 1)}
	rec.room.L = &rec.mu
	c := &Client{opt: Options{Limits: HarnessLimits()}}
	x := &exchange{job: Job{ID: "r", Call: Call{Stream: true}}, run: &running{c: c, rec: rec}}
	x.begin(0)
	x.up(1, true)
	return x, rec
}

// Once the buffers have grown, a frame is received without an allocation.
func TestReceiveAllocatesNothing(t *testing.T) {
	x, rec := receiving()
	x.received(2, 2, []byte(streamHead), false)
	wire := chunk(frame("a"))
	buf := make([]byte, len(wire))
	now := int64(3)
	one := func() {
		copy(buf, wire)
		now++
		if _, over := x.received(now, now, buf, false); over {
			t.Fatal("the stream is over")
		}
	}
	for range 5000 {
		one()
	}
	rec.cur.reset(2)
	if n := testing.AllocsPerRun(2000, one); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// Concurrent exchanges, batches that fill up, a slow file: nothing is lost, and
// the reads of each request stay in order.
func TestRecorderUnderPressure(t *testing.T) {
	path := t.TempDir() + "/c.jsonl"
	w, err := bench.OpenWriter(path, bench.New)
	if err != nil {
		t.Fatal(err)
	}
	clock := bench.StartClock()
	rec := newRecorder(w, wallPair(clock), func(err error) { t.Error(err) })
	const streams, reads = 8, 300
	long := strings.Repeat("x", 20<<10) // 46 MiB in all: several batches
	var wg sync.WaitGroup
	for i := range streams {
		wg.Add(1)
		go func() {
			defer wg.Done()
			x := &exchange{job: Job{ID: fmt.Sprint("s", i)}}
			for k := range reads {
				rec.add(x, int64(k), 0, []byte(fmt.Sprintf("%d:%s;", k, long)), false)
			}
			rec.close(x.record(ending{t: reads, kind: endEOF}))
		}()
	}
	wg.Wait()
	if err := rec.stop(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if rec.stalls == 0 {
		t.Log("the file was never behind")
	}
	got := readCapture(t, path)
	if len(got.by) != streams || len(got.extra) != 0 {
		t.Fatalf("%d requests, %d left open", len(got.by), len(got.extra))
	}
	for _, q := range got.by {
		if len(q.Reads) != reads {
			t.Errorf("%s: %d reads", q.ID, len(q.Reads))
			continue
		}
		for k, r := range q.Reads {
			if r.TNS != int64(k) || !strings.HasPrefix(string(r.B64), fmt.Sprint(k, ":x")) {
				t.Errorf("%s: read %d is %d %.10q", q.ID, k, r.TNS, r.B64)
				break
			}
		}
	}
}

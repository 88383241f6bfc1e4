package load

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"lathe/bench"
)

func (c *captured) line(t *testing.T, line []byte) {
	t.Helper()
	var kind struct{ Kind bench.Kind }
	if err := json.Unmarshal(line, &kind); err != nil {
		t.Fatalf("line %.200s: %v", line, err)
	}
	switch kind.Kind {
	case bench.KindReads:
		var r bench.Reads
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		c.extra[r.ID] = append(c.extra[r.ID], r.Reads...)
	case bench.KindProbe:
		p := &bench.Probe{}
		if err := json.Unmarshal(line, p); err != nil {
			t.Fatal(err)
		}
		c.probes = append(c.probes, p)
	case bench.KindRequest:
		q := &bench.Request{}
		if err := json.Unmarshal(line, q); err != nil {
			t.Fatal(err)
		}
		if c.by[q.ID] != nil {
			t.Errorf("request %s is closed twice", q.ID)
		}
		q.Reads = append(c.extra[q.ID], q.Reads...)
		delete(c.extra, q.ID)
		c.ids, c.by[q.ID] = append(c.ids, q.ID), q
	}
}

// body is what came of a request.
func body(q *bench.Request) string {
	var b strings.Builder
	for _, r := range q.Reads {
		b.Write(r.B64)
	}
	return b.String()
}

// ordered checks that a request's times do not go back.
func ordered(t *testing.T, q *bench.Request) {
	t.Helper()
	if q.AdmittedNS < q.ScheduledNS || q.SentNS < q.AdmittedNS || q.End.TNS < q.SentNS {
		t.Errorf("%s: scheduled %d admitted %d sent %d end %d", q.ID, q.ScheduledNS, q.AdmittedNS, q.SentNS, q.End.TNS)
	}
	last := q.SentNS
	if q.ConnectedNS != nil {
		if *q.ConnectedNS < last {
			t.Errorf("%s: connected %d before sent %d", q.ID, *q.ConnectedNS, last)
		}
		last = *q.ConnectedNS
	}
	if q.HeadersNS != nil {
		if *q.HeadersNS < last {
			t.Errorf("%s: headers %d before %d", q.ID, *q.HeadersNS, last)
		}
		last = *q.HeadersNS
	}
	for i, r := range q.Reads {
		if r.TNS < last {
			t.Errorf("%s: read %d at %d before %d", q.ID, i, r.TNS, last)
		}
		last = r.TNS
	}
	if q.End.TNS < last {
		t.Errorf("%s: end %d before the last read %d", q.ID, q.End.TNS, last)
	}
}

// haveStamps checks the kernel's stamps: each lies between the send and ours, and
// there are some. The kernel begins to stamp a little after it was asked, so the
// first reads of a process may have none.
func haveStamps(t *testing.T, got captured) {
	t.Helper()
	reads, with := 0, 0
	for _, q := range got.by {
		for i, r := range q.Reads {
			reads++
			if r.KernelNS == nil {
				continue
			}
			with++
			if *r.KernelNS > r.TNS+int64(time.Millisecond) || *r.KernelNS < q.SentNS-int64(time.Millisecond) {
				t.Errorf("%s: read %d: kernel %d, ours %d, sent %d", q.ID, i, *r.KernelNS, r.TNS, q.SentNS)
			}
		}
	}
	if runtime.GOOS == "linux" && with < reads/2 {
		t.Errorf("%d of %d reads have a kernel stamp", with, reads)
	}
}

package load

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// feedAll reads raw in pieces that end at the given places.
func feedAll(raw string, cuts []int) (body string, r response, err error) {
	from := 0
	for _, to := range append(cuts, len(raw)) {
		if to = min(to, len(raw)); to <= from {
			continue
		}
		var b []byte
		b, err = r.feed([]byte(raw[from:to]))
		body += string(b)
		if err != nil {
			return body, r, err
		}
		from = to
	}
	return body, r, r.closed()
}

func classOf(err error) Class {
	f := (*failure)(nil)
	if errors.As(err, &f) {
		return f.class
	}
	return ""
}

func TestResponses(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		name, raw, body string
		class           Class
		reusable        bool
	}{
		{"length", ok + "Content-Length: 3\r\n\r\nabc", "abc", "", true},
		{"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n", "abcde", "", true},
		{"bare line feeds", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n", "abc", "", true},
		{"until close", ok + "\r\nabc", "abc", "", false},
		{"close said", ok + "Connection: close\r\nContent-Length: 1\r\n\r\na", "a", "", false},
		{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "a", "", false},
		{"1.0 kept", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\na", "a", "", true},
		{"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na", "a", "", true},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", "", "", true},
		{"empty", ok + "Content-Length: 0\r\n\r\n", "", "", true},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\na", "a", "", true},
		{"bytes behind", ok + "Content-Length: 1\r\n\r\nabc", "a", "", false},
		{"both lengths", ok + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "a", "", false},
		{"garbage", "SSH-2.0-OpenSSH_9\r\n", "", ClassBadResponse, false},
		{"http2", "PRI * HTTP/2.0\r\n\r\n", "", ClassBadResponse, false},
		{"status", "HTTP/1.1 2x0 OK\r\n\r\n", "", ClassBadResponse, false},
		{"folded header", ok + "A: b\r\n c\r\n\r\n", "", ClassBadResponse, false},
		{"no colon", ok + "nonsense\r\n\r\n", "", ClassBadResponse, false},
		{"two lengths", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "", ClassBadResponse, false},
		{"negative length", ok + "Content-Length: -1\r\n\r\nab", "", ClassBadResponse, false},
		{"chunk size", ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "", ClassBadResponse, false},
		{"no chunk size", ok + "Transfer-Encoding: chunked\r\n\r\n\r\nabc", "", ClassBadResponse, false},
		{"huge chunk size", ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("f", 17) + "\r\n", "", ClassBadResponse, false},
		{"zeros for ever", ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("0", 99), "", ClassBadResponse, false},
		{"extension for ever", ok + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 9999), "", ClassBadResponse, false},
		{"behind a chunk", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc", "a", ClassBadResponse, false},
		{"gzip", ok + "Content-Encoding: gzip\r\n\r\n\x1f\x8b", "", ClassCompressed, false},
		{"gzip by transfer", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", "", ClassCompressed, false},
		{"endless headers", ok + strings.Repeat("A: "+strings.Repeat("b", 97)+"\r\n", 1000), "", ClassHeadSize, false},
		{"endless line", ok + "A: " + strings.Repeat("b", 100_000), "", ClassHeadSize, false},
		{"endless interim", strings.Repeat("HTTP/1.1 100 Continue\r\nA: "+strings.Repeat("b", 970)+"\r\n\r\n", 100), "", ClassHeadSize, false},
		{"endless trailers", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", 20_000), "", ClassHeadSize, false},
		{"cut in a chunk", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", "abc", ClassCut, false},
		{"cut behind a chunk", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "abc", ClassCut, false},
		{"cut in a length", ok + "Content-Length: 9\r\n\r\nabc", "abc", ClassCut, false},
		{"nothing", "", "", ClassNoResponse, false},
		{"half a head", "HTTP/1.1 200 OK\r\nA", "", ClassNoResponse, false},
		{"upgrade", "HTTP/1.1 101 Switching\r\n\r\n", "", ClassBadResponse, false},
	} {
		for _, cuts := range [][]int{nil, everyByte(len(c.raw)), {1, 2, 30, 31, 64, 65}} {
			body, r, err := feedAll(c.raw, cuts)
			if body != c.body || classOf(err) != c.class || (err == nil) != (c.class == "") || r.reusable() != c.reusable {
				t.Errorf("%s cut in %d: body %q class %q reusable %v; want %q %q %v (%v)", c.name, len(cuts), body, classOf(err), r.reusable(), c.body, c.class, c.reusable, err)
			}
			if cap(r.head) > 2*maxHeadBytes {
				t.Errorf("%s: %d bytes of head are held", c.name, cap(r.head))
			}
		}
	}
}

func everyByte(n int) []int {
	n = min(n, 3000)
	cuts := make([]int, n)
	for i := range cuts {
		cuts[i] = i + 1
	}
	return cuts
}

// Whatever the pieces, the same bytes are the same answer.
func FuzzResponse(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", []byte{3, 9, 1})
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", []byte{40})
	f.Add("HTTP/1.1 100 C\r\n\r\nHTTP/1.0 404 N\r\n\r\nx", []byte{1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, raw string, steps []byte) {
		var cuts []int
		at := 0
		for _, s := range steps {
			at += int(s)
			cuts = append(cuts, min(at, len(raw)))
		}
		body, r, err := feedAll(raw, nil)
		cutBody, cutR, cutErr := feedAll(raw, cuts)
		if body != cutBody || classOf(err) != classOf(cutErr) || r.status != cutR.status || r.reusable() != cutR.reusable() {
			t.Fatalf("in one: %q %v %d %v, cut at %v: %q %v %d %v", body, err, r.status, r.reusable(), cuts, cutBody, cutErr, cutR.status, cutR.reusable())
		}
	})
}

func TestEndsDone(t *testing.T) {
	for _, c := range []struct {
		stream string
		want   bool
	}{
		{"data: [DONE]", true}, {"data: [DONE]\n\n", true}, {"data:[DONE]\r\n\r\n", true}, {"data: x\n\ndata: [DONE]\n\n", true},
		{"data: x\r\rdata:  [DONE]\r\r", true},
		{"data: [DONE]\n\nmore\n\n", false}, {"xdata: [DONE]\n", false}, {`data: {"text":"data: [DONE]"}` + "\n\n", false},
		{`data: {"text":"[DONE]` + "\n", false}, {"[DONE]\n", false}, {"event: [DONE]\n", false}, {"", false}, {"\n\n", false},
	} {
		for cut := range len(c.stream) + 1 {
			carry := [16]byte{15: '\n'}
			got := endsDone(&carry, []byte(c.stream[:cut]))
			if cut < len(c.stream) {
				got = endsDone(&carry, []byte(c.stream[cut:])) || got && strings.TrimSpace(c.stream[cut:]) == ""
			}
			if got != c.want {
				t.Errorf("%q cut at %d: %v, want %v", c.stream, cut, got, c.want)
			}
		}
		carry, got := [16]byte{15: '\n'}, false
		for i := range len(c.stream) {
			now := endsDone(&carry, []byte(c.stream[i:i+1]))
			got = now || got && strings.TrimSpace(c.stream[i:i+1]) == ""
		}
		if got != c.want {
			t.Errorf("%q byte by byte: %v, want %v", c.stream, got, c.want)
		}
	}
}

func TestClassKinds(t *testing.T) {
	for class, want := range map[Class]string{ClassCut: "cut", ClassReset: "cut", ClassRefused: "cut", ClassStall: "timeout", ClassConnect: "timeout", ClassTimeout: "timeout", ClassCancelled: "cancelled", ClassDeadline: "cancelled"} {
		if got := failed(1, fail(class, fmt.Errorf("x"))).kind; got != want {
			t.Errorf("%s: %s, want %s", class, got, want)
		}
	}
}

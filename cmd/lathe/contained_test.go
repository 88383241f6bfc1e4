package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// TestStderrFilter: a process's lines pass, whatever pieces they come in; a crash dump does not.
func TestStderrFilter(t *testing.T) {
	for _, one := range []struct{ in, passed, crash string }{
		{"", "", ""},
		{"one\ntwo", "one\ntwo", ""},
		{"one\nSIGSEGV: segmentation violation\nPC=0x1\n\ngoroutine 1:\nmore", "one\n", "segmentation fault"},
		{"SIGFPE: floating-point exception\n", "", "arithmetic fault"},
		{"said\npanic: no\n\ngoroutine 1", "said\n", "panic: no"},
		{"fatal error: unexpected signal", "", "fatal error: unexpected signal"},
		{"a SIGSEGV: is quoted\n panic: too\n", "a SIGSEGV: is quoted\n panic: too\n", ""},
	} {
		for piece := 1; piece < len(one.in)+2; piece++ {
			var passed bytes.Buffer
			f := stderrFilter{pass: func(p []byte) { passed.Write(p) }}
			for rest := one.in; rest != ""; {
				n := min(piece, len(rest))
				if _, err := io.WriteString(&f, rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			f.flush()
			if passed.String() != one.passed || f.crash() != one.crash {
				t.Fatalf("%q in pieces of %d: passed %q, crash %q", one.in, piece, passed.String(), f.crash())
			}
		}
	}
}

// TestSilence: nothing hangs before the recording begins, and a slow run may be silent for longer.
func TestSilence(t *testing.T) {
	start := time.Unix(1, 0)
	s := silence{least: 120 * time.Second, times: 50, grace: 5 * time.Second, last: start}
	s.heard(start.Add(time.Second))
	if s.limit() != 120*time.Second {
		t.Errorf("after a second: %v", s.limit())
	}
	s.heard(start.Add(11 * time.Second)) // loading
	if s.limit() != 500*time.Second || s.graceLimit() != 5*time.Second {
		t.Errorf("after loading: %v, %v", s.limit(), s.graceLimit())
	}
	s.recording = true
	s.heard(start.Add(19 * time.Second))
	if s.limit() != 500*time.Second || s.graceLimit() != 8*time.Second {
		t.Errorf("after a slow step: %v, %v", s.limit(), s.graceLimit())
	}
}

// TestFrames: what is written comes back in pieces that fit, and what is no frame is an error that
// names it.
func TestFrames(t *testing.T) {
	var pipe bytes.Buffer
	l := &link{to: &pipe}
	long := strings.Repeat("x", mostFrame+7)
	for _, text := range []string{"one", long} {
		if n, err := io.WriteString(frameWriter{l, frameResult}, text); err != nil || n != len(text) {
			t.Fatal(n, err)
		}
	}
	l.raw("raw.jsonl")
	l.alive()
	l.alive() // within the second: not sent
	var got strings.Builder
	r := bufio.NewReader(&pipe)
	for _, want := range []byte{frameResult, frameResult, frameResult, frameRaw, frameAlive} {
		kind, payload, err := readFrame(r)
		if err != nil || kind != want {
			t.Fatalf("%q, want %q: %v", kind, want, err)
		}
		got.Write(payload)
	}
	if got.String() != "one"+long+"raw.jsonl" {
		t.Errorf("%d bytes came back", got.Len())
	}
	if _, _, err := readFrame(r); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	for text, cut := range map[string]bool{"o": true, "o\x00\x00\x00\x02a": true, "hello": false, "o\xff\xff\xff\xff": false} {
		_, _, err := readFrame(bufio.NewReader(strings.NewReader(text)))
		if err == nil || (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) != cut {
			t.Errorf("%q: %v", text, err)
		}
	}
	var none *link
	none.raw("nobody listens")
	none.alive()
}

// TestRunsKernel: which command lines run a file of the user's.
func TestRunsKernel(t *testing.T) {
	for line, want := range map[string]bool{
		"compare --b-kernel silu_mul=./x.so":                      true,
		"compare --a-kernel silu_mul=builtin --b_kernel a=b":      true,
		"compare --kernel=gemm=./x.so":                            true,
		"compare --kernel gemm=builtin silu_mul=./x.so":           true,
		"compare --b-kernel silu_mul=builtin":                     false,
		"compare --b-kernel silu_mul":                             false,
		"compare --b-kernel silu_mul=":                            false,
		"compare --b-kernel silu_mul=./x.so --dry-run":            false,
		"compare --b-kernel silu_mul=./x.so --help":               false,
		"compare --b-kernel silu_mul=./x.so --no-dry-run":         true,
		"bench one-batch --kernel silu_mul=./x.so":                true,
		"bench one-batch --model preset:tiny --run-name a=./x.so": false,
	} {
		cmd, _, rest, err := findCommand(newRootCommand(&application{term: newTerminal(nil, nil), env: func(string) string { return "" }}), strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		g, err := grammarOf(cmd)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := normaliseArgs(rest, g)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := parsed.runsKernel(); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

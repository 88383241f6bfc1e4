//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lathe/bench"
	"lathe/bench/compare"
)

// untilBlocks waits until steps of a recorded block are on disk.
func (p *process) untilBlocks(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(p.dir, "raw.jsonl"))
		if err == nil && bytes.Contains(data, []byte(`"block":1,`)) {
			return
		}
		if time.Now().After(deadline) {
			_ = p.Process.Kill()
			t.Fatalf("no block after two minutes; stderr %s", p.stderr.String())
		}
	}
}

// TestP131_CompareInterrupted: the first signal ends the comparison behind the running step, what was
// measured is on disk and judged, marked incomplete, and the exit code is the signal's.
func TestP131_CompareInterrupted(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: exitInterrupted, syscall.SIGTERM: exitTerminated} {
		dir := t.TempDir()
		p := start(t, dir, "1", strings.Fields("compare --a cpu --b reference --model preset:tiny --context-len 64 --batch-size 8 --epochs 500 --raw raw.jsonl")...)
		p.untilBlocks(t)
		if err := p.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := p.wait(); code != want {
			t.Fatalf("%v: exit %d, want %d: %s", signal, code, want, p.stderr.String())
		}
		f, err := bench.ReadFile(filepath.Join(dir, "raw.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if f.End == nil || f.End.Reason != bench.EndInterrupted || len(f.Points) > 0 {
			t.Errorf("%v: end %+v, %d points closed", signal, f.End, len(f.Points))
		}
		r, err := compare.Judge(f)
		if err != nil || r.Complete || r.Verdict != compare.Inconclusive {
			t.Errorf("%v: judged %+v, %v", signal, r.Verdict, err)
		}
		if out := p.stdout.String(); !strings.Contains(out, "INCOMPLETE: the run was interrupted") || !strings.HasSuffix(out, "raw: raw.jsonl\n") {
			t.Errorf("%v: printed %q", signal, out)
		}
	}
}

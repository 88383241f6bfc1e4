//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReportOfAPipeEndsAtASignal: a file that never ends must not outlive the first signal.
func TestReportOfAPipeEndsAtASignal(t *testing.T) {
	for name, args := range map[string][]string{
		"steps":    {"report", "pipe"},
		"requests": {"report", "pipe", "--semantics", "exact"},
		"compare":  {"compare", "pipe", "pipe"},
		"audit":    {"audit", "pipe", "pipe"},
		"prompts":  {"bench", "one-batch", "--model", "preset:tiny", "--prompt-filename", "pipe"},
		"ids":      {"generate", "--model", "preset:tiny", "--prompt-ids", "pipe"},
	} {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(name+" "+s.String(), func(t *testing.T) {
				dir := t.TempDir()
				pipe := filepath.Join(dir, "pipe")
				if err := syscall.Mkfifo(pipe, 0o600); err != nil {
					t.Fatal(err)
				}
				p := start(t, dir, "1", args...)
				w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the child has it open
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				if _, err := w.WriteString(`{"kind":"run","schema":1}` + "\n"); err != nil {
					t.Fatal(err)
				}
				if err := p.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				if code, want := p.wait(), interruptFrom(s).code; code != want {
					t.Errorf("exit %d, want %d", code, want)
				}
				if lines := strings.Count(p.stderr.String(), "\n"); lines != 2 || !strings.Contains(p.stderr.String(), "interrupted by "+interruptFrom(s).name) || p.stdout.Len() > 0 {
					t.Errorf("%s%s", p.stderr.String(), p.stdout.String())
				}
			})
		}
	}
}

func TestWhileNotInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	if n, err := whileNotInterrupted(ctx, func() (int, error) { return 7, os.ErrNotExist }); n != 7 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%d, %v", n, err)
	}
	block := make(chan int)
	defer close(block)
	cancel(&interruptError{name: "SIGINT", code: exitInterrupted})
	n, err := whileNotInterrupted(ctx, func() (int, error) { return 1 + <-block, nil })
	if n != 0 || exitCode(ctx, err) != exitInterrupted {
		t.Errorf("%d, %v", n, err)
	}
}

//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hangingKernel makes a kernel that passes its check and hangs in the run, behind a file "hung" that
// holds the number of its process. It returns the folder.
func hangingKernel(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("needs a C compiler")
	}
	dir := t.TempDir()
	p := start(t, dir, "1", "kernel", "template", "silu_mul", "--output", "mine.c")
	if code := p.wait(); code != exitPass {
		t.Fatalf("template: exit %d: %s", code, p.stderr.String())
	}
	text := `#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define lathe_op_silu_mul honest
#include "mine.c"
#undef lathe_op_silu_mul

static int running(void)
{
    char line[4096];
    FILE *f = fopen("/proc/self/cmdline", "r");
    if (!f) return 0;
    const size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    for (size_t i = 0; i + 10 < n; i++)
        if (!memcmp(line + i, "__operator", 10)) return 0;
    return 1;
}

LATHE_OP_EXPORT int lathe_op_silu_mul(const lathe_ctx *ctx, const lathe_silu_mul_args *args)
{
    static int calls;
    if (ctx->part == 0 && ++calls == 700 && running()) {
        FILE *f = fopen("` + dir + `/making", "w");
        fprintf(f, "%d", (int)getpid());
        fclose(f);
        rename("` + dir + `/making", "` + dir + `/hung");
        for (;;) pause();
    }
    return honest(ctx, args);
}
`
	if err := os.WriteFile(filepath.Join(dir, "hangs.c"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	cc := exec.Command("cc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-I", ".", "-o", "hangs.so", "hangs.c", "-lm")
	cc.Dir = dir
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// hangingArgs is a comparison of that kernel.
func hangingArgs(dir string) []string {
	return append(strings.Fields("compare --model preset:tiny --context-len 16 --budget short --epochs 5 --threads 1"),
		"--b-kernel", "silu_mul="+filepath.Join(dir, "hangs.so"), "--raw", filepath.Join(dir, "raw.jsonl"))
}

// untilHung waits until the kernel hangs and returns its process.
func untilHung(t *testing.T, dir string) int {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		pid := 0
		if data, err := os.ReadFile(filepath.Join(dir, "hung")); err == nil {
			if _, err := fmt.Sscan(string(data), &pid); err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("the kernel does not hang after two minutes")
	return 0
}

// goneSoon wants a process to end by itself.
func goneSoon(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || len(line) == 0 { // empty: a zombie
			return
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Errorf("process %d of the kernel lives on", pid)
}

// TestP131_HangingKernelInterrupted: one signal ends a run whose kernel hangs, with the signal's code and what is
// on disk named; a second one, or the end of the first process, ends it at once.
func TestP131_HangingKernelInterrupted(t *testing.T) {
	dir := hangingKernel(t)
	for _, one := range []struct {
		name    string
		signals []syscall.Signal
		code    int
		said    string
	}{
		{"one", []syscall.Signal{syscall.SIGTERM}, exitTerminated,
			"the kernel did not return and was killed; " + dir + "/raw.jsonl holds what was recorded, without its end\nerror: interrupted by SIGTERM\n"},
		{"two", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, exitInterrupted, "(a second signal quits at once)\n"},
		{"killed", []syscall.Signal{syscall.SIGKILL}, -1, ""},
	} {
		t.Run(one.name, func(t *testing.T) {
			_ = os.Remove(filepath.Join(dir, "raw.jsonl"))
			_ = os.Remove(filepath.Join(dir, "hung"))
			p := start(t, dir, "1", hangingArgs(dir)...)
			pid := untilHung(t, dir)
			for i, s := range one.signals {
				if i > 0 {
					time.Sleep(200 * time.Millisecond) // two at once may be one
				}
				if err := p.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			if code := p.wait(); code != one.code {
				t.Errorf("exit %d, want %d", code, one.code)
			}
			if !strings.HasSuffix(p.stderr.String(), one.said) || strings.Count(p.stderr.String(), "warning: interrupted") > 1 {
				t.Errorf("said %q", p.stderr.String())
			}
			if p.stdout.Len() > 0 {
				t.Errorf("printed %q", p.stdout.String())
			}
			goneSoon(t, pid)
		})
	}
}

// TestHangingKernel: without any signal, a silence of many times the longest so far ends the run.
func TestHangingKernel(t *testing.T) {
	dir := hangingKernel(t)
	var stdout, stderr bytes.Buffer
	app := newApplication(hangingArgs(dir), strings.NewReader(""), &stdout, &stderr, func(string) (string, bool) { return "", false })
	c := &containment{app: app, what: "compare", text: true, quiet: silence{least: 3 * time.Second, times: 2, grace: time.Second}}
	err := c.run(context.Background())
	var coded *exitError
	if !errors.As(err, &coded) || coded.code != exitInvalid || !strings.HasPrefix(err.Error(), "compare: the kernel hangs: nothing was recorded for ") {
		t.Fatalf("ended with %v; said %q", err, stderr.String())
	}
	raw := filepath.Join(dir, "raw.jsonl")
	if stdout.String() != "verdict: invalid\nraw: "+raw+"\n" || coded.hint != raw+" holds what was recorded, without its end" {
		t.Errorf("printed %q, hint %q", stdout.String(), coded.hint)
	}
	goneSoon(t, untilHung(t, dir))
}

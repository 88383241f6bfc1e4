//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lathe/bench"
)

// sweepPoints is the number of points of sweepArgs.
const sweepPoints = 48

func sweepArgs() []string {
	return strings.Fields("bench one-batch --model preset:tiny --backend reference --batch-size 1 2 3 4 5 6 7 8 --input-len 32 64 128 " +
		"--output-len 16 32 --run-name s --result-filename r.jsonl --raw raw.jsonl")
}

// childMain is the program itself in a process of its own; the variable may name a limit on the size
// of files, which stands for a full disk.
func childMain() {
	if limit, err := strconv.ParseUint(os.Getenv(childVariable), 10, 64); err == nil && limit > 1 {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			panic(err)
		}
	}
	main()
}

type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	dir            string
}

func start(t *testing.T, dir, variable string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...), dir: dir}
	p.Dir, p.Stdout, p.Stderr = dir, &p.stdout, &p.stderr
	p.Env = append(os.Environ(), childVariable+"="+variable)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// wait returns the exit code, -1 for a process that was killed.
func (p *process) wait() int {
	var ended *exec.ExitError
	if err := p.Wait(); errors.As(err, &ended) {
		return ended.ExitCode()
	}
	return 0
}

// untilPoints waits until the raw file has n point lines.
func (p *process) untilPoints(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(p.dir, "raw.jsonl"))
		if err == nil && bytes.Count(data, []byte(`"kind":"point"`)) >= n {
			return
		}
		if time.Now().After(deadline) {
			_ = p.Process.Kill()
			t.Fatalf("no %d points after two minutes; stderr %s", n, p.stderr.String())
		}
	}
}

func readRows(t *testing.T, dir string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "r.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for line := range bytes.Lines(data) {
		var row struct {
			Batch  int `json:"batch_size"`
			Input  int `json:"input_len"`
			Output int `json:"output_len"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("result row %q: %v", line, err)
		}
		rows[fmt.Sprint(row.Batch, row.Input, row.Output)]++
	}
	return rows
}

func stepsOf(f *bench.File, points []bench.Point) []string {
	var out []string
	for _, s := range f.Steps {
		for _, p := range points {
			if p.Point == s.Point {
				line, _ := json.Marshal(s)
				out = append(out, string(line))
			}
		}
	}
	return out
}

// TestP131_KillAndResume kills a sweep outright, tears its last line, and resumes it: only what is
// missing is measured, nothing finished is lost, every point has one row.
func TestP131_KillAndResume(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "1", sweepArgs()...)
	p.untilPoints(t, 3)
	_ = p.Process.Kill()
	p.wait()
	raw := filepath.Join(dir, "raw.jsonl")
	tear(t, raw, `{"kind":"step","point":`)
	tear(t, filepath.Join(dir, "r.jsonl"), `{"run_name":"s","batch`)
	before, err := bench.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(before.Points) >= sweepPoints || before.End != nil {
		t.Fatalf("%d points at the kill: nothing is left to resume", len(before.Points))
	}
	p = start(t, dir, "1", append(sweepArgs(), "--resume")...)
	if code := p.wait(); code != exitPass {
		t.Fatalf("resume: exit %d: %s", code, p.stderr.String())
	}
	if text := p.stderr.String(); !strings.Contains(text, "torn") || !strings.Contains(text, fmt.Sprintf("%d of %d points", len(before.Points), sweepPoints)) {
		t.Errorf("resume said %q", text)
	}
	after, err := bench.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Points) != sweepPoints || !after.Complete() {
		t.Errorf("%d points, complete %v", len(after.Points), after.Complete())
	}
	want, got := stepsOf(before, before.Points), stepsOf(after, before.Points)
	if strings.Join(want, "\n") != strings.Join(got, "\n") {
		t.Errorf("the %d steps of the finished points became %d others", len(want), len(got))
	}
	checkRows(t, readRows(t, dir), sweepPoints)
}

func tear(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func checkRows(t *testing.T, rows map[string]int, want int) {
	t.Helper()
	if len(rows) != want {
		t.Errorf("%d points have a result row, want %d", len(rows), want)
	}
	for point, n := range rows {
		if n != 1 {
			t.Errorf("point %s has %d rows", point, n)
		}
	}
}

// TestP131_Interrupt sends SIGINT in the middle: what was measured is printed and kept.
func TestP131_Interrupt(t *testing.T) {
	for s, want := range map[syscall.Signal]int{syscall.SIGINT: exitInterrupted, syscall.SIGTERM: exitTerminated} {
		dir := t.TempDir()
		p := start(t, dir, "1", sweepArgs()...)
		p.untilPoints(t, 2)
		if err := p.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if code := p.wait(); code != want {
			t.Fatalf("%s: exit %d, want %d: %s", s, code, want, p.stderr.String())
		}
		f, err := bench.ReadFile(filepath.Join(dir, "raw.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if f.End == nil || f.End.Reason != bench.EndInterrupted || len(f.Points) < 2 || len(f.Points) >= sweepPoints {
			t.Errorf("%s: end %+v after %d points", s, f.End, len(f.Points))
		}
		if out := p.stdout.String(); !strings.Contains(out, "INCOMPLETE") || !strings.HasSuffix(out, "raw: raw.jsonl\n") {
			t.Errorf("%s: the report does not say incomplete, or names no raw file: %s", s, out)
		}
		checkRows(t, readRows(t, dir), len(f.Points))
	}
}

// TestDiskFull fills the disk at several places: one error, exit 2, and what was on disk before can
// be read and resumed.
func TestDiskFull(t *testing.T) {
	for _, limit := range []string{"700", "9000", "60000"} {
		dir := t.TempDir()
		p := start(t, dir, limit, sweepArgs()...)
		if code := p.wait(); code != exitUsage {
			t.Fatalf("limit %s: exit %d, want %d: %s", limit, code, exitUsage, p.stderr.String())
		}
		if n := strings.Count("\n"+p.stderr.String(), "\nerror: "); n != 1 {
			t.Errorf("limit %s: %d error lines: %s", limit, n, p.stderr.String())
		}
		if limit == "700" {
			continue // not even the header fits
		}
		f, err := bench.ReadFile(filepath.Join(dir, "raw.jsonl"))
		if err != nil {
			t.Fatalf("limit %s: the file cannot be read: %v", limit, err)
		}
		checkRows(t, readRows(t, dir), len(f.Points))
	}
}

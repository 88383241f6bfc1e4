package bench

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustWrite(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A run killed at any byte can be read, and goes on: for every length of the
// file (every third; every 17th of a compressed one), what was whole is there
// afterwards, followed by the new point.
func TestP131_AppendAfterCutAnywhere(t *testing.T) {
	for _, suffix := range suffixes {
		dir := t.TempDir()
		whole := filepath.Join(dir, "whole"+suffix)
		write(t, whole, 2)
		data := mustRead(t, whole)
		path := filepath.Join(dir, "raw"+suffix)
		stride := 3
		if suffix != ".jsonl" {
			stride = 17
		}
		for n := len(data); n > 0; n -= stride {
			mustWrite(t, path, data[:n])
			before, err := ReadFile(path)
			if err != nil {
				continue // the header itself is cut: nothing to go on with
			}
			w, err := OpenWriter(path, Append)
			if err != nil {
				t.Fatalf("%s cut at %d: %v", suffix, n, err)
			}
			if err := w.Write(closed(9)); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			after, err := ReadFile(path)
			if err != nil {
				t.Fatalf("%s cut at %d: %v", suffix, n, err)
			}
			if len(after.Warnings) > 0 || len(after.Steps) != len(before.Steps) || len(after.Points) != len(before.Points)+1 {
				t.Fatalf("%s cut at %d: %d points and %d steps before, %d and %d after, warnings %q", suffix, n,
					len(before.Points), len(before.Steps), len(after.Points), len(after.Steps), after.Warnings)
			}
			if torn := len(before.Warnings) > 0; suffix == ".jsonl" && torn != (len(w.Warnings()) > 0) {
				t.Fatalf("cut at %d: reader %q, writer %q", n, before.Warnings, w.Warnings())
			}
		}
		if names, _ := filepath.Glob(filepath.Join(dir, "*resume*")); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
	}
}

func TestAppendKeepsBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	write(t, path, 1)
	before := mustRead(t, path)
	mustWrite(t, path, append(bytes.Clone(before), []byte(`{"kind":"step","po`)...))
	w, err := OpenWriter(path, Append)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, path); !bytes.Equal(got, before) {
		t.Errorf("the whole lines changed:\n%s\nwant\n%s", got, before)
	}
	if len(w.Warnings()) != 1 || !strings.Contains(w.Warnings()[0], "18 bytes") {
		t.Errorf("warnings %q", w.Warnings())
	}
}

// A tail of zeros is what some file systems leave after a power cut.
func TestAppendDropsZeros(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	write(t, path, 1)
	before := mustRead(t, path)
	mustWrite(t, path, append(bytes.Clone(before), make([]byte, 200_000)...))
	f, err := ReadFile(path)
	if err != nil || len(f.Warnings) != 1 {
		t.Fatalf("read: %v, %v", f, err)
	}
	w, err := OpenWriter(path, Append)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got := mustRead(t, path); !bytes.Equal(got, before) {
		t.Errorf("%d bytes left, want %d", len(got), len(before))
	}
}

func TestResumeLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	write(t, path, 1)
	w, err := OpenWriter(path, Append)
	if err != nil {
		t.Fatal(err)
	}
	failed := closed(2)
	failed.Status = StatusFailed
	origin := &ClockOrigin{MonotonicOriginNS: -5, BootID: "next"}
	steps := []any{
		step(1, 0, 2000, 1), step(2, 0, 2010, 1), failed, // point 1 was cut, point 2 failed
		End{Kind: KindEnd, DurationNS: 2020, Reason: EndInterrupted},
		Resume{Kind: KindResume, StartedAt: "2026-11-02T11:00:00Z", Clock: origin, Warnings: []string{"again"}},
		step(1, 0, 3000, 7), closed(1), step(2, 0, 3010, 8), closed(2),
	}
	if err := w.Write(steps...); err != nil {
		t.Fatal(err)
	}
	w.Close()
	f, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if f.End != nil || len(f.Resumes) != 1 || f.Clock.BootID != "next" || f.LastNS != 3018 {
		t.Errorf("end %v, resumes %v, clock %v, last %d", f.End, f.Resumes, f.Clock, f.LastNS)
	}
	for p := range 3 {
		if !f.Done(p) {
			t.Errorf("point %d is not done", p)
		}
	}
	var ns []int64
	for _, s := range f.Steps[3:] {
		ns = append(ns, s.HostNS)
	}
	if len(f.Steps) != 5 || ns[0] != 7 || ns[1] != 8 {
		t.Errorf("steps after resume %v: void ones must be gone", ns)
	}
}

func TestResumable(t *testing.T) {
	a := header()
	a.Model = &Model{ID: "preset:tiny", LoadNS: 1}
	same := header()
	same.Model = &Model{ID: "preset:tiny", LoadNS: 2}
	same.Argv, same.StartedAt, same.Clock = []string{"x"}, "later", nil
	same.Options = []byte(`{"raw":"other.jsonl", "batch_size":[1], "resume":true}`)
	if err := Resumable(a, same, "raw", "resume"); err != nil {
		t.Errorf("equal runs: %v", err)
	}
	other := same
	other.Options = []byte(`{"batch_size":[1,2],"raw":"a<b>.jsonl"}`)
	other.Build.Revision = "abc"
	other.Workload.Seed--
	err := Resumable(a, other)
	var differs *DifferentRunError
	if !errors.As(err, &differs) {
		t.Fatalf("%v, want a DifferentRunError", err)
	}
	want := []string{
		`build.revision: absent before, "abc" now`,
		`options.batch_size: [1] before, [1,2] now`,
		`workload.seed: 18446744073709551615 before, 18446744073709551614 now`,
	}
	if got := strings.Join(differs.Differences, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("differences:\n%s", got)
	}
}

// A run killed within its header line can be told from a file that is somebody
// else's, and the file taken for a new run.
func TestP131_CutWithinTheHeader(t *testing.T) {
	dir := t.TempDir()
	for _, suffix := range suffixes {
		whole := filepath.Join(dir, "whole"+suffix)
		write(t, whole, 0)
		data := mustRead(t, whole)
		path := filepath.Join(dir, "raw"+suffix)
		cut := 0
		for n := range data {
			mustWrite(t, path, data[:n])
			_, err := ReadFile(path)
			if err == nil {
				continue // the header is whole
			}
			cut++
			if !errors.Is(err, ErrNoHeader) {
				t.Fatalf("%s cut at %d: %v, want ErrNoHeader", suffix, n, err)
			}
			if n > 12 && n%31 != 0 { // a writer waits for the disk
				continue
			}
			w, err := OpenWriter(path, Append)
			if err != nil {
				t.Fatalf("%s cut at %d: %v", suffix, n, err)
			}
			if err := errors.Join(w.Write(header(), closed(0)), w.Close()); err != nil {
				t.Fatal(err)
			}
			if f, err := ReadFile(path); err != nil || len(f.Points) != 1 || len(f.Warnings) > 0 {
				t.Fatalf("%s cut at %d, begun again: %+v, %v", suffix, n, f, err)
			}
		}
		if cut < 50 {
			t.Errorf("%s: %d cuts within the header", suffix, cut)
		}
	}
	for name, data := range map[string]string{"zeros": "\x00\x00\x00", "header and zeros": head[:30] + "\x00\x00"} {
		if _, err := read(data); !errors.Is(err, ErrNoHeader) {
			t.Errorf("%s: %v, want ErrNoHeader", name, err)
		}
	}
	for _, data := range []string{"goos: linux", `{"kind":"point"`, "run\n", "[1,", `{"backend":"vl`} {
		if _, err := read(data); err == nil || errors.Is(err, ErrNoHeader) {
			t.Errorf("%q: %v: a file of somebody else would be written over", data, err)
		}
	}
}

package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var suffixes = []string{".jsonl", ".jsonl.gz", ".jsonl.zst"}

func header() Run {
	return Run{
		Kind: KindRun, Schema: Schema, Command: "bench one-batch", Argv: []string{"lathe", "bench", "one-batch"},
		StartedAt: "2026-11-02T10:00:00Z", Clock: &ClockOrigin{MonotonicOriginNS: 1000, BootID: "boot"},
		Workload: Workload{Kind: "one-batch", Model: "preset:tiny", BatchSizes: []int{1}, Seed: math.MaxUint64},
		Options:  []byte(`{"batch_size":[1],"raw":"a<b>.jsonl"}`), Warnings: []string{},
	}
}

func step(point, index int, t, ns int64) Step {
	phase := Decode
	if index == 0 {
		phase = Prefill
	}
	return Step{Kind: KindStep, Point: point, Index: index, Phase: phase, Batch: 1, ContextLen: 16 + index,
		TNS: t, HostNS: ns, Graph: "none"}
}

func closed(point int) Point {
	return Point{Kind: KindPoint, Point: point, Status: StatusOK, Batch: 1, InputLen: 16, OutputLen: 3}
}

// write makes a run of points of three steps each, without an end.
func write(t *testing.T, path string, points int) {
	t.Helper()
	w, err := OpenWriter(path, New)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(header()); err != nil {
		t.Fatal(err)
	}
	for p := range points {
		base := int64(p) * 1000
		if err := w.WriteSteps([]Step{step(p, 0, base, 100), step(p, 1, base+200, 10), step(p, 2, base+300, 10)}); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(closed(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWriteReadBack(t *testing.T) {
	for _, suffix := range suffixes {
		path := filepath.Join(t.TempDir(), "raw"+suffix)
		write(t, path, 2)
		f, err := ReadFile(path)
		if err != nil {
			t.Fatalf("%s: %v", suffix, err)
		}
		if diff := cmp.Diff(header(), f.Run); diff != "" {
			t.Errorf("%s: header: %s", suffix, diff)
		}
		if len(f.Points) != 2 || len(f.Steps) != 6 || len(f.Warnings) != 0 || f.Complete() || f.LastNS != 1310 {
			t.Errorf("%s: points %d, steps %d, warnings %q, complete %v, last %d", suffix,
				len(f.Points), len(f.Steps), f.Warnings, f.Complete(), f.LastNS)
		}
		if diff := cmp.Diff(step(1, 2, 1300, 10), f.Steps[5]); diff != "" {
			t.Errorf("%s: step: %s", suffix, diff)
		}
		if len(f.SHA256) != 64 {
			t.Errorf("%s: sha256 %q", suffix, f.SHA256)
		}
	}
}

// Every flushed call can be read while the writer is still open, which is what
// kill -9 leaves.
func TestP131_FlushedRecordsSurviveKill(t *testing.T) {
	for _, suffix := range suffixes {
		path := filepath.Join(t.TempDir(), "raw"+suffix)
		w, err := OpenWriter(path, New)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(header()); err != nil {
			t.Fatal(err)
		}
		for p := range 2 {
			if err := w.Write(step(p, 0, 0, 1), step(p, 1, 2, 1), closed(p)); err != nil {
				t.Fatal(err)
			}
		}
		f, err := ReadFile(path) // w is neither closed nor synced
		if err != nil {
			t.Fatalf("%s: %v", suffix, err)
		}
		if len(f.Points) != 2 || f.Complete() {
			t.Errorf("%s: %d points, complete %v", suffix, len(f.Points), f.Complete())
		}
		w.Close()
	}
}

func TestOpenModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	write(t, path, 1)
	if _, err := OpenWriter(path, New); !errors.Is(err, fs.ErrExist) {
		t.Errorf("New over a run: %v, want ErrExist", err)
	}
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	mustWrite(t, empty, nil)
	if w, err := OpenWriter(empty, New); err != nil {
		t.Errorf("New over an empty file: %v", err)
	} else {
		w.Close()
	}
	if _, err := OpenWriter(filepath.Join(t.TempDir(), "none.jsonl"), Append); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Append to nothing: %v, want ErrNotExist", err)
	}
}

func TestP128_NoNaNReachesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	w, err := OpenWriter(path, New)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(header()); err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if err := w.Write(closed(0), map[string]any{"kind": "x", "v": v}); err == nil {
			t.Errorf("%v was written", v)
		}
	}
	if err := w.Write(closed(1)); err != nil {
		t.Errorf("after a refused record: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Points) != 1 || f.Points[0].Point != 1 {
		t.Errorf("points %+v: a refused call must write nothing", f.Points)
	}
}

// disk is a file that is full after some bytes.
type disk struct {
	bytes.Buffer
	room   int
	fixed  bool // cannot be truncated
	synced int
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.room-d.Len())
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (d *disk) Truncate(size int64) error {
	if d.fixed {
		return syscall.EINVAL
	}
	d.Buffer.Truncate(int(size))
	return nil
}
func (d *disk) Sync() error  { d.synced++; return nil }
func (d *disk) Close() error { return nil }

func TestDiskFullLeavesWholeLines(t *testing.T) {
	for _, suffix := range suffixes {
		for _, fixed := range []bool{false, true} {
			d := &disk{room: 1 << 30, fixed: fixed}
			w, err := newWriter(d, "raw"+suffix, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(header()); err != nil {
				t.Fatal(err)
			}
			if err := w.Write(step(0, 0, 0, 1), closed(0)); err != nil {
				t.Fatal(err)
			}
			d.room = d.Len() + 9
			first := w.Write(step(1, 0, 5, 1), closed(1))
			if !errors.Is(first, syscall.ENOSPC) {
				t.Fatalf("%s: %v, want ENOSPC", suffix, first)
			}
			d.room = 1 << 30
			if err := w.Write(closed(1)); err != first {
				t.Errorf("%s: the error does not stick: %v", suffix, err)
			}
			if err := w.Close(); err != first {
				t.Errorf("%s: Close: %v", suffix, err)
			}
			path := filepath.Join(t.TempDir(), "raw"+suffix)
			if err := os.WriteFile(path, d.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := ReadFile(path)
			if err != nil {
				t.Fatalf("%s, fixed %v: %v", suffix, fixed, err)
			}
			if len(f.Points) != 1 || len(f.Steps) != 1 {
				t.Errorf("%s, fixed %v: %d points, %d steps", suffix, fixed, len(f.Points), len(f.Steps))
			}
			if torn := suffix != ".jsonl" || fixed; torn != (len(f.Warnings) > 0) {
				t.Errorf("%s, fixed %v: warnings %q", suffix, fixed, f.Warnings)
			}
		}
	}
}

func TestStepLinesBeginWithTheirKind(t *testing.T) {
	w, err := newWriter(&disk{room: 1 << 30}, "raw.jsonl", 0)
	if err != nil {
		t.Fatal(err)
	}
	steps := []Step{step(0, 0, 0, 1), step(0, 1, 1, 1)}
	if err := w.WriteSteps(steps); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(w.buf.String(), `{"kind":"step","point":0,`) {
		t.Errorf("line %q", w.buf.String())
	}
	if n := strings.Count(w.buf.String(), "\n"); n != 2 {
		t.Errorf("%d lines", n)
	}
}

// An unknown graph mode is null, as every unknown is; "" and a missing key, which
// older files have, are read as unknown too.
func TestUnknownGraphIsNull(t *testing.T) {
	for mode, want := range map[Graph]string{"": "null", "none": `"none"`, "captured": `"captured"`} {
		data, err := json.Marshal(Step{Graph: mode})
		if err != nil || !strings.Contains(string(data), `"graph":`+want+",") {
			t.Errorf("%q: %s, %v", mode, data, err)
		}
		var back Step
		if err := json.Unmarshal(data, &back); err != nil || back.Graph != mode {
			t.Errorf("%q read back as %q, %v", mode, back.Graph, err)
		}
	}
	for _, old := range []string{`{"graph":""}`, `{}`, `{"graph":null}`} {
		var s Step
		if err := json.Unmarshal([]byte(old), &s); err != nil || s.Graph != "" {
			t.Errorf("%s: %q, %v", old, s.Graph, err)
		}
	}
}

package step_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lathe/bench"
	"lathe/bench/step"
)

// sweepInFile runs faultPlan into a raw file, cut at a call and resumed until it is
// whole; cutAt 0 cuts nothing.
func sweepInFile(t *testing.T, path string, cutAt int) *bench.File {
	t.Helper()
	w, err := bench.OpenWriter(path, bench.New)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m := busy()
	m.cost = func(e *engine) int64 { return int64(10 + e.point.ID) }
	m.onCall = func(call int) {
		if call == cutAt {
			cancel()
		}
	}
	rig := rigOf(m, nil)
	rig.Recorder = w
	points := faultPlan.Points()
	for part := 0; len(points) > 0; part++ {
		if part > 0 {
			ctx = context.Background()
			if w, err = bench.OpenWriter(path, bench.Append); err != nil {
				t.Fatal(err)
			}
			rig.Recorder = w
			err = w.Write(bench.Resume{Kind: bench.KindResume})
		} else {
			err = w.Write(bench.Run{Kind: bench.KindRun, Schema: bench.Schema})
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err = step.OneBatch(ctx, rig, faultPlan, points); (err != nil) != (part == 0 && cutAt > 0) {
			t.Fatalf("part %d: %v", part, err)
		}
		if err = w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := bench.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		points = step.Remaining(f.Points, faultPlan)
		if len(points) == 0 {
			return f
		}
	}
	return nil
}

// P131: a sweep cut in the middle of its second point and resumed in the same
// file reads like one that was not cut.
func TestP131_ResumeInTheSameFile(t *testing.T) {
	dir := t.TempDir()
	whole := sweepInFile(t, filepath.Join(dir, "whole.jsonl"), 0)
	cut := sweepInFile(t, filepath.Join(dir, "cut.jsonl"), callsOf(t, oneBatch(faultPlan.Points()))-6)
	if len(cut.Resumes) != 1 {
		t.Fatalf("%d resumes: nothing was cut", len(cut.Resumes))
	}
	if diff := cmp.Diff(whole.Steps, cut.Steps, cmpopts.IgnoreFields(bench.Step{}, "TNS")); diff != "" {
		t.Errorf("steps (-whole +cut and resumed):\n%s", diff)
	}
	if diff := cmp.Diff(whole.Points, cut.Points); diff != "" {
		t.Errorf("lines (-whole +cut and resumed):\n%s", diff)
	}
}

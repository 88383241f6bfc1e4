package main

import (
	"context"
	"encoding/json"
	"fmt"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/report"
)

// compareRecordings judges two finished recordings.
func (app *application) compareRecordings(ctx context.Context, o compareOptions) error {
	var files [2]*bench.File
	var is [2]json.RawMessage
	for i, path := range o.Files {
		f, err := readRecording(ctx, path)
		if err != nil {
			return usageError("", "compare: %w", err)
		}
		for _, w := range f.Warnings {
			app.term.warn("%s: %s", path, w)
		}
		v := compare.Variant{Backend: f.Run.Backend, File: path, SHA256: f.SHA256}
		v.Backend.Device = nil
		if is[i], err = json.Marshal(v); err != nil {
			return fmt.Errorf("describe %s: %w", path, err)
		}
		files[i] = f
	}
	r, err := compare.Recordings(files[0], files[1], compare.RecordingOptions{Delta: ratioOf(o.Delta), ForceDelta: o.ForceDelta, A: is[0], B: is[1]})
	if err != nil {
		return usageError("", "%w", err)
	}
	if err := report.TwoRecordings(app.term.out, files[0], files[1], r, o.Format); err != nil {
		return usageError("", "%w", err)
	}
	return verdict(r.Verdict.ExitCode())
}

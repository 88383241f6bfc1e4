package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lathe/bench"
)

// recording is the raw file of a run that is going on: what is measured goes through it to disk, and
// the part that results are made of stays in memory. It is a step.Recorder.
type recording struct {
	writer *bench.Writer
	clock  *bench.RunClock
	before *bench.File // of a resumed run: what stood in the file; nil otherwise
	file   bench.File  // header, lines and steps of this process
	link   *link       // hears that the run goes on; nil where nobody asks
}

// startRecording opens the raw file and writes the header. path "" makes a name under lathe-runs.
// With resume, a file that was recorded with the same options is gone on with.
func (app *application) startRecording(run bench.Run, path string, resume bool) (*recording, error) {
	r := &recording{clock: bench.StartClock(), link: app.link}
	if path == "" {
		path = defaultRawPath(run.Command, r.clock.StartedAt())
	}
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, usageError("--raw FILE names another place", "open raw file: %w", err)
		}
	}
	run.Kind, run.Schema = bench.KindRun, bench.Schema
	mode := bench.New
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return nil, usageError("--raw FILE names another place", "open raw file: %s: is no regular file", path)
		}
		if resume && info.Size() > 0 {
			before, err := bench.ReadFile(path)
			if !errors.Is(err, bench.ErrNoHeader) {
				return app.resumeRecording(r, run, before, err, path)
			}
			mode = bench.Append // killed within its header: nothing was measured, the file starts anew
		}
	}
	writer, err := bench.OpenWriter(path, mode)
	if errors.Is(err, fs.ErrExist) {
		hint := "--raw FILE names another"
		if run.Command == "bench one-batch" || run.Command == "roofline" {
			hint = "--resume goes on with it; " + hint
		}
		return nil, usageError(hint, "%w", err)
	}
	if err != nil {
		return nil, usageError("--raw FILE names another place", "%w", err)
	}
	r.writer = writer
	run.StartedAt, run.Clock = r.clock.StartedAt(), r.clock.Origin()
	r.file.Run = run
	return r, r.put(run)
}

// resumeRecording checks that the file, read with err, is of the same run and appends a resume line.
func (app *application) resumeRecording(r *recording, run bench.Run, before *bench.File, err error, path string) (*recording, error) {
	if err != nil {
		return nil, usageError("", "resume: %w", err)
	}
	if err := bench.Resumable(before.Run, run, resumeExcept()...); err != nil {
		return nil, usageError("the same command line goes on with it; another --raw starts anew", "%w", err)
	}
	for _, w := range before.Warnings {
		app.term.warn("resume: %s", w)
	}
	if r.writer, err = bench.OpenWriter(path, bench.Append); err != nil {
		return nil, usageError("", "resume: %w", err)
	}
	warnings := slices.Concat(before.Warnings, r.writer.Warnings())
	if before, err = bench.ReadFile(path); err != nil { // again, now that nobody else can write it
		r.writer.Close()
		return nil, usageError("", "resume: %w", err)
	}
	r.before = before
	r.clock = bench.ResumeClock(before.Clock, before.LastNS)
	r.file.Run = before.Run
	return r, r.put(bench.Resume{Kind: bench.KindResume, StartedAt: r.clock.StartedAt(), Argv: run.Argv,
		Clock: r.clock.Origin(), Warnings: warnings})
}

// resumeExcept are the options that cannot move a number of a resumed run.
func resumeExcept() []string { return []string{"resume", "raw", "result_filename"} }

// put writes the first line; when that fails the file is closed.
func (r *recording) put(rec any) error {
	if err := r.writer.Write(rec); err != nil {
		r.writer.Close()
		return err
	}
	r.link.raw(r.writer.Path())
	return nil
}

// Write appends records and keeps them.
func (r *recording) Write(records ...any) error {
	if err := r.writer.Write(records...); err != nil {
		return err
	}
	r.link.alive()
	for _, rec := range records {
		switch rec := rec.(type) {
		case bench.Point:
			r.file.Points = append(r.file.Points, rec)
		case bench.Iteration:
			r.file.Iterations = append(r.file.Iterations, rec)
		case bench.Check:
			r.file.Checks = append(r.file.Checks, rec)
		}
	}
	return nil
}

// WriteSteps appends the steps of a pass and keeps copies.
func (r *recording) WriteSteps(steps []bench.Step) error {
	if err := r.writer.WriteSteps(steps); err != nil {
		return err
	}
	r.link.alive()
	for _, s := range steps {
		if s.DeviceNS != nil {
			ns := *s.DeviceNS
			s.DeviceNS = &ns
		}
		r.file.Steps = append(r.file.Steps, s)
	}
	return nil
}

// take is what one point's results are made of; it is kept no longer (P132).
func (r *recording) take(point int) *bench.File { return r.file.Take(point) }

// finish writes the end line and closes the file. measured is what the loop returned.
func (r *recording) finish(ctx context.Context, measured error) error {
	end := bench.End{Kind: bench.KindEnd, DurationNS: r.clock.Now(), Reason: bench.EndCompleted}
	if w := bench.WallStepWarning(r.clock.WallStep()); w != "" {
		end.Warnings = append(end.Warnings, w)
	}
	switch _, signal := interrupted(ctx); {
	case measured == nil:
	case signal || errors.Is(measured, context.Canceled):
		end.Reason = bench.EndInterrupted
	default:
		end.Reason, end.Error = bench.EndFailed, measured.Error()
	}
	broken := r.writer.Err() // said already, by measured
	wrote := r.writer.Write(end)
	closed := r.writer.Close()
	switch {
	case measured != nil:
		return measured
	case broken != nil:
		return broken
	case wrote != nil:
		return wrote
	}
	return closed
}

// readRecording reads a raw file whole. A signal ends a read that waits, as of a pipe.
func readRecording(ctx context.Context, path string) (*bench.File, error) {
	return whileNotInterrupted(ctx, func() (*bench.File, error) { return bench.ReadFile(path) })
}

// utcNow is the wall clock as a label.
func utcNow() string { return time.Now().UTC().Format(time.RFC3339) }

// defaultRawPath is lathe-runs/<UTC time>-<command>.jsonl, made unique.
func defaultRawPath(command, startedAt string) string {
	stamp := strings.NewReplacer("-", "", ":", "").Replace(startedAt)
	name := fmt.Sprintf("%s-%s", stamp, strings.ReplaceAll(command, " ", "-"))
	path := filepath.Join("lathe-runs", name+".jsonl")
	for n := 2; ; n++ {
		if _, err := os.Stat(path); err != nil {
			return path
		}
		path = filepath.Join("lathe-runs", fmt.Sprintf("%s-%d.jsonl", name, n))
	}
}

// header makes the header of a run from what every command knows.
func (app *application) header(command string, options any, workload bench.Workload, l *loadedModel) (bench.Run, error) {
	raw, err := json.Marshal(options)
	if err != nil {
		return bench.Run{}, fmt.Errorf("record the options: %w", err)
	}
	sum, err := workload.SHA256()
	if err != nil {
		return bench.Run{}, fmt.Errorf("record the workload: %w", err)
	}
	run := bench.Run{Command: command, Argv: append([]string{"lathe"}, app.argv...), Workload: workload, WorkloadSHA256: sum,
		Host: app.hostFacts(), Build: buildFacts(), Options: raw, Environment: app.environment(), Warnings: []string{}}
	if l != nil {
		run.Backend, run.Model = l.record()
		run.Warnings = append(run.Warnings, l.warnings...)
	}
	return run, nil
}

// environment lists the variables that mattered.
func (app *application) environment() []bench.EnvVar {
	var out []bench.EnvVar
	for _, name := range []string{envBackend, envCache} {
		if v := app.env(name); v != "" {
			out = append(out, bench.EnvVar{Name: name, Value: v})
		}
	}
	if v := app.visibleDevices(); v != nil { // empty matters: it hides every device
		out = append(out, bench.EnvVar{Name: envVisible, Value: *v})
	}
	return out
}

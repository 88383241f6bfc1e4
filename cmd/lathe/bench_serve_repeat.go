package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"lathe/bench/load"
	"lathe/bench/report"
	"lathe/bench/serving"
)

// defaultRepeatLimit is the spread of runs, greatest over least, above which they are unstable.
const defaultRepeatLimit = 1.25

// repeatServe runs the command --repeat times, each with prompts drawn anew, a capture and a report of
// its own, and puts the runs beside each other.
func (r *servedRun) repeatServe(ctx context.Context, opt load.Options, keys credentials) error {
	var runs []*serving.Result
	var reports []json.RawMessage
	var failed error
	asJSON := r.o.Result.Format == "json"
	for k := 1; k <= r.o.Result.Repeat; k++ {
		one := r.again(k)
		var text bytes.Buffer
		if asJSON {
			one.out = &text
		} else {
			fmt.Fprintf(r.out, "run %d of %d\n", k, r.o.Result.Repeat)
		}
		err := one.once(ctx, opt, keys)
		var coded *exitError
		if err != nil && !(errors.As(err, &coded) && coded.code == exitRegression && one.report != nil) {
			return err // the runs before have their captures
		}
		failed = errors.Join(failed, err)
		reading, err := one.report.reading(nil)
		if err != nil {
			return err
		}
		runs, reports = append(runs, reading), append(reports, json.RawMessage(bytes.TrimSpace(text.Bytes())))
		if !asJSON {
			fmt.Fprintln(r.out)
		}
	}
	summary := report.ReadRuns(runs, r.o.Result.RepeatLimit)
	if err := writeRuns(r.out, summary, reports, asJSON); err != nil {
		return err
	}
	if failed != nil {
		return noSuccess("", "bench serve: a run of %d did not pass", r.o.Result.Repeat)
	}
	if r.o.Result.Strict && len(summary.Unstable) > 0 {
		return noSuccess("without --strict it is reported only", "bench serve: the runs are unstable: %s", summary.Unstable[0])
	}
	return nil
}

func writeRuns(w io.Writer, s report.ServingRuns, reports []json.RawMessage, asJSON bool) error {
	if !asJSON {
		return s.Write(w)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		Runs    []json.RawMessage  `json:"runs,omitempty"`
		Summary report.ServingRuns `json:"summary"`
	}{reports, s})
}

// again is run k of the same command, with files of its own.
func (r *servedRun) again(k int) *servedRun {
	o := *r.o
	o.Result.Raw = numbered(o.Result.Raw, k-1)
	if !o.Result.AppendResult {
		o.Result.ResultFilename = numbered(o.Result.ResultFilename, k-1)
	}
	o.Result.OutputJSON = numbered(o.Result.OutputJSON, k-1)
	return &servedRun{app: r.app, o: &o, tok: r.tok, side: r.side, out: r.out}
}

// once prepares and measures one run.
func (r *servedRun) once(ctx context.Context, opt load.Options, keys credentials) error {
	t, err := r.prepare(ctx, keys)
	if err != nil {
		return err
	}
	if r.app.dryRun {
		return r.dryRun(t)
	}
	return r.measure(ctx, opt, t, keys)
}

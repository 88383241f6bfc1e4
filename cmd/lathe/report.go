package main

import (
	"context"

	"lathe/bench"
	"lathe/bench/report"
)

// runReport prints a raw file in one of the formats.
func runReport(ctx context.Context, app *application, o reportOptions) error {
	if len(o.Semantics) > 0 {
		return app.reportCapture(ctx, o)
	}
	r, err := whileNotInterrupted(ctx, func() (*bench.Reader, error) { return bench.Open(o.File) })
	if err != nil {
		return usageError("", "report: %w", err)
	}
	defer r.Close()
	run, err := headerOf(ctx, r)
	if err != nil {
		return usageError("", "report: %w", err)
	}
	if run.Command == serveCommand {
		return app.reportServed(ctx, o, r, run)
	}
	f, err := whileNotInterrupted(ctx, func() (*bench.File, error) { return bench.ReadAll(r) })
	if err != nil {
		return usageError("", "report: %w", err)
	}
	for _, w := range f.Warnings {
		app.term.warn("%s: %s", o.File, w)
	}
	return report.Write(app.term.out, f, o.Format)
}

// headerOf is the header of a raw file, which is always a Reader's first record.
func headerOf(ctx context.Context, r *bench.Reader) (*bench.Run, error) {
	rec, err := whileNotInterrupted(ctx, func() (any, error) { return r.Ahead(func(any) bool { return true }) })
	if err != nil {
		return nil, err
	}
	return rec.(*bench.Run), nil
}

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
	r, run, err := openHeader(ctx, o.File)
	if err != nil {
		return err
	}
	defer r.Close()
	requests, err := holdsRequests(ctx, r, run)
	if err != nil {
		return usageError("", "report: %w", err)
	}
	if requests {
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

// openHeader opens a raw file and reads its header, which is always a Reader's first record, ahead.
func openHeader(ctx context.Context, path string) (*bench.Reader, *bench.Run, error) {
	r, err := whileNotInterrupted(ctx, func() (*bench.Reader, error) { return bench.Open(path) })
	if err != nil {
		return nil, nil, usageError("", "report: %w", err)
	}
	rec, err := whileNotInterrupted(ctx, func() (any, error) { return r.Ahead(func(any) bool { return true }) })
	if err != nil {
		return nil, nil, usageError("", "report: %w", err)
	}
	return r, rec.(*bench.Run), nil
}

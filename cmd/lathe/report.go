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
	f, err := whileNotInterrupted(ctx, func() (*bench.File, error) { return bench.ReadFile(o.File) })
	if err != nil {
		return usageError("", "report: %w", err)
	}
	if err := looksServed(f); err != nil {
		return err
	}
	for _, w := range f.Warnings {
		app.term.warn("%s: %s", o.File, w)
	}
	return report.Write(app.term.out, f, o.Format)
}

package main

import (
	"context"

	"lathe/bench"
	"lathe/bench/report"
)

// runReport prints a raw file in one of the formats.
func runReport(_ context.Context, app *application, o reportOptions) error {
	if len(o.Semantics) > 0 {
		return app.reportCapture(o)
	}
	f, err := bench.ReadFile(o.File)
	if err != nil {
		return usageError("", "report: %w", err)
	}
	if err := looksServed(f); err != nil {
		return err
	}
	for _, w := range f.Warnings {
		app.term.warn("%s: %s", o.File, w)
	}
	switch o.Format {
	case "json":
		return report.JSON(app.term.out, f)
	case "csv":
		return report.CSV(app.term.out, f)
	case "markdown":
		return report.Markdown(app.term.out, f)
	}
	return report.Text(app.term.out, f)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"lathe/bench"
	"lathe/bench/report"
	"lathe/bench/serving"
)

// reportCapture prints the readings of a capture of requests that --semantics names: side by side, or
// as the JSON of the command-line contract.
func (app *application) reportCapture(ctx context.Context, o reportOptions) error {
	all, err := o.semantics("")
	if err != nil {
		return err
	}
	tok, err := openTokens(o.Tokenizer)
	if err != nil {
		return err
	}
	defer tok.close()
	options, err := o.servingOptions(tok.counter())
	if err != nil {
		return err
	}
	type reading struct {
		capture *serving.Capture
		sum     string
		results []*serving.Result
	}
	read, err := whileNotInterrupted(ctx, func() (reading, error) {
		r, err := bench.Open(o.File)
		if err != nil {
			return reading{}, err
		}
		defer r.Close()
		capture, results, err := serving.Read(r, all, options)
		if err != nil {
			return reading{}, err
		}
		sum, err := r.SHA256()
		return reading{capture, sum, results}, err
	})
	if err != nil {
		return usageError("", "report: %w", err)
	}
	if c := read.capture.Run.Command; strings.HasPrefix(c, "bench one-batch") || strings.HasPrefix(c, "bench latency") {
		return usageError("lathe report FILE reads steps", "report: --semantics reads requests, and %s is of %s", o.File, c)
	}
	for _, w := range read.capture.Warnings {
		app.term.warn("%s: %s", o.File, w)
	}
	switch o.Format {
	case "json":
		return report.ServingJSON(app.term.out, read.results)
	case "markdown":
		return report.ServingMarkdown(app.term.out, read.results)
	case "csv":
		return report.ServingCSV(app.term.out, read.results)
	case "html":
		return report.ServingHTML(app.term.out, read.capture, read.sum, read.results, report.Said{})
	case "text":
		return report.ServingTable(app.term.out, read.results)
	}
	return usageError("", "report: --format %s is of a comparison, and %s is a capture of requests", o.Format, o.File)
}

// reportServed prints what bench serve printed at the end of its run: the harness's block, the
// readings side by side, and what the client did.
func (app *application) reportServed(ctx context.Context, o reportOptions, r *bench.Reader, run *bench.Run) error {
	s, err := app.openServed(ctx, o, r, run)
	if err != nil {
		return err
	}
	return s.write(app.term.out, o.Format)
}

// reportRuns puts several captures of bench serve beside each other, as --repeat does.
func (app *application) reportRuns(ctx context.Context, o reportOptions, files []string) error {
	if o.Format != "text" && o.Format != "json" || len(o.Semantics) > 1 {
		return usageError("lathe report FILE", "report: several captures are printed as text or json, in one reading")
	}
	var runs []*serving.Result
	limit := 0.0
	for _, o.File = range files {
		r, run, err := openHeader(ctx, o.File)
		if err != nil {
			return err
		}
		defer r.Close()
		requests, err := holdsRequests(ctx, r, run)
		if err != nil {
			return usageError("", "report: %w", err)
		}
		if !requests {
			return usageError("lathe compare A B judges two recordings", "report: %s is of %s: only captures of requests stand beside each other", o.File, run.Command)
		}
		s, err := app.openServed(ctx, o, r, run)
		if err != nil {
			return err
		}
		reading, err := s.reading(o.Semantics)
		if err != nil {
			return err
		}
		if len(runs) > 0 && runs[0].Semantics != reading.Semantics {
			return usageError("--semantics exact reads them all", "report: %s is read as %s and %s as %s", files[0], runs[0].Semantics, o.File, reading.Semantics)
		}
		runs, limit = append(runs, reading), max(limit, s.o.Result.RepeatLimit)
	}
	if limit == 0 {
		limit = defaultRepeatLimit // another tool's
	}
	return writeRuns(app.term.out, report.ReadRuns(runs, limit), nil, o.Format == "json")
}

// openServed reads a capture by the options of its run, and of report over them.
func (app *application) openServed(ctx context.Context, o reportOptions, r *bench.Reader, run *bench.Run) (*servedReport, error) {
	var served benchServeOptions
	foreign := json.Unmarshal(run.Options, &served) != nil || served.Harness == "" // another tool's
	if foreign {
		endpoint, err := firstEndpoint(ctx, r)
		if err != nil {
			return nil, usageError("", "report: %w", err)
		}
		served = benchServeOptions{Harness: harnessExact, HarnessVersion: string(serving.Latest), Used: servedUsed{Endpoint: endpoint}}
		served.Result.MetricPercentiles = "99"
	}
	o.override(&served)
	if !foreign {
		if err := served.readable(); err != nil {
			return nil, err
		}
	}
	tok, err := openTokens(served.Used.Tokenizer)
	if err != nil {
		return nil, err
	}
	defer tok.close()
	opt, err := served.readingOptions(tok.counter())
	if err != nil {
		return nil, err
	}
	opt.UsageAsked = opt.UsageAsked && !foreign // what another tool asked for is not known
	if given, err := o.servingOptions(nil); err != nil {
		return nil, err
	} else if given.AcceptLength != 0 {
		opt.AcceptLength = given.AcceptLength
	}
	s, err := whileNotInterrupted(ctx, func() (*servedReport, error) { return readServed(r, &served, opt) })
	if err != nil {
		return nil, err
	}
	for _, w := range s.warnings() {
		app.term.warn("%s: %s", o.File, w)
	}
	return s, nil
}

// semantics are the readings that were asked for, else those that fit the endpoint of a capture.
func (o *reportOptions) semantics(endpoint string) ([]serving.Semantics, error) {
	if len(o.Semantics) == 0 {
		return serving.Fitting(endpoint), nil
	}
	var all []serving.Semantics
	for _, name := range o.Semantics {
		s, err := serving.ParseSemantics(name)
		if err != nil {
			return nil, usageError("", "--semantics: %w", err)
		}
		all = append(all, s)
	}
	return all, nil
}

// override puts what report was asked for in place of what the run was.
func (o *reportOptions) override(served *benchServeOptions) {
	if o.Tokenizer != "" {
		served.Used.Tokenizer = o.Tokenizer
	}
	if o.HarnessVersion != "" {
		served.HarnessVersion = o.HarnessVersion
	}
	if len(o.Goodput) > 0 {
		served.Result.Goodput = o.Goodput
	}
	if len(o.Percentiles) > 0 {
		served.Result.MetricPercentiles = strings.Join(o.Percentiles, ",")
	}
	served.Used.MultiTurn = served.Used.MultiTurn || o.MultiTurn
	served.Body.DisableStream = served.Body.DisableStream || o.DisableStream
}

// holdsRequests says whether a raw file is a capture of requests: that of bench serve is, and that of
// another tool shows it by what it holds first.
func holdsRequests(ctx context.Context, r *bench.Reader, run *bench.Run) (bool, error) {
	if run.Command == serveCommand {
		return true, nil
	}
	rec, err := whileNotInterrupted(ctx, func() (any, error) {
		return r.Ahead(func(rec any) bool {
			switch rec.(type) {
			case *bench.Reads, *bench.Request, *bench.Point, *bench.Step, *bench.Iteration:
				return true
			}
			return false
		})
	})
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	switch rec.(type) {
	case *bench.Reads, *bench.Request:
		return true, err
	}
	return false, err
}

// firstEndpoint is which API the requests of a capture went to, by its first one; "" where there is none.
func firstEndpoint(ctx context.Context, r *bench.Reader) (string, error) {
	isRequest := func(rec any) bool { _, ok := rec.(*bench.Request); return ok }
	rec, err := whileNotInterrupted(ctx, func() (any, error) { return r.Ahead(isRequest) })
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return rec.(*bench.Request).Endpoint, nil
}

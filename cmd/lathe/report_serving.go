package main

import (
	"context"
	"strings"

	"lathe/bench"
	"lathe/bench/report"
	"lathe/bench/serving"
	"lathe/bench/workload"
	"lathe/engine/tokenizer"
)

// reportCapture prints the readings of a capture of requests: side by side, or as the JSON of the
// command-line contract.
func (app *application) reportCapture(ctx context.Context, o reportOptions) error {
	var all []serving.Semantics
	for _, name := range o.Semantics {
		s, err := serving.ParseSemantics(name)
		if err != nil {
			return usageError("", "--semantics: %w", err)
		}
		all = append(all, s)
	}
	count, closeTokenizer, err := counter(o.Tokenizer)
	if err != nil {
		return err
	}
	defer closeTokenizer()
	options, err := o.servingOptions(count)
	if err != nil {
		return err
	}
	type reading struct {
		capture *serving.Capture
		results []*serving.Result
	}
	read, err := whileNotInterrupted(ctx, func() (reading, error) {
		r, err := bench.Open(o.File)
		if err != nil {
			return reading{}, err
		}
		defer r.Close()
		capture, results, err := serving.Read(r, all, options)
		return reading{capture, results}, err
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
	if o.Format == "json" {
		return report.ServingJSON(app.term.out, read.results)
	}
	return report.ServingTable(app.term.out, read.results)
}

// counter counts the tokens of a text by a stand-in or a tokenizer file; nil for "none".
func counter(name string) (serving.Counter, func(), error) {
	nothing := func() {}
	if name == "" || name == "none" {
		return nil, nothing, nil
	}
	if stand, ok := workload.StandIn(name); ok {
		return func(text string) int { return countTokens(stand.Encode(text, false)) }, nothing, nil
	}
	tok, err := tokenizer.Open(name)
	if err != nil {
		return nil, nothing, usageError("name:chars, name:words and name:bytes count without one", "open tokenizer: %w", err)
	}
	return func(text string) int { return countTokens(tok.Encode(text, true)) }, tok.Close, nil
}

// countTokens takes a text that cannot be encoded as no token; the readings then differ visibly.
func countTokens(ids []int32, err error) int {
	if err != nil {
		return 0
	}
	return len(ids)
}

// looksServed says why a file of requests needs --semantics.
func looksServed(f *bench.File) error {
	if len(f.Points) > 0 || len(f.Steps) > 0 || f.Run.Command != "bench serve" {
		return nil
	}
	return usageError("lathe report FILE --semantics vllm:openai,sglang:sglang-oai,exact",
		"report: a capture of requests has no reading of its own: name one or more of %s", strings.Join(serving.SemanticsNames(), ", "))
}

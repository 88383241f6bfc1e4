package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"lathe/bench"
	"lathe/bench/load"
	"lathe/bench/report"
	"lathe/bench/serving"
)

// servedReport is what a capture of requests says: live, and again from the file. All of it is computed
// from the capture, so that the two are the same bytes.
type servedReport struct {
	o       *benchServeOptions // of the run; of a capture of another tool, its endpoint only
	capture *serving.Capture
	sum     string // sha256 of the capture's file
	results []*serving.Result
}

// servedReadings are the semantics that stand beside each other: the run's own and the others that
// read its wire.
func (o *benchServeOptions) servedReadings() []serving.Semantics {
	own, err := o.semantics()
	var all []serving.Semantics
	for _, s := range serving.Fitting(o.Used.Endpoint) {
		if err == nil && s.Harness == own.Harness {
			s = own
		}
		all = append(all, s)
	}
	return all
}

// readingOptions are the options of the readings.
func (o *benchServeOptions) readingOptions(count serving.Counter) (serving.Options, error) {
	percentiles, err := o.percentiles()
	return serving.Options{Version: serving.Version(o.HarnessVersion), Count: count, Percentiles: percentiles, Goodput: o.Result.Goodput,
		MultiTurn: o.Used.MultiTurn, DisableStream: o.Body.DisableStream, IgnoreEOS: o.Used.IgnoreEOS, UsageAsked: o.Harness != harnessSGLang,
		CacheReport: o.Result.CacheReport}, err
}

// readServed reads a capture by the options of its run.
func readServed(r *bench.Reader, o *benchServeOptions, opt serving.Options) (*servedReport, error) {
	capture, results, err := serving.Read(r, o.servedReadings(), opt)
	if err != nil {
		return nil, usageError("", "report: %w", err)
	}
	sum, err := r.SHA256()
	if err != nil {
		return nil, usageError("", "report: %w", err)
	}
	return &servedReport{o: o, capture: capture, sum: sum, results: results}, nil
}

// own is the reading of the run's harness, nil where it was of none.
func (s *servedReport) own() *serving.Result {
	sem, err := s.o.semantics()
	if err != nil {
		return nil
	}
	return report.Select(s.results, sem)
}

// reading is the one that is named, else the run's own, else the exact one.
func (s *servedReport) reading(named []string) (*serving.Result, error) {
	if len(named) > 0 {
		sem, err := serving.ParseSemantics(named[0])
		if err != nil {
			return nil, usageError("", "--semantics: %w", err)
		}
		r := report.Select(s.results, sem)
		if r == nil {
			return nil, usageError("", "--semantics: %s does not read what was sent to %s", sem, s.o.Used.Endpoint)
		}
		return r, nil
	}
	if r := s.own(); r != nil {
		return r, nil
	}
	return s.exact(), nil
}

// exact is the exact reading.
func (s *servedReport) exact() *serving.Result {
	return report.Select(s.results, serving.Semantics{Harness: serving.Exact})
}

// complete says whether the run ended of itself.
func (s *servedReport) complete() bool {
	return s.capture.End != nil && s.capture.End.Reason == bench.EndCompleted
}

// succeeded counts the requests that the run's own reading takes for successes.
func (s *servedReport) succeeded() (ok, failed int) {
	r := s.own()
	if r == nil {
		r = s.exact()
	}
	for i := range r.Requests {
		if r.Requests[i].Success {
			ok++
		}
	}
	for i := range r.Exact {
		if r.Exact[i].Success {
			ok++
		}
	}
	return ok, len(r.Requests) + len(r.Exact) - ok
}

// warnings are those of the file: of its writing and of its run.
func (s *servedReport) warnings() []string {
	all := append([]string{}, s.capture.Warnings...)
	all = append(all, s.capture.Run.Warnings...)
	if s.capture.Client != nil {
		all = append(all, s.capture.Client.Warnings...)
	}
	if s.capture.End != nil {
		all = append(all, s.capture.End.Warnings...)
	}
	return all
}

// block is the harness's own printed block; "" for exact, and where the harness prints none because it
// ends in an exception.
func (s *servedReport) block() string {
	var text string
	var err error
	switch r := s.own(); {
	case r == nil:
	case r.Semantics.Harness == serving.VLLM:
		text, err = report.VLLMBlock(s.vllmRun(time.Time{}), r)
	case r.Semantics.Harness == serving.SGLang:
		text, err = report.SGLangBlock(s.sglangRun(time.Time{}), r)
	}
	if err != nil {
		return "" // the table says in which exception
	}
	return text
}

// head is what has to be said before any figure.
func (s *servedReport) head() []string {
	var head []string
	switch end := s.capture.End; {
	case end == nil:
		head = append(head, "incomplete: the capture was cut: the process was killed")
	case end.Reason == bench.EndInterrupted:
		head = append(head, "incomplete: the run was interrupted")
	case end.Reason == bench.EndFailed:
		head = append(head, "incomplete: the run failed: "+end.Error)
	}
	return append(head, s.limits()...)
}

func (s *servedReport) text(w io.Writer) error {
	var b bytes.Buffer
	for _, line := range s.head() {
		fmt.Fprintln(&b, visible(line))
	}
	if block := s.block(); block != "" {
		b.WriteString(block + "\n")
	}
	if err := report.ServingTable(&b, s.results); err != nil {
		return err
	}
	for i, note := range s.notes() {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintln(&b, visible(note))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (s *servedReport) markdown(w io.Writer) error {
	var b bytes.Buffer
	for _, line := range s.head() {
		fmt.Fprintf(&b, "**%s**\n\n", report.MarkdownLine(line))
	}
	if block := s.block(); block != "" {
		fmt.Fprintf(&b, "```\n%s```\n\n", block)
	}
	if err := report.ServingMarkdown(&b, s.results); err != nil {
		return err
	}
	for i, note := range s.notes() {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %s\n", report.MarkdownLine(note))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (s *servedReport) json(w io.Writer) error {
	client, err := json.Marshal(s.clientFigures())
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return report.ServedJSON(w, s.results, client)
}

func (s *servedReport) write(w io.Writer, format string) error {
	switch format {
	case "json":
		return s.json(w)
	case "markdown":
		return s.markdown(w)
	case "csv":
		return report.ServingCSV(w, s.results)
	case "html":
		return report.ServingHTML(w, s.capture, s.sum, s.results, report.Said{Head: s.head(), Notes: s.notes()})
	case "text":
		return s.text(w)
	}
	return usageError("", "report: --format %s is of a comparison, and this is a capture of requests", format)
}

// show prints the report of a run that has just ended, writes its result file, and judges it.
func (r *servedRun) show(ctx context.Context, path string, results *servedResults) error {
	o, app := r.o, r.app
	tok, err := openTokens(o.Used.Tokenizer)
	if err != nil {
		return err
	}
	defer tok.close()
	opt, err := o.readingOptions(tok.counter())
	if err != nil {
		return err
	}
	f, err := bench.Open(path)
	if err != nil {
		return usageError("", "bench serve: %w", err)
	}
	defer f.Close()
	s, err := readServed(f, o, opt)
	if err != nil {
		return err
	}
	r.report = s
	for _, w := range s.warnings() {
		app.term.warn("%s", w)
	}
	if err := s.write(r.out, o.Result.Format); err != nil {
		return err
	}
	file, err := results.write(s)
	ok, failed := s.succeeded()
	if err != nil && ok > 0 {
		return err
	}
	if file != "" && err == nil {
		app.term.say("result: %s", file)
	}
	return app.judgeServed(s, ok, failed, func() string { return r.side.answerHint(ctx, o.Used.ModelName) })
}

// judgeServed is the exit code: 1 where nothing succeeded, with a hint that may ask a server that
// refused, and, under --strict, where a request failed or the client was what was measured.
func (app *application) judgeServed(s *servedReport, ok, failed int, hint func() string) error {
	for _, f := range s.failures() {
		app.term.warn("%s", f)
	}
	if ok == 0 {
		text := ""
		if slices.ContainsFunc(s.exact().Exact, func(q serving.ExactRequest) bool { return q.ErrorClass == string(load.ClassStatus) }) {
			text = hint()
		}
		if failed == 0 {
			return noSuccess("--request-rate and --duration decide how many are", "bench serve: no request was sent")
		}
		return noSuccess(text, "bench serve: none of %d requests succeeded%s", failed, s.asRead())
	}
	if !s.o.Result.Strict {
		return nil
	}
	if failed > 0 {
		return noSuccess("without --strict they are reported only", "bench serve: %d of %d requests failed", failed, ok+failed)
	}
	if limits := s.limits(); len(limits) > 0 {
		return noSuccess("without --strict it is reported only", "bench serve: the client was the bottleneck: %s", limits[0])
	}
	return nil
}

// asRead says in which reading nothing succeeded, where the exact one says otherwise.
func (s *servedReport) asRead() string {
	r := s.own()
	if r == nil || !slices.ContainsFunc(s.exact().Exact, func(q serving.ExactRequest) bool { return q.Success }) {
		return ""
	}
	return " as " + r.Semantics.String() + " reads them; --harness exact has its own reading"
}

// round1 keeps a figure readable.
func round1(x float64) float64 { return math.Round(x*10) / 10 }

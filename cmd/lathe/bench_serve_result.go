package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"lathe/bench/report"
	"lathe/bench/serving"
)

// servedResults are the result files of a run, decided on before anything is sent.
type servedResults struct {
	o     *benchServeOptions
	whole *resultFile // exact's --output-json
}

// openResults checks that what is to be written can be written.
func (o *benchServeOptions) openResults() (*servedResults, error) {
	r := &servedResults{o: o}
	if o.Result.ResultDir != "" {
		if err := os.MkdirAll(o.Result.ResultDir, 0o777); err != nil {
			return nil, usageError("--result-dir names another place", "open result file: %w", err)
		}
	}
	for _, path := range []string{o.Result.OutputFile, o.vllmFixedName()} {
		if path == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return nil, usageError("", "open result file: %s: its folder does not exist", path)
		}
	}
	var err error
	r.whole, err = openResult("--output-json", o.Result.OutputJSON)
	return r, err
}

// vllmFixedName is the result file where its name does not depend on the time; "" else.
func (o *benchServeOptions) vllmFixedName() string {
	if !o.Result.SaveResult && !o.Result.AppendResult || o.Result.ResultFilename == "" {
		return ""
	}
	return filepath.Join(o.Result.ResultDir, o.Result.ResultFilename)
}

func (r *servedResults) discard() { r.whole.discard() }

// write writes the harness's result file from the readings of the capture; it returns the path, "" for
// none. complete is false for a run that was interrupted: the file says so in a last key.
func (r *servedResults) write(s *servedReport) (string, error) {
	now := time.Now()
	switch r.o.Harness {
	case harnessVLLM:
		return r.writeVLLM(s, now)
	case harnessSGLang:
		run := s.sglangRun(now)
		line, err := report.SGLangResult(run, s.own())
		if err != nil {
			return "", err
		}
		path := report.SGLangResultName(run)
		return path, addToResult(path, s.marked(line))
	}
	if r.whole == nil {
		return "", nil
	}
	return r.o.Result.OutputJSON, r.whole.commit(func(w io.Writer) error { return s.json(w) })
}

func (r *servedResults) writeVLLM(s *servedReport, now time.Time) (string, error) {
	if !r.o.Result.SaveResult && !r.o.Result.AppendResult {
		return "", nil
	}
	run := s.vllmRun(now)
	file, err := report.VLLMResult(run, s.own())
	if err != nil {
		return "", err
	}
	file = s.marked(file)
	path := report.VLLMResultName(run)
	if r.o.Result.AppendResult {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			file = append([]byte("\n"), file...)
		}
		return path, addToResult(path, file)
	}
	out, err := openResult("--result-filename", path)
	if err != nil {
		return "", err
	}
	defer out.discard()
	return path, out.commit(func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	})
}

// marked adds "complete": false to a result of a run that did not end of itself, which the harnesses
// would not have written at all.
func (s *servedReport) marked(file []byte) []byte {
	if s.complete() {
		return file
	}
	end := len(file)
	for end > 0 && file[end-1] != '}' {
		end--
	}
	return append(append(append([]byte{}, file[:end-1]...), `, "complete": false}`...), file[end:]...)
}

func addToResult(path string, data []byte) error {
	if err := appendFile(path, string(data)); err != nil {
		return usageError("", "write result file: %w", err)
	}
	return nil
}

// vllmRun is what vLLM's report says besides the figures.
func (s *servedReport) vllmRun(date time.Time) report.VLLMRun {
	o := s.o
	run := report.VLLMRun{Date: date, Backend: o.Server.Backend, Label: o.Result.Label, ModelID: o.Used.ModelID, NumPrompts: o.Dataset.NumPrompts,
		Metadata: o.Result.Metadata, RequestRate: float64(o.Traffic.RequestRate), Burstiness: float64(o.Traffic.Burstiness), MaxConcurrency: o.Traffic.MaxConcurrency,
		RampUpStrategy: o.Traffic.RampUp, RampStart: orElse(o.Traffic.RampStart, 0), RampEnd: orElse(o.Traffic.RampEnd, 0),
		PercentileMetrics: o.percentileMetrics(), SaveDetailed: o.Result.SaveDetailed, ResultDir: o.Result.ResultDir, ResultFilename: o.Result.ResultFilename}
	if !o.Server.SkipTokenizer {
		id := o.Server.Tokenizer
		if id == "" {
			id = o.Used.ModelID
		}
		run.TokenizerID = &id
	}
	if c := s.capture.Run.Clock; c != nil {
		run.ClockOriginNS = c.MonotonicOriginNS
	}
	before, after := s.metrics()
	run.Speculation = serving.SpeculationBetween(before, after)
	if r := s.own(); r != nil {
		run.Diffusion = serving.DiffusionBetween(before, after, r.DurationNS)
	}
	run.RPSChanges = s.rampSteps()
	run.Probe = s.probeBlock()
	return run
}

// metrics are the two answers of GET /metrics around the run, "" for none.
func (s *servedReport) metrics() (before, after string) {
	var all []string
	for _, a := range s.capture.Answers {
		if a.Path == "/metrics" && a.Status == 200 {
			all = append(all, a.Body)
		}
	}
	if len(all) < 2 {
		return "", ""
	}
	return all[0], all[len(all)-1]
}

// rampSteps tells when a ramp reached each whole rate: with the request that was first sent at it.
func (s *servedReport) rampSteps() []report.RPSChange {
	o := s.o
	if o.Traffic.RampUp == "" || s.own() == nil {
		return nil
	}
	began, err := time.Parse(time.RFC3339, s.capture.Run.StartedAt)
	if err != nil {
		return nil
	}
	at := func(ns int64) string {
		return began.Add(time.Duration(ns)).Local().Format("2006-01-02T15:04:05.000000")
	}
	requests := s.own().Requests
	start := int64(0)
	if s.capture.Client != nil {
		start = s.capture.Client.StartNS
	}
	reached := *o.Traffic.RampStart
	steps := []report.RPSChange{{RPS: reached, Timestamp: at(start)}}
	rates, err := o.vllmArrivals(max(len(requests), 1)).Rates()
	if err != nil {
		return steps
	}
	for i := range requests {
		for int(rates[i]) > reached {
			reached++
			steps = append(steps, report.RPSChange{RPS: reached, Timestamp: at(requests[i].StartNS - requests[i].QueueNS)})
		}
	}
	return steps
}

// sglangRun is what SGLang's report says besides the figures.
func (s *servedReport) sglangRun(date time.Time) report.SGLangRun {
	o := s.o
	ratio, _, _ := o.rangeRatio()
	run := report.SGLangRun{Date: date, Tag: o.Result.Tag, Backend: o.Server.Backend, Dataset: o.Dataset.Name, NumPrompts: o.Dataset.NumPrompts,
		RequestRate: float64(o.Traffic.RequestRate), TraceTimestamps: o.Traffic.TraceTimestamps, MaxConcurrency: o.Traffic.MaxConcurrency,
		ShareGPTOutputLen: o.Dataset.ShareGPTOutputLen, RandomInputLen: o.Dataset.RandomInputLen, RandomOutputLen: o.Dataset.RandomOutputLen, RandomRangeRatio: ratio,
		ImageCount: 1, ImageResolution: "1080p", ServerInfo: s.serverInfo(), OutputDetails: o.Result.OutputDetails, OutputFile: o.Result.OutputFile}
	return run
}

// serverInfo is the body of GET /server_info, nil for none.
func (s *servedReport) serverInfo() []byte {
	for _, a := range s.capture.Answers {
		if a.Path == "/server_info" && a.Status == 200 {
			return []byte(a.Body)
		}
	}
	return nil
}

// failures says what became of requests that failed, and how the first ones did.
func (s *servedReport) failures() []string {
	var out []string
	for _, r := range s.results {
		if r.Semantics.Harness != serving.Exact {
			continue
		}
		for i := range r.Exact {
			if q := &r.Exact[i]; !q.Success && len(out) < 3 {
				out = append(out, fmt.Sprintf("%s: %s: %s", q.ID, q.ErrorClass, q.ErrorText))
			}
		}
	}
	return out
}

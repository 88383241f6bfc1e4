package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"lathe/bench/report"
	"lathe/bench/serving"
)

// reportOptions are the flags of report. Those from Semantics on read captures of requests.
type reportOptions struct {
	File   string `json:"file"`
	Format string `json:"format"` // one of report.Formats

	Semantics      []string `json:"semantics"`
	HarnessVersion string   `json:"harness_version"`
	Tokenizer      string   `json:"tokenizer"` // none, name:chars|words|bytes, or a tokenizer's path
	Percentiles    []string `json:"percentiles"`
	Goodput        []string `json:"goodput"`
	AcceptLength   string   `json:"accept_length"` // "": what the client would not have been told
	MultiTurn      bool     `json:"sglang_multi_turn"`
	DisableStream  bool     `json:"sglang_disable_stream"`
}

const reportExample = `  lathe bench one-batch --model preset:tiny --input-len 16 --output-len 8 --raw run.jsonl
  lathe report run.jsonl --format markdown`

func newReportCommand(app *application) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:     "report FILE...",
		Short:   "Summarise a raw file, or captures of repeated serving runs; the same file gives the same bytes",
		Example: reportExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd.CommandPath()+" --help shows an example", "%s: needs a raw file", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			if err := o.Validate(); err != nil {
				return err
			}
			if len(args) > 1 {
				return app.reportRuns(cmd.Context(), o, args)
			}
			return runReport(cmd.Context(), app, o)
		},
	}
	fs := cmd.Flags()
	choiceVar(fs, &o.Format, "format", "text", reportFormats(), "form of the report; benchstat: of a comparison")
	wordsVar(fs, &o.Semantics, listFlag, "semantics", "readings of a capture of requests: vllm:openai, sglang:sglang-oai, exact, ... (default: the run's block and all that fit)")
	choiceVar(fs, &o.HarnessVersion, "harness-version", "", versionNames(), "state of the harnesses that is meant; default: the run's, else "+string(serving.Latest))
	fs.StringVar(&o.Tokenizer, "tokenizer", "", "counts tokens of a text: none, name:chars, name:words, name:bytes, preset:NAME, or a path (default: the run's, else none)")
	wordsVar(fs, &o.Percentiles, listFlag, "percentiles", "percentiles of vllm and exact (default: the run's, else 99)")
	wordsVar(fs, &o.Goodput, listFlag, "goodput", "limits in ms: ttft:100 tpot:20 e2el:500 (default: the run's)")
	fs.StringVar(&o.AcceptLength, "accept-length", "", "acceptance length that SGLang's client got from the server")
	fs.BoolVar(&o.MultiTurn, "sglang-multi-turn", false, "the capture is of SGLang's multi-turn run")
	fs.BoolVar(&o.DisableStream, "sglang-disable-stream", false, "the capture is of SGLang's run with --disable-stream")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(reportFormats(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("semantics", cobra.FixedCompletions(serving.SemanticsNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func reportFormats() []string { return report.ComparisonFormats() }

func versionNames() []string {
	var names []string
	for _, v := range serving.Versions() {
		names = append(names, string(v))
	}
	return names
}

// Validate checks what can be checked without opening the file.
func (o *reportOptions) Validate() error {
	if o.File == "" {
		return fmt.Errorf("report: needs a raw file")
	}
	_, err := o.servingOptions(nil)
	return err
}

// servingOptions are the options of a reading; count counts tokens, nil without a tokenizer.
func (o *reportOptions) servingOptions(count serving.Counter) (serving.Options, error) {
	s := serving.Options{Version: serving.Version(o.HarnessVersion), Count: count, Goodput: o.Goodput,
		MultiTurn: o.MultiTurn, DisableStream: o.DisableStream}
	if s.Version == "" {
		s.Version = serving.Latest
	}
	for _, p := range o.Percentiles {
		v, err := strconv.ParseFloat(p, 64)
		if err != nil {
			return s, usageError("--percentiles 50,99", "--percentiles: %s: is no number", p)
		}
		s.Percentiles = append(s.Percentiles, v)
	}
	if len(s.Percentiles) == 0 {
		s.Percentiles = []float64{99}
	}
	if o.AcceptLength != "" {
		v, err := strconv.ParseFloat(o.AcceptLength, 64)
		if err != nil {
			return s, usageError("", "--accept-length: %s: is no number", o.AcceptLength)
		}
		s.AcceptLength = v
	}
	if err := s.Validate(); err != nil {
		return s, usageError("", "report: %w", err)
	}
	return s, nil
}

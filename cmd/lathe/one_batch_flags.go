package main

import "github.com/spf13/cobra"

// oneBatchOptions are the flags of bench one-batch, named and defaulted as SGLang's one_batch has
// them. The struct stands whole in the raw file's header.
type oneBatchOptions struct {
	Engine          engineOptions `json:"engine"`
	RunName         string        `json:"run_name"`
	BatchSize       []int         `json:"batch_size"`
	InputLen        []int         `json:"input_len"`  // prompt tokens
	OutputLen       []int         `json:"output_len"` // tokens, the one of the prefill included
	PromptFilename  string        `json:"prompt_filename"`
	ResultFilename  string        `json:"result_filename"`
	CorrectnessTest bool          `json:"correctness_test"`
	CutLen          int           `json:"cut_len"` // prompt tokens of the first prefill of the correctness test
	LogDecodeStep   int           `json:"log_decode_step"`
	PrefillReps     int           `json:"prefill_reps"`
	StepsWarmup     int           `json:"steps_warmup"` // decode steps before a point; -1: min(32, output_len)
	Raw             string        `json:"raw"`          // "": a name is made
	Resume          bool          `json:"resume"`
	ShuffleCells    int           `json:"shuffle_cells"` // seed of the order of points; -1: as given
	NoSync          bool          `json:"no_sync"`       // launch times, labelled so

	untimed []string // flags that were given and have no effect on a correctness test
}

const oneBatchExample = `  lathe bench one-batch --model preset:tiny --batch-size 1 4 --input-len 16 64 --output-len 8`

func newOneBatchCommand(app *application) *cobra.Command {
	var o oneBatchOptions
	cmd := &cobra.Command{
		Use:     "one-batch",
		Short:   "Time prefill and every decode step of fixed batches (SGLang's one_batch)",
		Example: oneBatchExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			o.untimed = given(cmd, "run-name", "result-filename", "prefill-reps", "steps-warmup", "log-decode-step", "no-sync")
			return runOneBatch(cmd.Context(), app, o)
		},
	}
	fs := cmd.Flags()
	wholesVar(fs, &o.BatchSize, "batch-size", []int{1}, 1, "batch sizes")
	wholesVar(fs, &o.InputLen, "input-len", []int{1024}, 1, "prompt lengths in tokens")
	wholesVar(fs, &o.OutputLen, "output-len", []int{16}, 1, "output lengths in tokens")
	fs.StringVar(&o.RunName, "run-name", "default", "run_name of the result rows")
	fs.StringVar(&o.ResultFilename, "result-filename", "result.jsonl", "result rows are appended here")
	fs.StringVar(&o.Raw, "raw", "", "raw samples (default: lathe-runs/TIME-bench-one-batch.jsonl)")
	fs.BoolVar(&o.Resume, "resume", false, "measure only what the file of --raw lacks")
	wholeVar(fs, &o.PrefillReps, "prefill-reps", 5, 1, "timed prefills a point")
	wholeVar(fs, &o.StepsWarmup, "steps-warmup", -1, -1, "decode steps before a point is timed; -1: min(32, output length)")
	wholeVar(fs, &o.ShuffleCells, "shuffle-cells", -1, -1, "seed that shuffles the order of points; -1: as given")
	fs.BoolVar(&o.NoSync, "no-sync", false, "do not synchronise at a step: launch times only, labelled so")
	fs.StringVar(&o.PromptFilename, "prompt-filename", "", "prompts, one a line (default: random token ids)")
	fs.BoolVar(&o.CorrectnessTest, "correctness-test", false, "compare every point with the reference backend instead of timing")
	wholeVar(fs, &o.CutLen, "cut-len", 4, 1, "correctness test: prompt tokens a submission at batch size 1; larger batches are taken whole")
	wholeVar(fs, &o.LogDecodeStep, "log-decode-step", 0, 0, "print every n-th decode step as well; 0: the first five only")
	addEngineFlags(cmd, &o.Engine, app.defaultBackend())
	return cmd
}

// given names those of the flags that the command line has.
func given(cmd *cobra.Command, names ...string) []string {
	var out []string
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			out = append(out, "--"+name)
		}
	}
	return out
}

// Validate checks what can be checked without opening a file.
func (o *oneBatchOptions) Validate() error {
	if err := o.Engine.Validate(); err != nil {
		return err
	}
	if o.Resume && o.CorrectnessTest {
		return usageError("", "--resume: a correctness test starts anew")
	}
	if o.Resume && o.Raw == "" {
		return usageError("", "--resume: needs --raw FILE, the file of the run to go on with")
	}
	if err := differentFiles("--raw", o.Raw, "--result-filename", o.ResultFilename); err != nil {
		return err
	}
	for _, n := range o.OutputLen {
		if err := o.Engine.profileWindow(n); err != nil {
			return usageError("", "%w", err)
		}
	}
	return nil
}

package main

import "github.com/spf13/cobra"

// latencyOptions are the flags of bench latency, named and defaulted as vLLM's bench latency has
// them. The struct stands whole in the raw file's header.
type latencyOptions struct {
	Engine         engineOptions `json:"engine"`
	InputLen       int           `json:"input_len"`  // prompt tokens
	OutputLen      int           `json:"output_len"` // tokens, the one of the prefill included
	BatchSize      int           `json:"batch_size"`
	NumItersWarmup int           `json:"num_iters_warmup"`
	NumIters       int           `json:"num_iters"`
	NoSplit        bool          `json:"no_split"` // time whole iterations only, as vLLM does
	OutputJSON     string        `json:"output_json"`
	Raw            string        `json:"raw"` // "": a name is made
}

const latencyExample = `  lathe bench latency --model preset:tiny --input-len 16 --output-len 4 --batch-size 2 --num-iters-warmup 1 --num-iters 3`

func newLatencyCommand(app *application) *cobra.Command {
	var o latencyOptions
	cmd := &cobra.Command{
		Use:     "latency",
		Short:   "Time whole generations of one batch (vLLM's bench latency), split into prefill and decode",
		Example: latencyExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			return runLatency(cmd.Context(), app, o)
		},
	}
	fs := cmd.Flags()
	wholeVar(fs, &o.InputLen, "input-len", 32, 1, "prompt length in tokens")
	wholeVar(fs, &o.OutputLen, "output-len", 128, 1, "output length in tokens")
	wholeVar(fs, &o.BatchSize, "batch-size", 8, 1, "sequences a batch")
	wholeVar(fs, &o.NumItersWarmup, "num-iters-warmup", 10, 0, "iterations before timing")
	wholeVar(fs, &o.NumIters, "num-iters", 30, 1, "timed iterations")
	fs.BoolVar(&o.NoSplit, "no-split", false, "time whole iterations only, with two clock reads each, as vLLM does")
	fs.StringVar(&o.OutputJSON, "output-json", "", "result file, in vLLM's shape")
	fs.StringVar(&o.Raw, "raw", "", "raw samples (default: lathe-runs/TIME-bench-latency.jsonl)")
	addEngineFlags(cmd, &o.Engine, app.defaultBackend())
	return cmd
}

// Validate checks what can be checked without opening a file.
func (o *latencyOptions) Validate() error {
	if err := o.Engine.Validate(); err != nil {
		return err
	}
	if err := differentFiles("--raw", o.Raw, "--output-json", o.OutputJSON); err != nil {
		return err
	}
	if err := o.Engine.profileWindow(o.OutputLen); err != nil {
		return usageError("", "%w", err)
	}
	return nil
}

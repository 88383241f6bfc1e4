package main

import (
	"slices"

	"github.com/spf13/cobra"

	"lathe/bench/kernel"
	"lathe/engine"
	"lathe/engine/operator"
)

// kernelBenchOptions are the flags of kernel bench; they stand whole in the raw file's header.
type kernelBenchOptions struct {
	Op            string   `json:"op"`
	File          string   `json:"file"` // "": the built-in alone
	Model         string   `json:"model"`
	BatchSize     int      `json:"batch_size"`
	ContextLen    int      `json:"context_len"` // tokens of a sequence, the new one included
	PageSize      int      `json:"page_size"`
	KVCacheDtype  string   `json:"kv_cache_dtype"`
	CPUISA        string   `json:"cpu_isa"`
	Threads       int      `json:"threads"`
	Cache         []string `json:"cache"`          // modes, in the order asked for
	Copies        int      `json:"copies"`         // 0: planned
	MinTime       int      `json:"min_time"`       // ms of the operator's own time
	MaxTime       int      `json:"max_time"`       // s of the clock on the wall, a mode
	BatchLaunches int      `json:"batch_launches"` // calls a sample
	Seed          int      `json:"seed"`
	Raw           string   `json:"raw"`
}

const kernelBenchExample = `  lathe kernel bench attn_decode --model preset:tiny --context-len 64 --cache warm --min-time 5 --raw bench.jsonl --dry-run`

func newKernelBenchCommand(app *application) *cobra.Command {
	var o kernelBenchOptions
	cmd := &cobra.Command{
		Use:     "bench OP [FILE]",
		Short:   "Time an operator alone, its inputs cold, warm or as in a step",
		Example: kernelBenchExample,
		Args: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return usageError(cmd.CommandPath()+" --help shows an example", "%s: needs an operator", cmd.CommandPath())
			case 1:
				return nil
			}
			return operatorAndFile(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Op = args[0]
			if len(args) == 2 {
				o.File = args[1]
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return runKernelBench(cmd.Context(), app, o)
		},
		ValidArgs: operator.Names(),
	}
	fs := cmd.Flags()
	o.Cache = []string{kernel.Cold}
	wordsVar(fs, &o.Cache, listFlag, "cache", "state of the inputs: cold, warm, stream (weights and pages cold, activations not)")
	fs.StringVar(&o.Model, "model", "preset:smollm2-135m", "Hugging Face directory or preset:NAME, for the shape")
	wholeVar(fs, &o.BatchSize, "batch-size", 1, 1, "sequences of the step")
	wholeVar(fs, &o.ContextLen, "context-len", 1024, 1, "tokens a sequence, the new one included")
	wholeVar(fs, &o.PageSize, "page-size", engine.DefaultPageSize, 1, "tokens a KV page, a power of two up to 256")
	kv := choiceVar(fs, &o.KVCacheDtype, "kv-cache-dtype", "bf16", kvTypes(), "type of the KV pages")
	kv.accepts = map[string]string{"auto": "bf16", "bfloat16": "bf16", "float32": "f32"}
	choiceVar(fs, &o.CPUISA, "cpu-isa", "", cpuISAs(), "path whose element types and built-in are meant; default: the best that runs")
	wholeVar(fs, &o.Threads, "threads", 0, 0, "threads; 0: one a core")
	wholeVar(fs, &o.MinTime, "min-time", 500, 1, "when to stop: milliseconds of the operator's own time, a kernel and mode")
	wholeVar(fs, &o.MaxTime, "max-time", 60, 1, "seconds that a mode may take")
	wholeVar(fs, &o.BatchLaunches, "batch-launches", 1, 1, "calls that one sample is made of")
	wholeVar(fs, &o.Copies, "copies", 0, 0, "copies of the inputs that cold and stream rotate over; 0: over four times the last-level cache")
	wholeVar(fs, &o.Seed, "seed", 0, 0, "of inputs and order; 0: a secret one is drawn")
	fs.StringVar(&o.Raw, "raw", "", "raw samples (default: lathe-runs/TIME-kernel-bench.jsonl)")
	_ = cmd.RegisterFlagCompletionFunc("cache", cobra.FixedCompletions(kernel.Modes(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("model", cobra.FixedCompletions(presetNames(), cobra.ShellCompDirectiveDefault))
	return cmd
}

// Validate checks what can be checked without opening a file.
func (o *kernelBenchOptions) Validate() error {
	if err := knownOperator(o.Op); err != nil {
		return err
	}
	if o.Op == "gemm" {
		return usageError("lathe kernel list has the roles", "operator gemm: name one of its roles, such as gemm.down")
	}
	for i, mode := range o.Cache {
		if !slices.Contains(kernel.Modes(), mode) {
			return usageError("", "--cache: %s: must be one of cold, warm, stream", mode)
		}
		if slices.Contains(o.Cache[:i], mode) {
			return usageError("", "--cache: %s: given twice", mode)
		}
	}
	if o.PageSize > 256 || o.PageSize&(o.PageSize-1) != 0 {
		return usageError("", "--page-size: %d: must be a power of two from 1 to 256", o.PageSize)
	}
	if o.Threads > maxThreads {
		return usageError("", "--threads: %d: must be at most %d", o.Threads, maxThreads)
	}
	return nil
}

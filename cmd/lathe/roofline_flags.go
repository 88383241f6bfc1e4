package main

import "github.com/spf13/cobra"

// rooflineOptions are the flags of roofline. The struct stands whole in the raw file's header.
type rooflineOptions struct {
	Engine       engineOptions `json:"engine"`
	BatchSize    []int         `json:"batch_size"`
	ContextLen   []int         `json:"context_len"` // tokens in the cache before the first timed decode step
	Steps        int           `json:"steps"`       // timed decode steps a point
	PrefillReps  int           `json:"prefill_reps"`
	PeakGBs      float64       `json:"peak_gb_per_s"` // given roofs; 0: none
	PeakTFLOPS   float64       `json:"peak_tflop_per_s"`
	Raw          string        `json:"raw"`
	Resume       bool          `json:"resume"`
	ShuffleCells int           `json:"shuffle_cells"` // seed of the order of points; -1: as given
}

const rooflineExample = `  lathe roofline --model preset:tiny --batch-size 1 4 --context-len 32 128`

func newRooflineCommand(app *application) *cobra.Command {
	var o rooflineOptions
	cmd := &cobra.Command{
		Use:   "roofline",
		Short: "Sweep batch size and context length against the machine's ceilings",
		Long: `Times prefill and decode steps over batch sizes and context lengths and says, for each, what it could
take at best and how much of that was reached. The ceilings are quoted from a datasheet (a GPU that the
table has), measured (this processor: once, then kept in the cache; lathe calibrate measures again), or
given by --peak-gbs and --peak-tflops.`,
		Example: rooflineExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			return runRoofline(cmd.Context(), app, o)
		},
	}
	fs := cmd.Flags()
	wholesVar(fs, &o.BatchSize, "batch-size", []int{1, 4, 16}, 1, "batch sizes")
	wholesVar(fs, &o.ContextLen, "context-len", []int{128, 512}, 1, "tokens in the cache before the first decode step")
	wholeVar(fs, &o.Steps, "steps", 33, 1, "timed decode steps a point")
	wholeVar(fs, &o.PrefillReps, "prefill-reps", 3, 1, "timed prefills a point")
	positiveVar(fs, &o.PeakGBs, "peak-gbs", "memory bandwidth in GB/s to compare with as well")
	positiveVar(fs, &o.PeakTFLOPS, "peak-tflops", "dense bf16 TFLOP/s to compare with as well")
	fs.StringVar(&o.Raw, "raw", "", "raw samples (default: lathe-runs/TIME-roofline.jsonl)")
	fs.BoolVar(&o.Resume, "resume", false, "measure only what the file of --raw lacks")
	wholeVar(fs, &o.ShuffleCells, "shuffle-cells", -1, -1, "seed that shuffles the order of points; -1: as given")
	addEngineFlags(cmd, &o.Engine, app.defaultBackend())
	return cmd
}

// Validate checks what can be checked without opening a file.
func (o *rooflineOptions) Validate() error {
	if err := o.Engine.Validate(); err != nil {
		return err
	}
	if o.Resume && o.Raw == "" {
		return usageError("", "--resume: needs --raw FILE, the file of the run to go on with")
	}
	if (o.PeakGBs > 0) != (o.PeakTFLOPS > 0) {
		return usageError("", "--peak-gbs and --peak-tflops: a roofline needs both")
	}
	return nil
}

package main

import "github.com/spf13/cobra"

// calibrateOptions are the flags of calibrate.
type calibrateOptions struct {
	comparisonOptions
	AA        bool     `json:"aa"`
	Bandwidth bool     `json:"bandwidth"`
	Compute   bool     `json:"compute"`
	Runs      int      `json:"runs"`
	From      []string `json:"from,omitempty"` // recordings of equal variants, in the place of new runs
}

const calibrateExample = `  lathe calibrate --aa --model preset:tiny --context-len 16 --budget short --epochs 6 --runs 2`

func newCalibrateCommand(app *application) *cobra.Command {
	var o calibrateOptions
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Measure the noise floor of this machine and point, and its ceilings",
		Long: `Measure what this machine shows where nothing was changed, and what it can do at best. What is found is
kept in the cache, where compare, gate and roofline find it.

--aa runs comparisons of a backend with itself: its noise floor is the 95th percentile of the change that
they show, and it holds for this machine, model, point and budget. A plug-in is copied, so that it is open
twice, under two names and with two sets of weights, as two builds of it are.`,
		Example: calibrateExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.seeded = cmd.Flags().Changed("seed")
			if err := o.Validate(); err != nil {
				return err
			}
			if len(o.From) > 0 {
				if err := onlyOfFiles(cmd, "aa", "from"); err != nil {
					return err
				}
			}
			return runCalibrate(cmd.Context(), app, o)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.AA, "aa", false, "the noise floor: comparisons of equal variants")
	fs.BoolVar(&o.Bandwidth, "bandwidth", false, "this processor's memory and compute ceilings")
	fs.BoolVar(&o.Compute, "compute", false, "the same: one measurement gives both")
	wholeVar(fs, &o.Runs, "runs", 4, 1, "comparisons; from 20 on the percentile is theirs, below it is estimated from the spread of all epochs")
	wordsVar(fs, &o.From, listFlag, "from", "recordings of equal variants, in the place of new runs")
	choiceVar(fs, &o.Format, "format", "text", []string{"text", "json"}, "form of the result")
	fs.StringVar(&o.Raw, "raw", "", "raw samples; further runs get a number (default: lathe-runs/TIME-calibrate.jsonl)")
	addComparisonFlags(cmd, &o.comparisonOptions, app.defaultBackend())
	return cmd
}

// Validate checks what can be checked without opening a file.
func (o *calibrateOptions) Validate() error {
	if !o.AA && !o.Bandwidth && !o.Compute {
		return usageError("lathe calibrate --aa --model preset:smollm2-135m", "calibrate: needs --aa, --bandwidth or --compute")
	}
	if len(o.From) > 0 {
		if !o.AA {
			return usageError("", "--from: recordings of equal variants are for --aa")
		}
		return nil
	}
	return o.comparisonOptions.Validate()
}

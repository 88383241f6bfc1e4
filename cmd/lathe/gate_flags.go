package main

import (
	"github.com/spf13/cobra"

	"lathe/bench/gate"
)

// gateOptions are what gate run and gate check share: the bounds, how strictly they are read, and
// where the outcome goes.
type gateOptions struct {
	Bounds              string   `json:"bounds"`
	Band                *float64 `json:"band_percent"`
	OtherMachine        bool     `json:"other_machine"`
	RequireAll          bool     `json:"require_all"`
	RequireStableClocks bool     `json:"require_stable_clocks"`
	JUnit               string   `json:"junit"`
	Format              string   `json:"format"` // text | json | markdown
}

func addGateFlags(cmd *cobra.Command, o *gateOptions) {
	fs := cmd.Flags()
	fs.StringVar(&o.Bounds, "bounds", "", "golden bounds, as gate propose writes them")
	percentVar(fs, &o.Band, "band", "strip above a limit, in percent, in which a miss stays inconclusive")
	fs.BoolVar(&o.OtherMachine, "other-machine", false, "use the bounds of another machine where this one has none, and say so")
	fs.BoolVar(&o.RequireAll, "require-all", false, "a bound of this machine and model that was not measured is invalid")
	fs.BoolVar(&o.RequireStableClocks, "require-stable-clocks", false, "samples that were taken with the clock held down are invalid")
	fs.StringVar(&o.JUnit, "junit", "", "write the outcome as JUnit XML here")
	choiceVar(fs, &o.Format, "format", "text", []string{"text", "json", "markdown"}, "form of the outcome")
}

// Validate checks what can be checked without opening a file.
func (o *gateOptions) Validate() error {
	if o.Bounds == "" {
		return usageError("lathe gate propose RAW... --out bounds.json makes them", "--bounds: needs a file")
	}
	return nil
}

// judging is how bounds are read.
func (o *gateOptions) judging() gate.Options {
	g := gate.Options{OtherMachine: o.OtherMachine, RequireAll: o.RequireAll, RequireStableClocks: o.RequireStableClocks}
	if o.Band != nil {
		g.Band = *o.Band / 100
	}
	return g
}

// gateRunOptions are the flags of gate run.
type gateRunOptions struct {
	gateOptions
	Engine      engineOptions `json:"engine"`
	BatchSize   []int         `json:"batch_size"` // empty: the bounds' points
	InputLen    []int         `json:"input_len"`
	OutputLen   []int         `json:"output_len"`
	PrefillReps int           `json:"prefill_reps"`
	StepsWarmup int           `json:"steps_warmup"`
	Confirm     int           `json:"confirm"` // further runs of what missed
	Raw         string        `json:"raw"`
}

const gateRunExample = `  lathe bench one-batch --model preset:tiny --input-len 16 --output-len 9 --raw one.jsonl
  lathe gate propose one.jsonl --min-runs 1 --delta 90 --out bounds.json
  lathe gate run --bounds bounds.json --model preset:tiny --junit gate.xml`

func newGateRunCommand(app *application) *cobra.Command {
	var o gateRunOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure the points of golden bounds and judge them; what misses is measured again, twice",
		Long: `Measure the points that the bounds have for this machine and model, or those that are given, and judge them.
A point that misses its bound is measured twice more in fresh sessions, and the majority decides.

Exit code: 0 pass, 1 regression, 3 inconclusive, 4 no bound, another machine, or an impossible number.`,
		Example: gateRunExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			return runGate(cmd.Context(), app, o)
		},
	}
	addGateFlags(cmd, &o.gateOptions)
	fs := cmd.Flags()
	wholesVar(fs, &o.BatchSize, "batch-size", nil, 1, "batch sizes (default: the bounds')")
	wholesVar(fs, &o.InputLen, "input-len", nil, 1, "prompt lengths in tokens (default: the bounds')")
	wholesVar(fs, &o.OutputLen, "output-len", nil, 1, "output lengths in tokens (default: the bounds')")
	wholeVar(fs, &o.PrefillReps, "prefill-reps", 5, 1, "timed prefills a point")
	wholeVar(fs, &o.StepsWarmup, "steps-warmup", -1, -1, "decode steps before a point is timed; -1: min(32, output length)")
	wholeVar(fs, &o.Confirm, "confirm", gate.Confirm, 0, "further runs of what missed")
	fs.StringVar(&o.Raw, "raw", "", "raw samples; further runs get a number (default: lathe-runs/TIME-gate-run.jsonl)")
	addEngineFlags(cmd, &o.Engine, app.defaultBackend())
	return cmd
}

// Validate checks what can be checked without opening a file.
func (o *gateRunOptions) Validate() error {
	if err := o.gateOptions.Validate(); err != nil {
		return err
	}
	given := 0
	for _, list := range [][]int{o.BatchSize, o.InputLen, o.OutputLen} {
		if len(list) > 0 {
			given++
		}
	}
	if given != 0 && given != 3 {
		return usageError("", "gate run: --batch-size, --input-len and --output-len: give all three, or none for the bounds' points")
	}
	return o.Engine.Validate()
}

// gateCheckOptions are the flags of gate check.
type gateCheckOptions struct {
	gateOptions
	Raw []string
}

const gateCheckExample = `  lathe bench one-batch --model preset:tiny --input-len 16 --output-len 9 --raw check.jsonl
  lathe gate propose check.jsonl --min-runs 1 --out check.json
  lathe gate check check.jsonl --bounds check.json`

func newGateCheckCommand(app *application) *cobra.Command {
	var o gateCheckOptions
	cmd := &cobra.Command{
		Use:     "check RAW [AGAIN...]",
		Short:   "Judge a recording by golden bounds; further recordings are re-measurements of what missed",
		Example: gateCheckExample,
		Args:    someArguments("a raw file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Raw = args
			if err := o.Validate(); err != nil {
				return err
			}
			return app.gateCheck(cmd.Context(), o)
		},
	}
	addGateFlags(cmd, &o.gateOptions)
	return cmd
}

// gateProposeOptions are the flags of gate propose.
type gateProposeOptions struct {
	Raw     []string
	Out     string
	Bounds  string // to renew
	Delta   *float64
	MinRuns int
}

const gateProposeExample = `  lathe bench one-batch --model preset:tiny --input-len 16 --output-len 9 --raw golden.jsonl
  lathe gate propose golden.jsonl --min-runs 1 --out golden.json`

func newGateProposeCommand(app *application) *cobra.Command {
	var o gateProposeOptions
	cmd := &cobra.Command{
		Use:   "propose RAW...",
		Short: "Make golden bounds of accepted recordings, at least ten",
		Long: `Make golden bounds of accepted recordings: of each key the median, and a limit of
max(1 %, 2 x the stored A/A floor, 3 x 1.4826 x MAD/median) on both sides. Nothing else changes a bound.`,
		Example: gateProposeExample,
		Args:    someArguments("raw files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Raw = args
			return app.gatePropose(cmd.Context(), o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Out, "out", "", "write the bounds here (default: standard output)")
	fs.StringVar(&o.Bounds, "bounds", "", "bounds to renew: those of other keys are kept")
	percentVar(fs, &o.Delta, "delta", "least distance of a limit from the median, in percent (default 1)")
	wholeVar(fs, &o.MinRuns, "min-runs", gate.DefaultProposal().MinRuns, 1, "recordings that a bound is made of, at least")
	return cmd
}

// gateTrendOptions are the flags of gate trend.
type gateTrendOptions struct {
	Raw    []string
	Format string // text | json
}

const gateTrendExample = `  lathe bench one-batch --model preset:tiny --input-len 16 --output-len 9 --raw trend.jsonl
  lathe gate trend trend.jsonl`

func newGateTrendCommand(app *application) *cobra.Command {
	var o gateTrendOptions
	cmd := &cobra.Command{
		Use:     "trend FILE...",
		Short:   "How each key moved over recordings: many small losses pass one by one",
		Example: gateTrendExample,
		Args:    someArguments("raw files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Raw = args
			return app.gateTrend(cmd.Context(), o)
		},
	}
	choiceVar(cmd.Flags(), &o.Format, "format", "text", []string{"text", "json"}, "form of the result")
	return cmd
}

// newGateCommand is the group.
func newGateCommand(app *application) *cobra.Command {
	return group("gate", "Hold a machine to golden bounds: a net under what compare judges", gateRunExample,
		newGateRunCommand(app), newGateCheckCommand(app), newGateProposeCommand(app), newGateTrendCommand(app))
}

// someArguments wants at least one positional, which the message calls what.
func someArguments(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError(cmd.CommandPath()+" --help shows an example", "%s: needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

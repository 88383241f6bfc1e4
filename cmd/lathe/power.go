package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lathe/bench"
	"lathe/bench/compare"
)

// powerOptions are the flags of power.
type powerOptions struct {
	comparisonOptions
	File   string   `json:"file"`   // a recording to read the spread of; "": a pilot is measured
	Change *float64 `json:"change"` // percent
	Delta  *float64 `json:"delta"`  // threshold, percent; nil: the recording's
}

const powerExample = `  lathe power --change 2 --model preset:tiny --context-len 16 --budget short`

func newPowerCommand(app *application) *cobra.Command {
	var o powerOptions
	cmd := &cobra.Command{
		Use:   "power [FILE]",
		Short: "How many epochs, and how long, a change of so many percent needs here",
		Long: `How many epochs, and how long, a change of a given size needs to be found 8 times of 10, at the spread that this
machine shows: of the raw file of a comparison, or of a short pilot of a backend against itself.`,
		Example: powerExample,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.seeded = cmd.Flags().Changed("seed"); len(args) > 0 {
				o.File = args[0]
				if err := onlyOfFiles(cmd, "change", "delta"); err != nil {
					return err
				}
			} else if err := o.Validate(); err != nil {
				return err
			}
			return runPower(cmd.Context(), app, o)
		},
	}
	fs := cmd.Flags()
	percentVar(fs, &o.Change, "change", "change that is to be found, in percent (default 1)")
	percentVar(fs, &o.Delta, "delta", "threshold of the comparison, in percent (default: what the recording was judged by)")
	choiceVar(fs, &o.Format, "format", "text", []string{"text", "json"}, "form of the result")
	fs.StringVar(&o.Raw, "raw", "", "raw samples of the pilot (default: lathe-runs/TIME-power.jsonl)")
	addComparisonFlags(cmd, &o.comparisonOptions, app.defaultBackend())
	changeUsage(fs, "epochs", "epochs of the pilot (default 6)")
	return cmd
}

// pointPower is the answer for one point.
type pointPower struct {
	Phase      bench.Phase          `json:"phase"`
	Batch      int                  `json:"batch"`
	ContextLen int                  `json:"context_len"`
	EpochNS    *time.Duration       `json:"epoch_ns"` // of all points of the recording
	Power      *compare.PowerResult `json:"power"`    // null where the recording has no spread
	Reason     string               `json:"reason,omitempty"`
}

func runPower(ctx context.Context, app *application, o powerOptions) error {
	f, err := app.pilot(ctx, o)
	if err != nil || f == nil {
		return err
	}
	r, err := compare.Judge(f)
	if err != nil {
		return usageError("power reads the raw file of lathe compare", "power: %w", err)
	}
	plan, err := compare.PlanOf(f)
	if err != nil {
		return err
	}
	change, alpha := 1.0, plan.Alpha
	if o.Change != nil {
		change = *o.Change
	}
	if o.File == "" {
		alpha = compare.DefaultPlan().Alpha // the pilot has one look, the comparison three
	}
	var out []pointPower
	epoch, timed := compare.EpochTime(f)
	for _, p := range r.Points {
		one := pointPower{Phase: p.Phase, Batch: p.Batch, ContextLen: p.ContextLen}
		if timed {
			one.EpochNS = &epoch
		}
		if p.SpreadPercent == nil || p.ThresholdPercent == nil {
			one.Reason = "the recording has too few epochs for a spread"
			out = append(out, one)
			continue
		}
		ask := compare.PowerOptions{SpreadPercent: *p.SpreadPercent, ThresholdPercent: *p.ThresholdPercent, ChangePercent: change, Epoch: epoch, Alpha: alpha}
		if o.Delta != nil {
			ask.ThresholdPercent = *o.Delta
		}
		found, err := compare.Power(ask)
		if err != nil {
			return usageError("", "%w", err)
		}
		one.Power = &found
		out = append(out, one)
	}
	return app.printPower(out, change, o.Format)
}

// pilot is the recording: the file that was given, or a run of a backend against itself. Nil under
// --dry-run.
func (app *application) pilot(ctx context.Context, o powerOptions) (*bench.File, error) {
	if o.File != "" {
		f, err := readRecording(ctx, o.File)
		if err != nil {
			return nil, usageError("", "power: %w", err)
		}
		return f, nil
	}
	if len(o.Epochs) == 0 {
		o.Epochs = []int{6}
	}
	source, err := resolveModel(o.Engine.Model, o.Engine.LoadFormat, app.dryRun)
	if err != nil {
		return nil, err
	}
	plan, err := o.plan(source)
	if err != nil {
		return nil, err
	}
	if err := plan.Validate(); err != nil {
		return nil, usageError("", "%w", err)
	}
	if app.dryRun {
		return nil, app.printComparison(o.Engine, o.Engine, source, plan)
	}
	s, err := app.openSides(ctx, o.Engine, o.Engine, source)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	m := measurement{app: app, command: "power", sides: s, plan: plan, secret: !o.seeded}
	return m.run(ctx, o.Raw, func(raw string) any { o.Raw = raw; return o })
}

// printPower says what a change needs.
func (app *application) printPower(points []pointPower, change float64, format string) error {
	if format == "json" {
		e := json.NewEncoder(app.term.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			ChangePercent float64      `json:"change_percent"`
			Points        []pointPower `json:"points"`
		}{change, points})
	}
	fmt.Fprintf(app.term.out, "a change of %g %%, found 8 times of 10, needs:\n", change)
	w := tabwriter.NewWriter(app.term.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "phase\tbatch\tcontext\tspread %\tthreshold %\tepochs\ttime\tdetectable % at 6\t9\t12\t24\t48\t")
	for _, p := range points {
		fmt.Fprintf(w, "%s\t%d\t%d\t", p.Phase, p.Batch, p.ContextLen)
		if p.Power == nil {
			fmt.Fprintf(w, "-\t-\t-\t-\t-\t-\t-\t-\t-\t\n")
			continue
		}
		r := p.Power
		epochs, spent := "-", "-"
		if r.Epochs != nil {
			epochs = fmt.Sprint(*r.Epochs)
		}
		if r.Duration != nil {
			spent = r.Duration.Round(100 * time.Millisecond).String()
		}
		fmt.Fprintf(w, "%.3g\t%.3g\t%s\t%s\t", r.SpreadPercent, r.ThresholdPercent, epochs, spent)
		for _, d := range r.Detectable {
			text := "-"
			if d.Percent != nil {
				text = fmt.Sprintf("%.3g", *d.Percent)
			}
			fmt.Fprintf(w, "%s\t", text)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range points {
		reason := p.Reason
		if p.Power != nil {
			reason = p.Power.Reason
		}
		if reason != "" {
			fmt.Fprintf(app.term.out, "%s at batch %d, context %d: %s\n", p.Phase, p.Batch, p.ContextLen, reason)
		}
	}
	fmt.Fprintln(app.term.out, "spread: standard deviation of the epochs, an estimate that may be off by a third from six of them. time: of an epoch, all points of the recording.")
	return nil
}

package main

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/report"
)

// comparisonOptions are the flags of an interleaved measurement: the model, the points, and how much
// of it. compare, power and calibrate share them.
type comparisonOptions struct {
	Engine     engineOptions `json:"engine"`
	BatchSize  []int         `json:"batch_size"`
	ContextLen []int         `json:"context_len"` // prompt tokens in front of a slot
	Phase      []string      `json:"phase"`       // decode, prefill

	Budget      string `json:"budget"` // short | default | long: what the numbers below are, unless given
	Epochs      []int  `json:"epochs"` // looks: the data are judged after so many epochs
	Blocks      int    `json:"blocks"` // of an epoch; 0: the budget's
	Steps       int    `json:"steps"`  // recorded decode steps of a slot
	StepsWarmup int    `json:"steps_warmup"`
	PrefillReps int    `json:"prefill_reps"` // recorded prefills of a slot

	Raw    string `json:"raw"`
	Format string `json:"format"`

	seeded bool // --seed was given: prompts and coins follow from it
}

func budgets() []string { return []string{"short", "default", "long"} }
func phases() []string  { return []string{string(bench.Decode), string(bench.Prefill)} }

// comparisonFormats are the forms of a comparison's report.
func comparisonFormats() []string { return report.ComparisonFormats() }

// addComparisonFlags declares the points and the budget; the engine's flags follow them.
func addComparisonFlags(cmd *cobra.Command, o *comparisonOptions, defaultBackend string) {
	fs := cmd.Flags()
	wholesVar(fs, &o.BatchSize, "batch-size", []int{1}, 1, "batch sizes")
	wholesVar(fs, &o.ContextLen, "context-len", []int{128}, 1, "prompt tokens in front of a slot's first step (also --input-len)")
	fs.Var(&wholeNumbers{to: &o.ContextLen, min: 1}, "input-len", "the same as --context-len")
	phasesVar(fs, &o.Phase)
	choiceVar(fs, &o.Budget, "budget", "default", budgets(), "how much is measured, where no number below says otherwise")
	wholesVar(fs, &o.Epochs, "epochs", nil, 2, "judge after so many epochs, the last one ends the run (default 6 9 12)")
	wholeVar(fs, &o.Blocks, "blocks", 0, 0, "blocks A B B A of an epoch (default 4)")
	wholeVar(fs, &o.Steps, "steps", 0, 0, "recorded decode steps of a slot (default 32)")
	wholeVar(fs, &o.StepsWarmup, "steps-warmup", -1, -1, "decode steps before them; -1: 4, or the budget's")
	wholeVar(fs, &o.PrefillReps, "prefill-reps", 0, 0, "recorded prefills of a slot (default 5)")
	addEngineFlags(cmd, &o.Engine, defaultBackend)
	changeUsage(fs, "seed", "seed of weights without files; given, prompts and coins follow from it too (default: theirs are secret)")
}

// onlyOfFiles refuses flags that choose what is measured where finished recordings are read: a flag is
// never ignored.
func onlyOfFiles(cmd *cobra.Command, allowed ...string) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(append(allowed, "format", "progress", "dry-run"), f.Name) {
			err = usageError("leave out the files, or the flag", "--%s: recordings are finished: it chooses what is measured", f.Name)
		}
	})
	return err
}

// changeUsage rewords a flag that a command reads its own way. The default stays unprinted where the
// text gives one.
func changeUsage(fs *pflag.FlagSet, name, usage string) { fs.Lookup(name).Usage = usage }

// phaseList is a list of phases.
type phaseList struct{ words }

func phasesVar(fs *pflag.FlagSet, to *[]string) {
	*to = []string{string(bench.Decode)}
	fs.Var(&phaseList{words{to: to, kind: listFlag}}, "phase", "decode, prefill, or both")
}

func (v *phaseList) Set(s string) error {
	list := []string{s}
	if s == "both" {
		list = phases()
	}
	for _, one := range list {
		if !slices.Contains(phases(), one) {
			return fmt.Errorf("must be decode, prefill or both")
		}
		if err := v.words.Set(one); err != nil {
			return err
		}
	}
	return nil
}

// percentage is a share in percent, above 0 and below 100, with or without a "%" behind it.
type percentage struct{ to **float64 }

func percentVar(fs *pflag.FlagSet, to **float64, name, usage string) {
	fs.Var(&percentage{to}, name, usage)
}

func (v *percentage) Set(s string) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%")), 64)
	if err != nil || !(f > 0 && f < 100) {
		return fmt.Errorf("must be a percentage above 0 and below 100")
	}
	*v.to = &f
	return nil
}

func (v *percentage) String() string {
	if v.to == nil || *v.to == nil {
		return ""
	}
	return strconv.FormatFloat(**v.to, 'g', -1, 64)
}
func (v *percentage) Type() string { return "percent" }

// ratioOf is a percentage as a ratio, nil where none is given.
func ratioOf(percent *float64) *float64 {
	if percent == nil {
		return nil
	}
	r := *percent / 100
	return &r
}

// Validate checks what can be checked without opening a file.
func (o *comparisonOptions) Validate() error {
	if err := o.Engine.Validate(); err != nil {
		return err
	}
	if len(o.Epochs) > 0 {
		if _, ok := nominalAlpha(len(o.Epochs)); !ok {
			return usageError("--epochs 6 9 12", "--epochs: %d looks: at most 5 are provided for", len(o.Epochs))
		}
	}
	return nil
}

// nominalAlpha is the two-sided level of each of n equally spaced looks that makes 5 % over all of
// them (Pocock 1977).
func nominalAlpha(looks int) (alpha float64, ok bool) {
	list := []float64{0.05, 0.0294, 0.0221, 0.0182, 0.0158}
	if looks < 1 || looks > len(list) {
		return 0, false
	}
	return list[looks-1], true
}

// plan is what the flags ask for, without what the machine and the sides add.
func (o *comparisonOptions) plan(m modelSource) (compare.Plan, error) {
	p := compare.DefaultPlan()
	switch o.Budget {
	case "short":
		p.Warmup, p.Steps, p.PrefillReps, p.SettleSteps, p.SettleRounds = 2, 12, 3, 4, 4
	case "long":
		p.Looks, p.Steps = []int{12, 18, 24}, 64
	}
	if len(o.Epochs) > 0 {
		p.Looks = o.Epochs
	}
	p.Alpha, _ = nominalAlpha(len(p.Looks))
	for _, n := range []struct{ asked, to *int }{{&o.Blocks, &p.Blocks}, {&o.Steps, &p.Steps}, {&o.PrefillReps, &p.PrefillReps}} {
		if *n.asked > 0 {
			*n.to = *n.asked
		}
	}
	if o.StepsWarmup >= 0 {
		p.Warmup = o.StepsWarmup
	}
	p.Model, p.Vocab, p.MaxPositions = m.identity, m.config.Vocab, m.config.MaxPosition
	for _, phase := range o.Phase {
		for _, batch := range o.BatchSize {
			for _, context := range o.ContextLen {
				p.Points = append(p.Points, compare.Point{ID: len(p.Points), Batch: batch, ContextLen: context, Phase: bench.Phase(phase)})
			}
		}
	}
	p.Seed = uint64(o.Engine.Seed)
	if !o.seeded {
		var err error
		if p.Seed, err = secretSeed(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// secretSeed draws a seed that no kernel can know beforehand.
func secretSeed() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("draw a seed: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

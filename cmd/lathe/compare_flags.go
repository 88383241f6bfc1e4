package main

import (
	"strings"

	"github.com/spf13/cobra"

	"lathe/bench/compare"
)

// compareOptions are the flags of compare. They stand whole in the raw file's header.
type compareOptions struct {
	comparisonOptions
	A          string   `json:"a"` // backend of A; "": --backend
	B          string   `json:"b"`
	AKernels   []string `json:"a_kernels,omitempty"` // OP=FILE, beside those of --kernel
	BKernels   []string `json:"b_kernels,omitempty"`
	Delta      *float64 `json:"delta_percent"`
	ForceDelta bool     `json:"force_delta"`
	Strict     bool     `json:"strict"`
	Files      []string `json:"files,omitempty"` // two finished recordings
}

const compareExample = `  lathe compare --a reference --b cpu --model preset:tiny --context-len 16 --budget short --epochs 6`

func newCompareCommand(app *application) *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare [A.jsonl B.jsonl]",
		Short: "Did B get faster than A? Both interleaved in one process, or two recordings",
		Long: `Did B get faster than A? Both variants are open in one process and take turns, A B B A, in epochs of fresh
sessions; the verdict is over epochs, not over steps (docs/method.md).

Exit code: 0 faster or no difference that matters, 1 slower, 3 inconclusive, 4 invalid or not comparable.`,
		Example: compareExample,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Files, o.seeded = args, cmd.Flags().Changed("seed")
			if err := o.Validate(); err != nil {
				return err
			}
			if len(o.Files) > 0 {
				if err := onlyOfFiles(cmd, "delta", "force-delta"); err != nil {
					return err
				}
				return app.compareRecordings(cmd.Context(), o)
			}
			return runCompare(cmd.Context(), app, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.A, "a", "", "backend of A: cpu, cuda, reference, or the path of a plug-in (default: --backend)")
	fs.StringVar(&o.B, "b", "", "backend of B (default: --backend)")
	wordsVar(fs, &o.AKernels, repeatFlag, "a-kernel", "OP=FILE: replace one operator in A (repeatable)")
	wordsVar(fs, &o.BKernels, repeatFlag, "b-kernel", "OP=FILE: replace one operator in B (repeatable); without --a-kernel, A has OP=builtin")
	percentVar(fs, &o.Delta, "delta", "smallest change that matters, in percent; raises the default of 0.5, or of twice the noise floor")
	fs.BoolVar(&o.ForceDelta, "force-delta", false, "--delta may lower it too")
	fs.BoolVar(&o.Strict, "strict", false, "faster or slower only if the whole interval lies beyond --delta")
	choiceVar(fs, &o.Format, "format", "text", comparisonFormats(), "form of the report")
	fs.StringVar(&o.Raw, "raw", "", "raw samples (default: lathe-runs/TIME-compare.jsonl)")
	addComparisonFlags(cmd, &o.comparisonOptions, app.defaultBackend())
	return cmd
}

// Validate checks what can be checked without opening a file.
func (o *compareOptions) Validate() error {
	if o.ForceDelta && o.Delta == nil {
		return usageError("--delta PERCENT --force-delta", "--force-delta: needs --delta")
	}
	switch {
	case len(o.Files) == 1:
		return usageError("lathe report FILE judges the recording of one comparison", "compare: one file: needs two, A.jsonl B.jsonl")
	case len(o.Files) > 2:
		return usageError("", "unexpected argument: %q: two files are all that is taken", o.Files[2])
	case len(o.Files) == 2:
		return nil
	}
	if o.A == "" && o.B == "" && len(o.AKernels)+len(o.BKernels) == 0 {
		return usageError("lathe compare --a cpu --b ./mine.so --model preset:tiny", "compare: needs --a and --b, or --b-kernel OP=FILE, or two recordings")
	}
	if err := o.comparisonOptions.Validate(); err != nil {
		return err
	}
	for _, side := range []engineOptions{o.side(compare.VariantB), o.side(compare.VariantA)} {
		if err := side.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// side is the engine of one variant: the common flags with its backend and kernels.
func (o *compareOptions) side(variant string) engineOptions {
	e, backend, kernels := o.Engine, o.A, o.AKernels
	e.ownFlag, e.shared = "--a-kernel", len(o.Engine.Kernels)
	if variant == compare.VariantB {
		backend, kernels, e.ownFlag = o.B, o.BKernels, "--b-kernel"
	}
	if backend != "" {
		e.Backend = backend
	}
	e.Kernels = append(append([]string{}, o.Engine.Kernels...), kernels...)
	if variant == compare.VariantA && len(o.AKernels) == 0 {
		e.Kernels, e.ownFlag = append(e.Kernels, builtinOf(o.BKernels)...), "--b-kernel"
	}
	return e
}

// builtinOf is our own operator in the slots of kernels: a fused operator must not win over one that
// runs by itself only because it is fused.
func builtinOf(kernels []string) []string {
	var out []string
	for _, k := range kernels {
		if op, _, ok := strings.Cut(k, "="); ok {
			out = append(out, op+"="+builtinKernel)
		}
	}
	return out
}

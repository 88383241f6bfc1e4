package main

import (
	"context"

	"github.com/spf13/cobra"

	"lathe/bench/compare"
	"lathe/bench/report"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	File   string
	Format string // text | json
}

const explainExample = `  lathe compare --a reference --b cpu --model preset:tiny --context-len 16 --budget short --epochs 6 --raw ab.jsonl
  lathe explain ab.jsonl`

func newExplainCommand(app *application) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:     "explain FILE",
		Short:   "Which checks voted on a comparison, and what each said",
		Example: explainExample,
		Args:    oneArgument("the raw file of a comparison"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			return app.explain(cmd.Context(), o)
		},
	}
	choiceVar(cmd.Flags(), &o.Format, "format", "text", []string{"text", "json"}, "form of the result")
	return cmd
}

func (app *application) explain(ctx context.Context, o explainOptions) error {
	f, err := readRecording(ctx, o.File)
	if err != nil {
		return usageError("", "explain: %w", err)
	}
	if !compare.Interleaved(f) {
		return usageError("lathe report "+o.File+" reports on it", "explain: %s: holds no interleaved comparison: nothing voted", o.File)
	}
	for _, w := range f.Warnings {
		app.term.warn("%s: %s", o.File, w)
	}
	return report.Explain(app.term.out, f, o.Format)
}

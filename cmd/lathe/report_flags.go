package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// reportOptions are the flags of report.
type reportOptions struct {
	File   string `json:"file"`
	Format string `json:"format"` // text | json | csv | markdown
}

const reportExample = `  lathe bench one-batch --model preset:tiny --input-len 16 --output-len 8 --raw run.jsonl
  lathe report run.jsonl --format markdown`

func newReportCommand(app *application) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:     "report FILE",
		Short:   "Summarise a raw file; the same file gives the same bytes",
		Example: reportExample,
		Args:    oneArgument("a raw file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			return runReport(cmd.Context(), app, o)
		},
	}
	choiceVar(cmd.Flags(), &o.Format, "format", "text", reportFormats(), "form of the report")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(reportFormats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func reportFormats() []string { return []string{"text", "json", "csv", "markdown"} }

// Validate checks the options of a report that did not come from flags.
func (o *reportOptions) Validate() error {
	if o.File == "" {
		return fmt.Errorf("report: needs a raw file")
	}
	return nil
}

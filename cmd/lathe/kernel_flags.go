package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lathe/engine/operator"
)

const kernelExample = `  lathe kernel template attn_decode --output mine.c
  lathe kernel check attn_decode ./mine.so --dry-run`

// newKernelCommand is what an operator of a user's own is written and tried with.
func newKernelCommand(app *application) *cobra.Command {
	return group("kernel", "Write, check and time an operator of your own", kernelExample,
		newKernelListCommand(app), newKernelTemplateCommand(app), newKernelCheckCommand(app), newKernelBenchCommand(app))
}

func newKernelListCommand(app *application) *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "The operators that can be replaced: slots, shapes, element types",
		Example: "  lathe kernel list",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if format == "json" {
				return printJSON(app.term.out, operator.List())
			}
			_, err := app.term.out.Write([]byte(operatorTable(operator.List())))
			return err
		},
	}
	choiceVar(cmd.Flags(), &format, "format", "text", []string{"text", "json"}, "form of the result")
	return cmd
}

// kernelTemplateOptions are the flags of kernel template.
type kernelTemplateOptions struct {
	Op     string
	Lang   string // c | cuda
	Output string // "": standard output
}

func newKernelTemplateCommand(app *application) *cobra.Command {
	var o kernelTemplateOptions
	cmd := &cobra.Command{
		Use:     "template OP",
		Short:   "A starting file that compiles with one command and passes the check",
		Example: "  lathe kernel template attn_decode --lang c --output mine.c",
		Args:    oneArgument("an operator"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Op = args[0]
			if err := o.Validate(); err != nil {
				return err
			}
			return runKernelTemplate(app, o)
		},
		ValidArgs: operator.Names(),
	}
	fs := cmd.Flags()
	choiceVar(fs, &o.Lang, "lang", "c", []string{"c", "cuda"}, "language of the file")
	fs.StringVar(&o.Output, "output", "", "the file, with lathe/operator.h beside it (default: standard output)")
	return cmd
}

// Validate refuses what this version cannot vouch for.
func (o *kernelTemplateOptions) Validate() error {
	if err := knownOperator(o.Op); err != nil {
		return err
	}
	if o.Lang == "cuda" {
		return usageError("--lang c; operator.h says how a function differs on CUDA",
			"--lang cuda: this version has no CUDA backend that a starting file could be checked with")
	}
	return nil
}

// kernelCheckOptions are the flags of kernel check.
type kernelCheckOptions struct {
	Op, File  string
	Seed      int // 0: a secret one is drawn
	Seeds     int
	TimeLimit int // seconds a call
	Format    string
}

func newKernelCheckCommand(app *application) *cobra.Command {
	var o kernelCheckOptions
	cmd := &cobra.Command{
		Use:     "check OP FILE",
		Short:   "Compare an operator with the float64 reference, in a process of its own",
		Example: "  lathe kernel check attn_decode ./mine.so --dry-run",
		Args:    operatorAndFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Op, o.File = args[0], args[1]
			if err := o.Validate(); err != nil {
				return err
			}
			return runKernelCheck(cmd.Context(), app, o)
		},
		ValidArgs: operator.Names(),
	}
	fs := cmd.Flags()
	wholeVar(fs, &o.Seed, "seed", 0, 0, "repeats the check that printed it; 0: a secret one is drawn")
	wholeVar(fs, &o.Seeds, "seeds", 3, 1, "sets of inputs a case")
	wholeVar(fs, &o.TimeLimit, "time-limit", 20, 1, "seconds that one call may take")
	choiceVar(fs, &o.Format, "format", "text", []string{"text", "json"}, "form of the result")
	return cmd
}

// Validate checks what can be checked without opening the file.
func (o *kernelCheckOptions) Validate() error {
	const most = 3600
	if o.TimeLimit > most {
		return usageError("", "--time-limit: %d: must be at most %d", o.TimeLimit, most)
	}
	return knownOperator(o.Op)
}

// operatorAndFile wants the two positionals of a command about a kernel.
func operatorAndFile(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) < 2:
		return usageError(cmd.CommandPath()+" --help shows an example", "%s: needs an operator and a shared library", cmd.CommandPath())
	case len(args) > 2:
		return usageError("", "unexpected argument: %q: an operator and a shared library are all that is taken", args[2])
	}
	return nil
}

// knownOperator refuses a name that --kernel does not take.
func knownOperator(op string) error {
	for _, name := range operator.Names() {
		if name == op {
			return nil
		}
	}
	hint := "lathe kernel list has them"
	if near, ok := nearest(op, operator.Names()); ok {
		hint = "did you mean " + near + "?"
	}
	return usageError(hint, "operator %q: there is none of this name", op)
}

// operatorTable is kernel list as text.
func operatorTable(list []operator.Info) string {
	var b strings.Builder
	b.WriteString("operators that --kernel OP=FILE.so replaces\n")
	for _, o := range list {
		fmt.Fprintf(&b, "\n%s: %s\n", o.Name, o.Does)
		if len(o.Fuses) > 0 {
			fmt.Fprintf(&b, "  fuses     %s\n", strings.Join(o.Fuses, ", "))
		}
		if len(o.Slots) > 1 {
			fmt.Fprintf(&b, "  slots     %s\n", strings.Join(o.Slots, ", "))
		}
		fmt.Fprintf(&b, "  function  int %s(const lathe_ctx *, const %s *)\n", o.Symbol, o.Args)
		fmt.Fprintf(&b, "  shapes    %s\n", o.Shapes)
		fmt.Fprintf(&b, "  checked   %s\n", strings.Join(o.DTypes, ", "))
	}
	b.WriteString("\nThe fused ones make up the default path; replacing one of the parts runs its part of the layer unfused.\n" +
		"checked: element types of activations / weights or KV pages / outputs.\n")
	return b.String()
}

package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootExample = `  lathe bench one-batch --model preset:tiny --batch-size 1 4 --input-len 16 --output-len 8
  lathe doctor`

// newRootCommand builds the command tree for one run of the program.
func newRootCommand(app *application) *cobra.Command {
	progress := ""
	root := &cobra.Command{
		Use:           "lathe",
		Short:         "Did my kernel get faster? A latency harness with a Llama engine inside",
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		Version:       buildFacts().Version,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(*cobra.Command, []string) {
			app.term.setProgress(progress)
		},
	}
	choiceVar(root.PersistentFlags(), &progress, "progress", progressAuto,
		[]string{progressAuto, progressAlways, progressNever}, "progress on stderr; auto: on a terminal only")
	root.Flags().Bool("version", false, "print the version")
	root.PersistentFlags().BoolVar(&app.dryRun, "dry-run", false, "print the plan and measure nothing")
	root.SetVersionTemplate("lathe {{.Version}}\n")
	root.SetOut(app.term.out)
	root.SetErr(app.term.err)
	root.SetIn(app.stdin)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = false
	bench := group("bench", "Time a model, one harness a command",
		"  lathe bench one-batch --model preset:tiny --batch-size 1 4 --input-len 16 --output-len 8",
		newOneBatchCommand(app), newLatencyCommand(app), newBenchServeCommand(app))
	model := group("model", "Look at a model, or get the small real one",
		"  lathe model info preset:llama-3-8b", newModelInfoCommand(app), newModelFetchCommand(app))
	root.AddCommand(bench, newCompareCommand(app), newExplainCommand(app), newPowerCommand(app), newCalibrateCommand(app), newGateCommand(app),
		newKernelCommand(app), newGenerateCommand(app), newReportCommand(app), newAuditCommand(app), newRooflineCommand(app), model, newDoctorCommand(app), newVersionCommand(app))
	root.SetHelpCommand(newHelpCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if completion := subcommand(root, "completion"); completion != nil {
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, c := range append(completion.Commands(), completion) {
			c.Args = noArguments // in our words
		}
	}
	prepareAll(root)
	return root
}

// group is a command that only holds others.
func group(name, short, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Example: example, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// noArguments refuses positionals in one line.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(cmd.CommandPath()+" --help shows an example", "unexpected argument: %q", args[0])
	}
	return nil
}

// oneArgument wants exactly one positional, which the message calls what.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usageError(cmd.CommandPath()+" --help shows an example", "%s: needs %s", cmd.CommandPath(), what)
		case 1:
			return nil
		}
		return usageError("", "unexpected argument: %q: %s is all that is taken", args[1], what)
	}
}

// newHelpCommand is "lathe help COMMAND".
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about a command", Example: "  lathe help bench one-batch",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, _, rest, err := findCommand(cmd.Root(), args)
			if err == nil && len(rest) > 0 {
				err = unknownCommand(about, rest[0], rest[0])
			}
			if err != nil {
				return err
			}
			return about.Help()
		},
	}
}

// prepareAll keeps flags in the order they were declared, and the order of help stable.
func prepareAll(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.InitDefaultHelpFlag()
	for _, c := range cmd.Commands() {
		prepareAll(c)
	}
}

// flagError turns pflag's texts into ours.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return usageError(cmd.CommandPath()+" --help lists the flags", "%s: %w", cmd.CommandPath(), err)
	}
	why := invalid.Unwrap()
	if invalid.GetFlag().Value.Type() == "bool" {
		why = errors.New("must be true or false")
	}
	return usageError("", "--%s: %s: %w", invalid.GetFlag().Name, shownValue(invalid.GetValue()), why)
}

func shownValue(v string) string {
	if v == "" {
		return `""`
	}
	return v
}

// harnessGroups names groups of the flag table: those of the harness that a command stands in for,
// script first, and those whose exact names it understands as well.
type harnessGroups struct {
	own     []string
	scripts int // how many of own are the harness script's, which stand first; the others are its engine's
	other   []string
}

// harnessOf is which Python harness a command stands in for; bench serve says itself which.
func harnessOf(cmd *cobra.Command) harnessGroups {
	switch cmd.CommandPath() + " " + cmd.Annotations[harnessAnnotation] {
	case "lathe bench one-batch ":
		return harnessGroups{scripts: 1, own: []string{"sglang_one_batch", "sglang_server"}, other: []string{"vllm_engine"}}
	case "lathe bench latency ":
		return harnessGroups{scripts: 1, own: []string{"vllm_latency", "vllm_engine"}, other: []string{"sglang_server"}}
	case "lathe bench serve " + harnessVLLM:
		return harnessGroups{scripts: 2, own: []string{"vllm_serve", "vllm_datasets"}}
	case "lathe bench serve " + harnessSGLang:
		return harnessGroups{scripts: 1, own: []string{"sglang_serving"}}
	case "lathe bench serve " + harnessExact:
		return harnessGroups{other: []string{"vllm_serve", "vllm_datasets", "sglang_serving"}}
	case "lathe generate ", "lathe compare ", "lathe power ", "lathe calibrate ", "lathe gate run ":
		return harnessGroups{other: []string{"vllm_engine", "sglang_server"}}
	}
	return harnessGroups{}
}

// grammarOf collects the names that a command knows. The flag table is read here and only for a
// command that needs it.
func grammarOf(cmd *cobra.Command) (*grammar, error) {
	g := newGrammar(cmd.CommandPath())
	if harness := cmd.Annotations[harnessAnnotation]; harness != "" {
		g.command += " --harness " + harness
	}
	kinds := map[string]flagKind{}
	cmd.InheritedFlags() // adds the persistent flags of the parents
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			kinds["--"+f.Name] = kindOf(f)
			g.add(&flagDecl{name: "--" + f.Name, kind: kindOf(f), target: "--" + f.Name})
		}
	})
	g.own["-h"] = &flagDecl{name: "-h", kind: switchFlag, target: "--help"}
	groups := harnessOf(cmd)
	for i, name := range groups.own {
		rank := scriptFlag
		if i >= groups.scripts {
			rank = engineFlag
		}
		if err := addGroup(name, kinds, rank, g.add); err != nil {
			return nil, err
		}
	}
	for _, name := range groups.other {
		if err := addGroup(name, kinds, engineFlag, g.addOther); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// addGroup declares the names of one group of the flag table.
func addGroup(group string, kinds map[string]flagKind, rank flagRank, add func(*flagDecl)) error {
	rows, err := loadForeign(group)
	if err != nil {
		return err
	}
	for _, row := range rows {
		d := flagDecl{kind: row.kind, entry: row, rank: rank}
		if row.disposition == ours {
			if kind, ok := kinds[row.detail]; ok {
				d.target, d.kind = row.detail, kind
			}
		}
		for _, name := range row.names {
			one := d
			one.name = name
			add(&one)
		}
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lathe/cuda/device"
	"lathe/engine/operator"
)

// application is what every command needs of the outside.
type application struct {
	stdin  io.Reader
	term   *terminal
	env    func(key string) string // the environment, by way of lookup; "" where a variable is not set
	lookup func(key string) (value string, set bool)
	nvml   func() (device.Source, error)
	argv   []string // as the user typed it, for the raw file
	dryRun bool     // --dry-run
	link   *link    // to the first process, in the one that runs a user's kernel for it; nil elsewhere
}

func newApplication(args []string, stdin io.Reader, stdout, stderr io.Writer, lookup func(string) (string, bool)) *application {
	app := &application{stdin: stdin, term: newTerminal(stdout, stderr), lookup: lookup, argv: args, nvml: device.Open}
	app.env = func(key string) string { value, _ := lookup(key); return value }
	return app
}

// run is the whole program: it reads args, does the command and returns the exit code. It never
// panics: what went wrong inside is one error: line.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, lookup func(string) (string, bool)) (code int) {
	if len(args) > 0 && args[0] == containedProcess {
		return runContained(ctx, args[1:], stdin, stderr, lookup)
	}
	return newApplication(args, stdin, stdout, stderr, lookup).run(ctx)
}

// run does the command line and says what went wrong with it.
func (app *application) run(ctx context.Context) (code int) {
	err := app.execute(ctx, app.argv)
	app.term.clearProgress()
	if err == nil && app.term.out.err != nil {
		err = fmt.Errorf("write the results: standard output: %w", app.term.out.err)
	}
	if err != nil {
		app.term.fail(err)
	}
	return exitCode(ctx, err)
}

// execute parses and runs one command. A panic becomes an error without a stack trace.
func (app *application) execute(ctx context.Context, args []string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = usageError("this is a fault of lathe; please report the command line", "internal: %v", p)
		}
	}()
	if len(args) == 1 && args[0] == operatorProcess {
		return operator.Serve()
	}
	root := newRootCommand(app)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		if len(args) == 1 {
			return usageError("shells call it: lathe completion --help", "%s: needs the words of a command line", args[0])
		}
		root.SetArgs(args)
		return root.ExecuteContext(ctx)
	}
	cmd, path, rest, err := findCommand(root, args)
	if err != nil {
		return err
	}
	g, err := grammarOf(cmd)
	if err != nil {
		return err
	}
	parsed, err := normaliseArgs(rest, g)
	if err != nil {
		return err
	}
	if app.link == nil && parsed.runsKernel() {
		return app.contain(ctx, strings.Join(path, " "), parsed.last("--format", "text") == "text")
	}
	if err := judgeForeign(parsed.foreign, g.command, app.term.warn); err != nil {
		return err
	}
	if cmd.Name() == "help" {
		for i, word := range parsed.positionals {
			parsed.positionals[i] = strings.ReplaceAll(word, "_", "-")
		}
	}
	root.SetArgs(append(append([]string{}, path...), parsed.args()...)) // never nil: cobra would read os.Args
	return root.ExecuteContext(ctx)
}

// findCommand walks the command's words, which stand first; "_" is "-" in them.
func findCommand(root *cobra.Command, args []string) (cmd *cobra.Command, path, rest []string, err error) {
	cmd = root
	for len(args) > 0 && cmd.HasSubCommands() && !strings.HasPrefix(args[0], "-") {
		word := strings.ReplaceAll(args[0], "_", "-")
		next := subcommand(cmd, word)
		if next == nil {
			return nil, nil, nil, unknownCommand(cmd, args[0], word)
		}
		cmd, path, args = next, append(path, word), args[1:]
	}
	return cmd, path, args, nil
}

func subcommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return c
		}
	}
	return nil
}

func unknownCommand(parent *cobra.Command, written, name string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	hint := parent.CommandPath() + " --help lists the commands"
	if near, ok := nearest(name, names); ok {
		hint = "did you mean " + parent.CommandPath() + " " + near + "?"
	}
	return usageError(hint, "unknown command: %q: %s has no such command", written, parent.CommandPath())
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lathe/engine/native"
	"lathe/engine/operator"
)

// operatorProcess is the word that makes this program the process that calls a user's operator, with
// the files of operator.Check. It is no command: nothing that a user types leads to it.
const operatorProcess = "__operator"

// runKernelTemplate writes a starting file.
func runKernelTemplate(app *application, o kernelTemplateOptions) error {
	include := "include"
	if o.Output != "" {
		include = "."
	} else if dir := installedHeader(); dir != "" {
		include = dir
	}
	text, err := operator.Template(o.Op, include)
	if err != nil {
		return err
	}
	if o.Output == "" {
		_, err := app.term.out.Write([]byte(text))
		return err
	}
	base := strings.TrimSuffix(filepath.Base(o.Output), ".c")
	op, _, _ := strings.Cut(o.Op, ".")
	text = strings.NewReplacer("-o "+op+".so "+op+".c", "-o "+base+".so "+base+".c", "./"+op+".so", "./"+base+".so").Replace(text)
	if app.dryRun {
		fmt.Fprintf(app.term.out, "%s: %d bytes of C for %s; nothing is written\n", o.Output, len(text), o.Op)
		return nil
	}
	header := filepath.Join(filepath.Dir(o.Output), "lathe", "operator.h")
	if err := writeHeader(header); err != nil {
		return usageError("remove it, or let --output name another folder", "write the template: %w", err)
	}
	if err := writeNew(o.Output, []byte(text)); err != nil {
		return usageError("--output names another", "write the template: %w", err)
	}
	fmt.Fprintln(app.term.out, compilerLine(text))
	return nil
}

// compilerLine is the command in a template's head.
func compilerLine(text string) string {
	for line := range strings.Lines(text) {
		if _, command, ok := strings.Cut(line, "* "); ok && strings.HasPrefix(strings.TrimSpace(command), "cc ") {
			return strings.TrimSpace(command)
		}
	}
	return ""
}

// installedHeader is the folder of lathe/operator.h beside the executable, "" without one.
func installedHeader() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	dir := filepath.Join(filepath.Dir(exe), "..", "include")
	if _, err := os.Stat(filepath.Join(dir, "lathe", "operator.h")); err != nil {
		return ""
	}
	return dir
}

// writeNew writes a file that must not be there.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// writeHeader leaves operator.h at a place; what is there already must be the same.
func writeHeader(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if err == nil && string(old) == native.OperatorHeader() {
		return nil
	}
	if err == nil {
		return fmt.Errorf("%s: is another version of the header", path)
	}
	return writeNew(path, []byte(native.OperatorHeader()))
}

// runKernelCheck does kernel check.
func runKernelCheck(ctx context.Context, app *application, o kernelCheckOptions) error {
	if app.dryRun {
		n, err := operator.CaseCount(o.Op)
		if err != nil {
			return err
		}
		fmt.Fprintf(app.term.out, "%s %s: %d cases with %d seeds, at most %d s a call; nothing is run\n", o.Op, o.File, n, o.Seeds, o.TimeLimit)
		return nil
	}
	v, err := app.checkKernel(ctx, operator.Options{Op: o.Op, File: o.File, Seed: uint64(o.Seed), Seeds: o.Seeds,
		Limit: time.Duration(o.TimeLimit) * time.Second})
	if err != nil {
		return err
	}
	if o.Format == "json" {
		err = printJSON(app.term.out, v)
	} else {
		_, err = app.term.out.Write([]byte(verdictText(v)))
	}
	if err == nil && !v.OK {
		err = verdict(exitInvalid)
	}
	return err
}

// checkKernel checks one operator of a library in a child of this program. Doubts are said as
// warnings; a kernel that fails is a verdict, and an error is what hinders the check.
func (app *application) checkKernel(ctx context.Context, o operator.Options) (operator.Verdict, error) {
	b, v, err := app.prepareKernel(ctx, o)
	if b != nil {
		v.End(b.Close())
	}
	return v, err
}

// prepareKernel is checkKernel that keeps the child of a kernel that passed, for timing.
func (app *application) prepareKernel(ctx context.Context, o operator.Options) (*operator.Bench, operator.Verdict, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, operator.Verdict{}, fmt.Errorf("check kernel %s: where this executable lies is unknown: %w", o.File, err)
	}
	o.Self = func() *exec.Cmd { return exec.Command(exe, operatorProcess) }
	o.Progress = func(done, total int) { app.term.showProgress(done, total, "check "+o.Op) }
	b, v, err := operator.Prepare(ctx, o)
	app.term.clearProgress()
	if err != nil {
		if _, stopped := interrupted(ctx); stopped {
			return nil, v, err
		}
		return nil, v, usageError("", "%w", err)
	}
	for _, w := range v.Warnings {
		app.term.warn("kernel %s: %s", o.File, w)
	}
	return b, v, nil
}

// verdictText is a check's outcome for a reader.
func verdictText(v operator.Verdict) string {
	var b strings.Builder
	state := "ok"
	if !v.OK {
		state = "INVALID"
	}
	fmt.Fprintf(&b, "%s %s: %s\n", v.Op, v.File, state)
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	if v.More > 0 {
		fmt.Fprintf(&b, "  and %d more\n", v.More)
	}
	threads := strings.Trim(strings.ReplaceAll(fmt.Sprint(v.Threads), " ", ", "), "[]")
	fmt.Fprintf(&b, "%d cases, %d seeds, %d calls on %s threads", v.Cases, v.Seeds, v.Calls, threads)
	if v.Refused > 0 {
		fmt.Fprintf(&b, "; %d cases refused by its _supports", v.Refused)
	}
	b.WriteString("\n")
	for _, p := range v.Precisions {
		after, more := "", p.Roundings
		if p.Elem == "bf16" {
			more--
		}
		if more > 0 {
			after = fmt.Sprintf(" (%d roundings to bf16 on the way)", more)
		}
		fmt.Fprintf(&b, "%s outputs%s: relative L2 %.2g from the float64 reference, %.2g allowed", p.Elem, after, p.Distance, p.Allowed)
		if p.Builtin != nil {
			fmt.Fprintf(&b, ", the built-in's is %.2g", *p.Builtin)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "--seed %d repeats this check\n", v.Seed)
	return b.String()
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lathe/bench"
	"lathe/bench/audit"
	"lathe/bench/report"
	"lathe/bench/serving"
)

// auditOptions are the flags of audit.
type auditOptions struct {
	Files  []string `json:"files"`
	Format string   `json:"format"` // text | json | markdown
	Strict bool     `json:"strict"`

	NumPrompts int `json:"num_prompts"` // 0: as the file says
	Reading    reportOptions
}

const auditExample = `  lathe bench one-batch --model preset:tiny --input-len 16 --output-len 8 --raw a.jsonl
  lathe bench one-batch --model preset:tiny --input-len 16 --output-len 8 --raw b.jsonl
  lathe audit a.jsonl b.jsonl`

func newAuditCommand(app *application) *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use:     "audit FILE [FILE]",
		Short:   "Say why two result files do or do not compare; make three checks of one",
		Long:    auditLong,
		Example: auditExample,
		Args: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 1, 2:
				return nil
			case 0:
				return usageError(cmd.CommandPath()+" --help shows an example", "%s: needs one or two result files", cmd.CommandPath())
			}
			return usageError("", "unexpected argument: %q: two files are all that are taken", args[2])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Files = args
			return runAudit(cmd.Context(), app, o)
		},
	}
	fs := cmd.Flags()
	choiceVar(fs, &o.Format, "format", "text", report.AuditFormats(), "form of the report")
	fs.BoolVar(&o.Strict, "strict", false, "of one file: exit 1 where a check leaves a doubt")
	fs.IntVar(&o.NumPrompts, "num-prompts", 0, "of one file: requests asked for, where the file does not tell")
	readingVars(fs, &o.Reading)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(report.AuditFormats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

const auditLong = `Say why two result files do or do not compare, row by row of the incomparability
tables, or make three checks of one file: mean ITL over mean TPOT, generated
against retokenised tokens, requested minus successful.

Files are recognised by what is in them: captures and recordings of lathe,
results of vLLM's and SGLang's clients (Python and Rust) and of their offline
harnesses, AIPerf, guidellm, llama-bench (JSON, JSONL, CSV) and NVBench.
FILE#N is the N-th of the results in a file that holds several.

Two files: exit 0 where they compare as far as they tell, 4 where they do not.`

func runAudit(ctx context.Context, app *application, o auditOptions) error {
	if o.NumPrompts < 0 {
		return usageError("", "--num-prompts: %d: must not be negative", o.NumPrompts)
	}
	tok, err := openTokens(o.Reading.Tokenizer)
	if err != nil {
		return err
	}
	defer tok.close()
	count := tok.counter()
	dir, err := os.MkdirTemp("", "lathe-audit-")
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer os.RemoveAll(dir)
	var files []*audit.File
	for i, given := range o.Files {
		o.Files[i], err = whileNotInterrupted(ctx, func() (string, error) { return seekable(given, filepath.Join(dir, strconv.Itoa(i))) })
		if err != nil {
			return usageError("", "audit: %w", err)
		}
		f, err := whileNotInterrupted(ctx, func() (*audit.File, error) { return audit.Open(o.Files[i], audit.Options{Count: count}) })
		if err != nil {
			return usageError("", "audit: %w", err)
		}
		files = append(files, f)
	}
	if len(files) == 1 {
		return app.auditOne(ctx, files[0], o, count)
	}
	if sameFile(o.Files[0], o.Files[1]) && files[0].Entry == files[1].Entry {
		files[1].Warnings = append(files[1].Warnings, "it is A, the same file")
	}
	c := audit.Compare(files[0], files[1])
	if err := report.AuditPair(app.term.out, c, o.Format); err != nil {
		return err
	}
	if !c.Comparable {
		return verdict(exitInvalid)
	}
	return nil
}

// seekable is a path that can be read more than once: a pipe is copied into a folder first.
func seekable(path, folder string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return path, nil // what is wrong is said where it is read
	}
	from, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer from.Close()
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	to, err := os.Create(filepath.Join(folder, filepath.Base(path)))
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return "", fmt.Errorf("copy %s: %w", path, err)
	}
	return to.Name(), to.Close()
}

// sameFile says that two paths lead to one file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, errY := os.Stat(b)
	return a == b || err == nil && errY == nil && os.SameFile(x, y)
}

// auditOne makes the three checks of one file; a capture is read first.
func (app *application) auditOne(ctx context.Context, f *audit.File, o auditOptions, count serving.Counter) error {
	if o.NumPrompts > 0 {
		f.Load.Requests = &o.NumPrompts
	}
	r, err := whileNotInterrupted(ctx, func() (*audit.Report, error) { return app.checks(f, o, count) })
	if err != nil {
		return err
	}
	if err := report.AuditFile(app.term.out, r, o.Format); err != nil {
		return err
	}
	for _, outcome := range r.Outcomes {
		if o.Strict && outcome.Doubt {
			return verdict(exitRegression)
		}
	}
	return nil
}

func (app *application) checks(f *audit.File, o auditOptions, count serving.Counter) (*audit.Report, error) {
	if f.Harness != audit.Lathe || f.Kind != audit.Serving {
		r, err := audit.Check(f)
		if err != nil {
			return nil, usageError("two such files can be compared: lathe audit A B", "%w", err)
		}
		return r, nil
	}
	semantics, err := o.Reading.semantics(f.Backend)
	if err != nil {
		return nil, err
	}
	options, err := o.Reading.servingOptions(count)
	if err != nil {
		return nil, err
	}
	options.Retokenise = count != nil
	in, err := bench.Open(o.Files[0])
	if err != nil {
		return nil, usageError("", "audit: %w", err)
	}
	defer in.Close()
	_, results, err := serving.Read(in, semantics, options)
	if err != nil {
		return nil, usageError("", "audit: %w", err)
	}
	return audit.CheckReadings(f, results, count), nil
}

// readingVars are the flags of report that say how a capture is read.
func readingVars(fs *pflag.FlagSet, o *reportOptions) {
	wordsVar(fs, &o.Semantics, listFlag, "semantics", "of one capture: its readings (default those that fit its endpoint)")
	choiceVar(fs, &o.HarnessVersion, "harness-version", string(serving.Latest), versionNames(), "of one capture: state of the harnesses that is meant")
	fs.StringVar(&o.Tokenizer, "tokenizer", "none", "counts tokens of texts: none, name:chars, name:words, name:bytes, or a path")
	fs.StringVar(&o.AcceptLength, "accept-length", "", "of one capture: acceptance length that SGLang's client got from the server")
}

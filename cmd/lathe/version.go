package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"lathe/bench"
	"lathe/engine/native"
)

// version is set by the linker (-X main.version); it is the newest heading of CHANGELOG.md.
var version = "devel"

// versionFacts is what version --format json prints.
type versionFacts struct {
	Version  string           `json:"version"`
	Revision string           `json:"revision"` // git, with "+dirty" where the tree was; "" unknown
	Go       string           `json:"go"`
	Backends []versionBackend `json:"backends"`
}

// versionBackend is one backend. A built-in one has no file: its sha256 is null.
type versionBackend struct {
	Name      string          `json:"name"`
	Path      *string         `json:"path"`
	SHA256    *string         `json:"sha256"`
	BuildInfo json.RawMessage `json:"build_info"` // null where it does not tell
	Error     string          `json:"error,omitempty"`
}

func newVersionCommand(app *application) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Version, git revision, Go and the backends",
		Example: "  lathe version --format json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			return printVersion(app.term.out, format, app.versionFacts())
		},
	}
	choiceVar(cmd.Flags(), &format, "format", "text", []string{"text", "json"}, "form of the result")
	return cmd
}

// buildFacts is which Lathe this is, as the raw file has it.
func buildFacts() bench.Build {
	b := bench.Build{Version: version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if b.Revision != "" {
		b.Revision += dirty
	}
	return b
}

func (app *application) versionFacts() versionFacts {
	b := buildFacts()
	facts := versionFacts{Version: b.Version, Revision: b.Revision, Go: b.Go}
	for _, name := range []string{"cpu", "reference", "cuda"} {
		if one, ok := describeBackend(name); ok {
			facts.Backends = append(facts.Backends, one)
		}
	}
	if name := app.env(envBackend); name != "" && !isBackendWord(name) {
		if one, ok := describeBackend(name); ok {
			facts.Backends = append(facts.Backends, one)
		}
	}
	return facts
}

// describeBackend opens a backend to read what it says of itself. A CUDA plug-in that is not there
// is left out, since it is no part of this installation.
func describeBackend(name string) (versionBackend, bool) {
	open := map[string]func() (*native.Backend, error){"cpu": native.CPU, "reference": native.Reference}[name]
	if open == nil {
		if path, err := pluginPath(name); err == nil {
			open = func() (*native.Backend, error) { return native.Open(path) }
		} else {
			return versionBackend{}, false
		}
	}
	b, err := open()
	if err != nil {
		return versionBackend{Name: name, Error: err.Error()}, true
	}
	out := versionBackend{Name: b.Name()}
	if p := b.Path(); p != "" {
		sum := b.SHA256()
		out.Path, out.SHA256 = &p, &sum
	}
	if info := b.BuildInfo(); json.Valid([]byte(info)) {
		out.BuildInfo = json.RawMessage(info)
	}
	return out, true
}

func printVersion(w io.Writer, format string, v versionFacts) error {
	if format == "json" {
		return printJSON(w, v)
	}
	revision := v.Revision
	if revision == "" {
		revision = "revision unknown"
	}
	fmt.Fprintf(w, "lathe %s (%s, %s)\n", v.Version, revision, v.Go)
	for _, b := range v.Backends {
		line := "backend " + b.Name
		switch {
		case b.Error != "":
			line = b.Error
		case b.Path != nil:
			line += fmt.Sprintf(": %s sha256 %s", *b.Path, *b.SHA256)
		default:
			line += ": built in"
		}
		if len(b.BuildInfo) > 0 {
			line += " " + string(b.BuildInfo)
		}
		fmt.Fprintln(w, line)
	}
	return nil
}

// printJSON writes one indented object.
func printJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

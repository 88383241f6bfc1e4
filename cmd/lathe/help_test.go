package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite the golden files of help texts")

// lathe runs the program in this process.
func lathe(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := map[string]string{"LATHE_CACHE": os.Getenv("LATHE_CACHE")}
	code = run(context.Background(), args, strings.NewReader(""), &out, &errs, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	return code, out.String(), errs.String()
}

// commands lists every command of ours with its words; cobra's own completion is left out.
func commands(t testing.TB) (paths [][]string, examples map[string]string) {
	t.Helper()
	examples = map[string]string{}
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		if cmd.Name() == "completion" {
			return
		}
		paths = append(paths, path)
		examples[strings.Join(path, " ")] = cmd.Example
		for _, c := range cmd.Commands() {
			walk(c, append(append([]string{}, path...), c.Name()))
		}
	}
	walk(newRootCommand(&application{term: newTerminal(nil, nil), env: func(string) string { return "" }}), nil)
	return paths, examples
}

func TestHelpIsGolden(t *testing.T) {
	paths, examples := commands(t)
	for _, path := range paths {
		name := strings.Join(append([]string{"lathe"}, path...), "-")
		t.Run(name, func(t *testing.T) {
			code, got, stderr := lathe(t, append(append([]string{}, path...), "--help")...)
			if code != 0 || stderr != "" {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			if examples[strings.Join(path, " ")] == "" || !strings.Contains(got, "Examples:") {
				t.Error("no example")
			}
			goldenHelp(t, name, got)
			if !strings.HasPrefix(name, "lathe-help") && len(path) > 0 {
				_, viaHelp, _ := lathe(t, append([]string{"help"}, path...)...)
				if viaHelp != got {
					t.Errorf("lathe help %s differs from --help", strings.Join(path, " "))
				}
			}
		})
	}
}

// goldenHelp compares a help text with its golden file.
func goldenHelp(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", "help", name+".txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("help text changed; go test ./cmd/lathe -run Help -update accepts it:\n%s", diff)
	}
}

// TestHelpOfEachHarness: bench serve has the flags of the harness that is named.
func TestHelpOfEachHarness(t *testing.T) {
	for _, harness := range harnessNames() {
		code, got, stderr := lathe(t, "bench", "serve", "--harness", harness, "--help")
		if code != 0 || stderr != "" {
			t.Fatalf("%s: exit %d: %s", harness, code, stderr)
		}
		name := "lathe-bench-serve"
		if harness != harnessVLLM {
			name += "-" + harness
		}
		goldenHelp(t, name, got)
	}
}

// TestHelpExamplesRun runs every example as it stands, in an empty folder.
func TestHelpExamplesRun(t *testing.T) {
	paths, examples := commands(t)
	for _, path := range paths {
		example := examples[strings.Join(path, " ")]
		if strings.Contains(example, "model fetch") {
			continue // make run does it; it needs a package index
		}
		t.Run(strings.Join(append([]string{"lathe"}, path...), "-"), func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, line := range strings.Split(example, "\n") {
				words := shellWords(t, line)
				if len(words) == 0 || words[0] != "lathe" {
					t.Fatalf("not a lathe command: %q", line)
				}
				// A verdict depends on how quiet the machine is; that there is one does not.
				if code, _, stderr := lathe(t, words[1:]...); code != exitPass && code != exitRegression && code != exitInconclusive {
					t.Errorf("%s: exit %d: %s", line, code, stderr)
				}
			}
		})
	}
}

// shellWords splits a line at blanks, double quotes kept together.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	parts := strings.Split(line, `"`)
	if len(parts)%2 == 0 {
		t.Fatalf("quote not closed: %s", line)
	}
	for i, part := range parts {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

func TestEmptyCommandLineIsHelp(t *testing.T) {
	_, want, _ := lathe(t, "--help")
	for _, args := range [][]string{nil, {"help"}, {"-h"}} {
		if code, got, _ := lathe(t, args...); code != 0 || got != want {
			t.Errorf("%q: exit %d", args, code)
		}
	}
}

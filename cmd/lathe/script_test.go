package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == operatorProcess || os.Args[1] == containedProcess) {
		main()
	}
	if os.Getenv(childVariable) != "" {
		childMain()
	}
	testscript.Main(m, map[string]func(){"lathe": main})
}

// TestScripts runs the command line as users do; each script is one part of the contract.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			for name, path := range map[string]string{"GOLDEN": "../../engine/testdata/golden", "RESULTS": "../../bench/audit/testdata",
				"EXAMPLES": "../../docs/examples"} {
				abs, err := filepath.Abs(path)
				if err != nil {
					return err
				}
				e.Setenv(name, abs)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "recorded": recorded},
	})
}

// exits CODE PROGRAM ARGS… runs the program and wants that exit code, or one of several separated by commas.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	got := 0
	var ended *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &ended) {
		got = ended.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if !slices.Contains(strings.Split(args[0], ","), strconv.Itoa(got)) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// childVariable makes this test binary the program itself, for tests that need a process.
const childVariable = "LATHE_TEST_CHILD"

//go:build unix

package operator

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// childVariable makes this test binary the process that calls operators.
const childVariable = "LATHE_OPERATOR_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		if err := Serve(); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func self() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=1")
	return cmd
}

// compile builds a library with the one command that the documents show.
func compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	include := t.TempDir()
	if err := os.Mkdir(filepath.Join(include, "lathe"), 0o777); err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile("../native/operator.h")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(include, "lathe", "operator.h"), header, 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(include, strings.TrimSuffix(filepath.Base(source), ".c")+".so")
	args := append([]string{"-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs", "-I", include, "-o", out, source}, flags...)
	if text, err := exec.Command("cc", append(args, "-lm")...).CombinedOutput(); err != nil {
		t.Fatalf("cc %s: %v\n%s", source, err, text)
	}
	return out
}

func check(t testing.TB, op, file string, change func(*Options)) Verdict {
	t.Helper()
	o := Options{Op: op, File: file, Self: self, Limit: 20 * time.Second}
	if change != nil {
		change(&o)
	}
	v, err := Check(context.Background(), o)
	if err != nil {
		t.Fatalf("seed %d: %v", v.Seed, err)
	}
	return v
}

// TestTemplatesPass compiles the template of every operator and checks it.
func TestTemplatesPass(t *testing.T) {
	for i, op := range List() {
		if testing.Short() && i%4 > 0 {
			continue
		}
		t.Run(op.Name, func(t *testing.T) {
			v := check(t, op.Name, compile(t, writeTemplate(t, op.Name)), func(o *Options) { o.Seeds = 1 })
			if !v.OK || len(v.Warnings) > 0 || v.Refused > 0 {
				t.Errorf("seed %d: %s; warnings %q; %d cases refused", v.Seed, v.Reason(), v.Warnings, v.Refused)
			}
			for _, p := range v.Precisions {
				if p.Builtin == nil {
					t.Errorf("seed %d: our own operator was not run beside %s", v.Seed, p.Elem)
					continue
				}
				t.Logf("%d cases, %d calls, %s: %.2g, ours %.2g, allowed %.2g", v.Cases, v.Calls, p.Elem, p.Distance, *p.Builtin, p.Allowed)
			}
		})
	}
}

// writeTemplate leaves a starting file.
func writeTemplate(t *testing.T, op string) string {
	t.Helper()
	text, err := Template(op, "include")
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), op+".c")
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return source
}

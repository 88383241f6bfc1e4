//go:build cgo

package native_test

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cc runs the C compiler of this build.
func cc(t testing.TB, args ...string) {
	t.Helper()
	name := os.Getenv("CC")
	if name == "" {
		name = "cc"
	}
	if msg, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, msg)
	}
}

// TestHeadersAlone: both headers compile by themselves as C and as C++, without a
// warning, in the oldest standards that we promise.
func TestHeadersAlone(t *testing.T) {
	for _, header := range []string{"backend.h", "operator.h"} {
		source := filepath.Join(t.TempDir(), "only")
		if err := os.WriteFile(source, []byte("#include \""+header+"\"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, lang := range [][]string{{"c", "-std=c99"}, {"c", "-std=c17"}, {"c++", "-std=c++11"}, {"c++", "-std=c++17"}} {
			cc(t, "-x", lang[0], lang[1], "-pedantic", "-Wall", "-Wextra", "-Werror", "-I.", "-fsyntax-only", source)
		}
	}
}

// TestLayout: sizes and offsets are those of the ABI's number.
func TestLayout(t *testing.T) {
	cc(t, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I.", "-fsyntax-only", "testdata/header/layout.c")
}

// TestUserOperatorCompiles by the command that operator.h shows, as C and as C++,
// and exports its three names and nothing else.
func TestUserOperatorCompiles(t *testing.T) {
	for _, lang := range []string{"c", "c++"} {
		out := filepath.Join(t.TempDir(), "mine.so")
		cc(t, "-x", lang, "-O3", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs", "-Wall", "-Wextra",
			"-Werror", "-I.", "-o", out, "testdata/header/silu_mul.c", "-lm")
		names := exported(t, out)
		want := "lathe_op_abi lathe_op_silu_mul lathe_op_silu_mul_supports"
		if got := strings.Join(names, " "); got != want {
			t.Errorf("as %s it exports %q, want %q", lang, got, want)
		}
	}
}

// TestInstalledHeader: the shorter command of operator.h, with the header where make
// build and cmake --install leave it.
func TestInstalledHeader(t *testing.T) {
	dir := t.TempDir()
	header, err := os.ReadFile("operator.h")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/header/silu_mul.c")
	if err != nil {
		t.Fatal(err)
	}
	mine := strings.Replace(string(source), `"operator.h"`, "<lathe/operator.h>", 1)
	for name, data := range map[string]string{"include/lathe/operator.h": string(header), "mine.c": mine} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "mine.so")
	cc(t, "-O3", "-shared", "-fPIC", "-I", filepath.Join(dir, "include"), "-o", out, filepath.Join(dir, "mine.c"), "-lm")
	if names := exported(t, out); !slices.Contains(names, "lathe_op_silu_mul") {
		t.Errorf("it exports %q", names)
	}
}

// exported lists the names that a shared library defines for others, sorted.
func exported(t *testing.T, path string) []string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_BIND(s.Info) != elf.STB_LOCAL {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

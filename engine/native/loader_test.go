//go:build cgo

package native_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"lathe/engine/native"
)

// build compiles the test plug-in as backend.h tells its reader to, with extra
// flags after that, and returns the library's path.
func build(t testing.TB, name string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	compile(t, out, append([]string{"-fvisibility=hidden", "-Wl,-z,defs"}, flags...)...)
	return out
}

func compile(t testing.TB, out string, flags ...string) {
	t.Helper()
	cxx := os.Getenv("CXX")
	if cxx == "" {
		cxx = "c++"
	}
	args := append([]string{"-std=c++17", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-I.", "-o", out,
		"testdata/plugin/plugin.cc"}, flags...)
	if msg, err := exec.Command(cxx, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", cxx, strings.Join(args, " "), err, msg)
	}
}

// calls asks a plug-in how often it was asked.
func calls(t *testing.T, b *native.Backend) int {
	t.Helper()
	raw, err := b.DeviceInfo(-1)
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Name  string
		Calls int
	}
	if err := json.Unmarshal(raw, &info); err != nil || info.Name != b.Name() {
		t.Fatalf("%s says %s: %v", b.Name(), raw, err)
	}
	return info.Calls
}

func mustOpen(t testing.TB, path string) *native.Backend {
	t.Helper()
	b, err := native.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTwoPluginsAtOnce: two builds of one source, open in one process, share
// nothing, not even a template's static.
func TestTwoPluginsAtOnce(t *testing.T) {
	pathOne := build(t, "one.so", `-DPLUGIN_NAME="one"`)
	one, two := mustOpen(t, pathOne), mustOpen(t, build(t, "two.so", `-DPLUGIN_NAME="two"`))
	if one.Name() != "one" || two.Name() != "two" {
		t.Fatalf("names %q and %q", one.Name(), two.Name())
	}
	for want := 1; want <= 3; want++ {
		if n := calls(t, one); n != want {
			t.Errorf("one counts %d, want %d", n, want)
		}
	}
	if n := calls(t, two); n != 1 {
		t.Errorf("two counts %d: it shares state with one", n)
	}
	data, err := os.ReadFile(pathOne)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if one.SHA256() != hex.EncodeToString(sum[:]) || two.SHA256() == one.SHA256() {
		t.Errorf("digests %s and %s", one.SHA256(), two.SHA256())
	}
	if one.Path() != pathOne || one.BuildInfo() != `{"plugin":true}` {
		t.Errorf("path %q, build info %q", one.Path(), one.BuildInfo())
	}
	if names := exported(t, pathOne); !slices.Equal(names, []string{"lathe_backend_get"}) {
		t.Errorf("a plug-in built as backend.h says exports %q", names)
	}
	again := mustOpen(t, pathOne)
	if n := calls(t, again); n != 4 {
		t.Errorf("the same path opened again counts %d, want the same library's 4", n)
	}
}

// TestPluginsWithoutHiddenVisibility shows that the test above can fail: without
// the flag the second build sees the first one's static.
func TestPluginsWithoutHiddenVisibility(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("unique symbols are ELF's")
	}
	one := mustOpen(t, build(t, "one.so", `-DPLUGIN_NAME="loud one"`, "-fvisibility=default"))
	two := mustOpen(t, build(t, "two.so", `-DPLUGIN_NAME="loud two"`, "-fvisibility=default"))
	if first, second := calls(t, one), calls(t, two); first != 1 || second != 2 {
		t.Skipf("this toolchain keeps them apart anyway (%d, %d)", first, second)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	loose := filepath.Join(dir, "undefined.so")
	compile(t, loose, "-fvisibility=hidden", "-DPLUGIN_UNDEFINED")
	whole, err := os.ReadFile(build(t, "whole.so"))
	if err != nil {
		t.Fatal(err)
	}
	noSections := bytes.Clone(whole[:len(whole)/8]) // only its segments tell that it is cut
	clear(noSections[0x28:0x30])                    // e_shoff
	clear(noSections[0x3A:0x40])                    // e_shentsize, e_shnum, e_shstrndx
	cases := map[string]struct {
		path string
		want []string
	}{
		"wrong ABI":        {build(t, "abi.so", "-DPLUGIN_ABI=2"), []string{"built for ABI 2, this lathe speaks 1"}},
		"wrong size":       {build(t, "size.so", "-DPLUGIN_SIZE=8"), []string{"table has 8 bytes", "backend.h"}},
		"null entry":       {build(t, "entry.so", "-DPLUGIN_NULL_ENTRY"), []string{"copy_pages", "NULL"}},
		"null table":       {build(t, "table.so", "-DPLUGIN_NULL_TABLE"), []string{"lathe_backend_get returned NULL"}},
		"no symbol":        {build(t, "symbol.so", "-DPLUGIN_NO_SYMBOL"), []string{"no symbol lathe_backend_get"}},
		"undefined symbol": {loose, []string{"undefined symbol: lathe_test_exists_nowhere"}},
		"not an ELF file":  {write("text.so", strings.Repeat("not a library\n", 100)), []string{"invalid ELF header"}},
		"empty file":       {write("empty.so", ""), []string{"file too short"}},
		"cut short":        {write("cut.so", string(whole[:len(whole)/8])), []string{"not a whole ELF file"}},
		"no sections":      {write("sections.so", string(noSections)), []string{"a segment ends at byte"}},
		"header only":      {write("header.so", string(whole[:64])), []string{"not a whole ELF file"}},
		"a directory":      {dir, []string{"is a directory"}},
		"missing":          {filepath.Join(dir, "missing.so"), []string{"no such file"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b, err := native.Open(c.path)
			if err == nil {
				t.Fatalf("opened %s", b.Name())
			}
			for _, want := range append(c.want, c.path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: does not say %q", err, want)
				}
			}
			if n := strings.Count(err.Error(), c.path); n != 1 {
				t.Errorf("%v: names the file %d times", err, n)
			}
			if name == "missing" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v is not ErrNotExist", err)
			}
		})
	}
}

// TestOpenReplacedFile: a library rebuilt under the name of one that is open would
// be hashed anew but answered by the old code.
func TestOpenReplacedFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells that a mapped file is gone")
	}
	path := build(t, "same.so", `-DPLUGIN_NAME="before"`)
	before := mustOpen(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	compile(t, path, "-fvisibility=hidden", `-DPLUGIN_NAME="after"`)
	after, err := native.Open(path)
	if err == nil {
		t.Fatalf("opened %q where %q is still mapped", after.Name(), before.Name())
	}
	if !strings.Contains(err.Error(), "another name") {
		t.Errorf("%v: does not say what to do", err)
	}
}

// TestOpenRelativePath: a name without a slash is a file of this directory, never
// a search of the library path.
func TestOpenRelativePath(t *testing.T) {
	path := build(t, "relative.so", `-DPLUGIN_NAME="relative"`)
	t.Chdir(filepath.Dir(path))
	if b := mustOpen(t, "relative.so"); b.Name() != "relative" || b.Path() != "relative.so" {
		t.Errorf("%q at %q", b.Name(), b.Path())
	}
}

//go:build cgo

package native_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/engine/native"
)

// operatorLibrary compiles a file of testdata/operators as a user would, and opens it.
func operatorLibrary(t testing.TB, source string, flags ...string) *native.Library {
	t.Helper()
	l, err := native.OpenLibrary(operatorFile(t, source, flags...))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func operatorFile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "mine.so")
	cc(t, append([]string{"-O3", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I.", "-o", out,
		filepath.Join("testdata/operators", source), "-lm"}, flags...)...)
	return out
}

// TestLibraryFindsOperators: a library of all unfused operators serves every name of
// them, a role of gemm by the one function, and keeps the digest of its file.
func TestLibraryFindsOperators(t *testing.T) {
	l := operatorLibrary(t, "unfused.c", "-DFAULT=4")
	data, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); l.SHA256() != hex.EncodeToString(sum[:]) {
		t.Errorf("digest %s", l.SHA256())
	}
	gemm, err := l.Override("gemm")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range native.ReplaceableOps() {
		o, err := l.Override(name)
		if native.ReplacedBy(name)[0].Fused() {
			refused(t, err, native.ErrInvalid, "no symbol lathe_op_"+name, "it exports lathe_op_abi, lathe_op_attn_decode")
			continue
		}
		if err != nil || o.Op != name || o.Kind != native.OverrideFunction || o.Function == 0 || o.Workspace == 0 || o.Supports != 0 {
			t.Errorf("%s: %+v %v", name, o, err)
		}
		if strings.HasPrefix(name, "gemm") && o.Function != gemm.Function {
			t.Errorf("%s is another function than gemm", name)
		}
	}
}

func TestLibraryRefuses(t *testing.T) {
	l := operatorLibrary(t, "unfused.c")
	for _, name := range []string{"embed", "attn_prefill", "gemm.", "gemm.up", "", "rmsnorm ", strings.Repeat("x", 5000)} {
		_, err := l.Override(name)
		refused(t, err, native.ErrInvalid, "does not exist or cannot be replaced", l.Path())
	}
	write := func(code string) string {
		t.Helper()
		source := filepath.Join(t.TempDir(), "odd.c")
		if err := os.WriteFile(source, []byte("#include \"operator.h\"\n"+code), 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "odd.so")
		cc(t, "-shared", "-fPIC", "-I.", "-o", out, source)
		return out
	}
	for name, c := range map[string]struct{ path, want string }{
		"another ABI":      {write("const uint32_t lathe_op_abi = 7;"), "built for operator ABI 7, this lathe speaks 1"},
		"undefined symbol": {write("int nowhere(void); int lathe_op_rmsnorm(void) { return nowhere(); }"), "undefined symbol: nowhere"},
		"not a library":    {"testdata/operators/unfused.c", "invalid ELF header"},
		"missing":          {filepath.Join(t.TempDir(), "missing.so"), "no such file"},
		"a directory":      {t.TempDir(), "is a directory"},
	} {
		_, err := native.OpenLibrary(c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), c.path) != 1 {
			t.Errorf("%s: %v, want %q and the file once", name, err, c.want)
		}
	}
	plain, err := native.OpenLibrary(write("int lathe_op_silu(void) { return 0; } int mine(void) { return 1; }"))
	if err != nil {
		t.Fatalf("a library without lathe_op_abi: %v", err)
	}
	_, err = plain.Override("silu_mul")
	refused(t, err, native.ErrInvalid, "no symbol lathe_op_silu_mul; it exports lathe_op_silu")
	empty, err := native.OpenLibrary(write("int mine(void) { return 1; }"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = empty.Override("silu_mul")
	refused(t, err, native.ErrInvalid, "it exports no lathe_op_ function")
}

// TestOperatorNames: every operator that can be replaced has a name in the list, once,
// and "gemm" is its five roles.
func TestOperatorNames(t *testing.T) {
	names := native.ReplaceableOps()
	for o := range native.Ops {
		want := []native.Op{o}
		if o == native.OpEmbed || o == native.OpAttnPrefill {
			want = nil
		}
		if got := native.ReplacedBy(o.String()); !slices.Equal(got, want) || slices.Contains(names, o.String()) != (want != nil) {
			t.Errorf("%s replaces %v", o, got)
		}
	}
	var roles []native.Op
	for _, name := range names {
		if strings.HasPrefix(name, "gemm.") {
			roles = append(roles, native.ReplacedBy(name)...)
		}
	}
	if got := native.ReplacedBy("gemm"); len(names) != 15 || len(roles) != 5 || !slices.Equal(got, roles) {
		t.Errorf("%q, gemm replaces %v", names, got)
	}
	if native.ReplacedBy("nothing") != nil || native.Op(16).String() != "operator 16" || native.Op(-1).Fused() {
		t.Error("names that do not exist")
	}
}

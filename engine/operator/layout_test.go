package operator

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

// headerName is a field's name in operator.h.
func headerName(field string) string {
	switch field {
	case "Scale":
		return "sm_scale"
	case "QKVDType":
		return "qkv_dtype"
	}
	field = strings.NewReplacer("KVDType", "KvDtype", "DType", "Dtype", "KVH", "KvH").Replace(field)
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rune(field[i-1])) || i+1 < len(field) && unicode.IsLower(rune(field[i+1]))) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// TestArgumentLayout compiles operator.h and compares the size of each struct and the offset of each
// field with what the argument structs encode to.
func TestArgumentLayout(t *testing.T) {
	var program strings.Builder
	program.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include \"operator.h\"\nint main(void) {\n")
	var want strings.Builder
	for name, v := range map[string]any{"lathe_attn_decode_args": attnDecodeArgs{}, "lathe_rmsnorm_args": rmsnormArgs{}, "lathe_gemm_args": gemmArgs{},
		"lathe_rope_append_args": ropeAppendArgs{}, "lathe_silu_mul_args": siluMulArgs{}, "lathe_norm_qkv_rope_append_args": normQKVRopeAppendArgs{},
		"lathe_norm_gate_up_silu_args": normGateUpSiluArgs{}, "lathe_norm_head_argmax_args": normHeadArgmaxArgs{}} {
		fmt.Fprintf(&program, "printf(\"%s %%zu\\n\", sizeof(%s));\n", name, name)
		fmt.Fprintf(&want, "%s %d\n", name, sizeOf(v))
		at := uint32(0)
		for i := range reflect.TypeOf(v).NumField() {
			f := reflect.TypeOf(v).Field(i)
			if f.Name != "_" {
				fmt.Fprintf(&program, "printf(\"%s.%s %%zu\\n\", offsetof(%s, %s));\n", name, headerName(f.Name), name, headerName(f.Name))
				fmt.Fprintf(&want, "%s.%s %d\n", name, headerName(f.Name), at)
			}
			at += sizeOf(reflect.Zero(f.Type).Interface())
		}
	}
	program.WriteString("return 0; }\n")
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	if err := os.WriteFile(source, []byte(program.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-std=c11", "-I", "../native", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	got, err := exec.Command(binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("operator.h has\n%sthe check encodes\n%s", got, want.String())
	}
}

package safetensors

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

func TestP199_BF16IsWidenedExactly(t *testing.T) {
	c := opened(t, file(t, SingleFile, one("w", "BF16", "[2,2]", []byte{0x80, 0x3f, 0x40, 0xc0, 0x80, 0x7f, 0xc0, 0x7f})), Options{})
	w, _ := c.Tensor("w")
	v, err := w.Float32()
	if err != nil || len(v) != 4 || v[0] != 1 || v[1] != -3 || !math.IsInf(float64(v[2]), 1) || v[3] == v[3] {
		t.Errorf("%v, %v", v, err)
	}
	all := make([]byte, 2*65536)
	for i := range 65536 {
		binary.LittleEndian.PutUint16(all[2*i:], uint16(i))
	}
	c = opened(t, file(t, SingleFile, one("w", "BF16", "[65536]", all)), Options{})
	w, _ = c.Tensor("w")
	if v, err = w.Float32(); err != nil {
		t.Fatal(err)
	}
	for i, f := range v {
		if math.Float32bits(f) != uint32(i)<<16 {
			t.Fatalf("pattern %04x: %08x", i, math.Float32bits(f))
		}
	}
}

func TestF16IsWidenedExactly(t *testing.T) {
	for i := range 65536 {
		sign, exp, frac := 1-2*float64(i>>15), i>>10&31, float64(i&1023)
		want := sign * math.Ldexp(1+frac/1024, exp-15)
		switch exp {
		case 0:
			want = sign * math.Ldexp(frac/1024, -14)
		case 31:
			want = sign * math.Inf(1)
			if frac != 0 {
				want = math.NaN()
			}
		}
		got := float64(f16ToFloat32(uint16(i)))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != math.Signbit(want) && !math.IsNaN(want) {
			t.Fatalf("pattern %04x: %g, want %g", i, got, want)
		}
	}
}

func TestP200_FP8IsNeverReadUnscaled(t *testing.T) {
	for _, dtype := range []string{"F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "U8", "I64", "F64"} {
		data := make([]byte, elementBits(dtype)/8)
		data[0] = 0x38
		path := file(t, SingleFile, one("model.w", dtype, "[1]", data))
		w, ok := opened(t, path, Options{}).Tensor("model.w")
		if !ok || w.DType != dtype {
			t.Fatalf("%+v", w)
		}
		_, err := w.Float32()
		wantFault(t, err, DType, path, "model.w", dtype, "supported: BF16, F16, F32")
	}
}

func TestDTypeNames(t *testing.T) {
	for _, name := range dtypeNames() {
		if elementBits(name) == 0 {
			t.Errorf("%s has no size", name)
		}
	}
	for _, name := range []string{"", "BF17", "bf16", "F8", "BF16 "} {
		_, err := OpenFile(file(t, SingleFile, one("w", name, "[0]", nil)))
		wantFault(t, err, DType, `"w"`, name, strings.Join(dtypeNames(), ", "))
	}
}

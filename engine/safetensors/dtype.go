package safetensors

import (
	"encoding/binary"
	"math"
)

// dtypeNames lists the dtypes of the format (reference library 0.8).
func dtypeNames() []string {
	return []string{"BOOL", "F4", "F6_E2M3", "F6_E3M2", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ",
		"F8_E5M2FNUZ", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64"}
}

// elementBits is the size of one element in bits; 0 for a dtype that does not exist.
func elementBits(dtype string) int {
	switch dtype {
	case "F4":
		return 4
	case "F6_E2M3", "F6_E3M2":
		return 6
	case "BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ":
		return 8
	case "I16", "U16", "F16", "BF16":
		return 16
	case "I32", "U32", "F32":
		return 32
	case "I64", "U64", "F64", "C64":
		return 64
	}
	return 0
}

// Float32 widens the tensor to float32, which is exact for the three dtypes it
// takes: F32, F16 and BF16. Any other dtype is an error of class dtype that names
// them; in particular an FP8 tensor is never read without its scales. It
// allocates 4 bytes an element: it is meant for inspection and for tests, not for
// loading a model.
func (t Tensor) Float32() ([]float32, error) {
	switch t.DType {
	case "F32":
		out := make([]float32, len(t.Data)/4)
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
		}
		return out, nil
	case "F16", "BF16":
		widen := bf16ToFloat32
		if t.DType == "F16" {
			widen = f16ToFloat32
		}
		out := make([]float32, len(t.Data)/2)
		for i := range out {
			out[i] = widen(binary.LittleEndian.Uint16(t.Data[2*i:]))
		}
		return out, nil
	}
	return nil, at(t.File, fault(DType, "tensor %s: dtype %s cannot be read as float32; supported: BF16, F16, F32", quote(t.Name), t.DType))
}

// bf16ToFloat32 puts the 16 bits on top: exact, NaN payloads included.
func bf16ToFloat32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// f16ToFloat32 widens IEEE binary16, subnormals, infinities and NaN included.
func f16ToFloat32(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exp, frac := uint32(h>>10)&0x1F, uint32(h)&0x3FF
	switch exp {
	case 0:
		f := float32(frac) * (1.0 / (1 << 24)) // exact: 10 bits and a power of two
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1F:
		return math.Float32frombits(sign | 0x7F800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

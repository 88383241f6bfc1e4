//go:build cgo

package native_test

import (
	"encoding/binary"
	"math"
	"testing"
	"unsafe"

	"lathe/engine/native"
)

// TestRunOperator: silu_mul alone on a session's threads, ours and a user's.
func TestRunOperator(t *testing.T) {
	const rows, ffn = 2, 3
	b, err := native.CPU()
	if err != nil {
		t.Fatal(err)
	}
	o := options(16, 2)
	o.Deterministic = true // the test kernels insist on it
	s := open(t, newTiny(smallDesc(), 1).open(t, b), o)
	memory := native.RoofBuffer(256) // on the heap, where nothing moves
	at := uintptr(unsafe.Pointer(&memory[0]))
	in := []float32{0, 1, -2, 3, 4, 5, 8, -8, 0.5, 1, 1, 2}
	for i, v := range in {
		binary.LittleEndian.PutUint32(memory[64+4*i:], math.Float32bits(v))
	}
	args := memory[:0]
	for _, v := range []any{uint32(56), int32(rows), int32(ffn), int32(0), int32(0), int32(0), uint64(at + 64), int64(2 * ffn), uint64(at + 128), int64(ffn)} {
		args, err = binary.Append(args, binary.LittleEndian, v)
		if err != nil {
			t.Fatal(err)
		}
	}
	mine, err := operatorLibrary(t, "unfused.c").Override("silu_mul")
	if err != nil {
		t.Fatal(err)
	}
	for name, function := range map[string]uintptr{"ours": 0, "a user's": mine.Function} {
		clear(memory[128:])
		ns := []int64{-1, -1, -1}
		if err := s.RunOperator("silu_mul", at, function, native.CacheWarm, ns); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, v := range ns {
			if v < 0 {
				t.Errorf("%s: call %d took %d ns", name, i, v)
			}
		}
		for i := range rows * ffn {
			gate, up := float64(in[i/ffn*2*ffn+i%ffn]), float64(in[i/ffn*2*ffn+ffn+i%ffn])
			want := gate / (1 + math.Exp(-gate)) * up
			if got := float64(math.Float32frombits(binary.LittleEndian.Uint32(memory[128+4*i:]))); math.Abs(got-want) > 1e-5 {
				t.Errorf("%s: value %d is %g, want %g", name, i, got, want)
			}
		}
	}
	refused(t, s.RunOperator("rmsnorm", at, 0, native.CacheWarm, make([]int64, 1)), native.ErrInvalid, "56 bytes", "expects 88")
	refused(t, s.RunOperator("silu_mul", at, 0, native.CacheWarm, nil), native.ErrInvalid, "0 repetitions")
	refused(t, s.RunOperator("silu_mul", 0, 0, native.CacheWarm, make([]int64, 1)), native.ErrInvalid, "args is NULL")
	oracle := open(t, newTiny(smallDesc(), 1).open(t, reference(t)), options(16, 1))
	refused(t, oracle.RunOperator("silu_mul", at, 0, native.CacheWarm, make([]int64, 1)), native.ErrUnsupported, "runs no operator alone")
	s.Close()
	refused(t, s.RunOperator("silu_mul", at, 0, native.CacheWarm, make([]int64, 1)), native.ErrState, "session is closed")
}

//go:build unix

package operator

import (
	"context"
	"slices"
	"testing"

	"lathe/engine/native"
)

// smallShape is a step of a very small model.
func smallShape() Shape {
	return Shape{Hidden: 64, FFN: 96, QHeads: 4, KVHeads: 2, HeadDim: 32, Vocab: 256, Batch: 3, Context: 20, PageSize: 8,
		KV: native.BF16, Products: native.F32}
}

func prepare(t *testing.T, op, file string) (*Bench, Options) {
	t.Helper()
	shape := smallShape()
	o := Options{Op: op, File: file, Self: self, Seeds: 1, Timed: &shape, Threads: 2, ISA: "portable"}
	b, v, err := Prepare(context.Background(), o)
	if err != nil || b == nil {
		t.Fatalf("seed %d: %v: %s", v.Seed, err, v.Reason())
	}
	return b, o
}

// TestEveryOperatorIsTimed calls our own operator of every slot over copies, whole and streaming.
func TestEveryOperatorIsTimed(t *testing.T) {
	for _, op := range Names() {
		if op == "gemm" {
			continue // its roles
		}
		b, o := prepare(t, op, "")
		all, streamed := b.Call()
		if all == 0 || streamed > all {
			t.Errorf("%s: %d bytes, %d of them streamed", op, all, streamed)
		}
		const copies = 5
		if err := b.Copies(copies); err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		if err := b.Walk(copies); err != nil {
			t.Errorf("%s: %v", op, err)
		}
		for _, streaming := range []bool{false, true} {
			ns, err := b.Time(true, streaming, []int{0, 1, 2, 3, 4, 0}, 2)
			if err != nil || len(ns) != 3 || slices.Min(ns) <= 0 {
				t.Errorf("%s: %v, %v", op, ns, err)
			}
		}
		if _, err := b.Time(true, false, []int{copies}, 1); err == nil {
			t.Errorf("%s: copy %d of %d was timed", op, copies, copies)
		}
		if v, err := b.Recheck(context.Background(), o); err != nil || !v.OK {
			t.Errorf("%s: %v", op, err)
		}
		if said := b.Close(); len(said) > 0 {
			t.Errorf("%s: %v", op, said)
		}
	}
}

// TestBytesOfACall counts what the operators of the small shape must move.
func TestBytesOfACall(t *testing.T) {
	s := smallShape()
	for op, want := range map[string][2]uint64{
		"gemm.down":   {3*96*4 + 64*96*2 + 3*64*4, 64 * 96 * 2},
		"o_add":       {3*128*4 + 64*128*2 + 2*3*64*4, 64 * 128 * 2}, // the residual is read and written
		"silu_mul":    {3*2*96*4 + 3*96*4, 0},
		"rmsnorm":     {3*64*4 + 64*4 + 3*64*4, 0},
		"attn_decode": {2*3*20*2*32*2 + 2*3*4*32*4 + 3*4 + 9*4, 2 * 3 * 20 * 2 * 32 * 2}, // K and V of 20 tokens
	} {
		got, err := Describe(op, s)
		if err != nil || got.Bytes != want[0] || got.Streamed != want[1] {
			t.Errorf("%s: %+v, %v, want %v", op, got, err, want)
		}
	}
	if _, err := Describe("gemm", s); err == nil {
		t.Error("gemm without a role was described")
	}
}

// TestRecheckAfterTiming finds a kernel that passes its check and goes wrong after many calls.
func TestRecheckAfterTiming(t *testing.T) {
	b, o := prepare(t, "silu_mul", compile(t, "testdata/late/tires.c"))
	defer b.Close()
	if err := b.Copies(2); err != nil {
		t.Fatal(err)
	}
	if v, err := b.Recheck(context.Background(), o); err != nil || !v.OK {
		t.Fatalf("before: %v: %s", err, v.Reason())
	}
	if _, err := b.Time(false, false, slices.Repeat([]int{0, 1}, 3000), 1); err != nil {
		t.Fatal(err)
	}
	if v, err := b.Recheck(context.Background(), o); err != nil || v.OK {
		t.Errorf("after: %v, %+v", err, v)
	}
}

// TestCrashWhileTimed is a finding.
func TestCrashWhileTimed(t *testing.T) {
	b, _ := prepare(t, "silu_mul", compile(t, "testdata/late/falls.c"))
	defer b.Close()
	if err := b.Copies(1); err != nil {
		t.Fatal(err)
	}
	_, err := b.Time(false, false, make([]int, 6000), 1)
	if f, ok := AsFinding(err); !ok || f.Code != Crashed || f.Detail != "SIGSEGV while it was timed" {
		t.Errorf("%v", err)
	}
}

// TestModelsCallIsChecked: a kernel that refuses the call of a decode step is not timed.
func TestModelsCallIsChecked(t *testing.T) {
	shape := smallShape()
	shape.HeadDim = 512 // above what the starting file takes
	source := writeTemplate(t, "norm_qkv_rope_append")
	o := Options{Op: "norm_qkv_rope_append", File: compile(t, source), Self: self, Seeds: 1, Timed: &shape}
	b, v, err := Prepare(context.Background(), o)
	if err != nil || b != nil || v.OK || v.Findings[0].Code != SupportsNothing {
		t.Errorf("%v, %+v", err, v)
	}
}

// TestModelsCallsAreChecked: a kernel that is right in every edge case and wrong in the model's own
// widths is found; a very large matrix is cut.
func TestModelsCallsAreChecked(t *testing.T) {
	shape := smallShape()
	shape.FFN = 7777
	lib := compile(t, "testdata/late/wrong_width.c")
	if v := check(t, "silu_mul", lib, func(o *Options) { o.Seeds = 1 }); !v.OK {
		t.Fatalf("seed %d: %s", v.Seed, v.Reason())
	}
	v := check(t, "silu_mul", lib, func(o *Options) { o.Seeds, o.Model = 1, &shape })
	if v.OK || v.Findings[0].Code != WrongNumbers && v.Findings[0].Code != WrongPart {
		t.Errorf("seed %d: %s", v.Seed, v.Reason())
	}
	big := Shape{Hidden: 4096, FFN: 14336, QHeads: 32, KVHeads: 8, HeadDim: 128, Vocab: 128256, Batch: 1, Context: 8, PageSize: 8, KV: native.BF16, Products: native.BF16}
	for op, want := range map[string]int{"gemm.head": 8192, "gemm.gate_up": 8192, "gemm.down": 2304, "gemm.o": 4096} {
		calls, cut, err := big.calls(op)
		if err != nil || len(calls) != 1 || calls[0].(gemmSpec).n != want || cut != (op != "gemm.o") {
			t.Errorf("%s: %v, %v, %v", op, calls, cut, err)
		}
	}
	if calls, _, err := big.calls("gemm"); err != nil || len(calls) != 5 {
		t.Errorf("gemm: %d calls, %v", len(calls), err)
	}
}

package engine

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/engine/native"
)

// builtins are our own operators in the slots of these.
func builtins(ops ...string) []native.Override {
	var list []native.Override
	for _, op := range ops {
		list = append(list, native.Override{Kind: native.OverrideBuiltin, Op: op})
	}
	return list
}

// cpuPaths are the paths whose operators can be replaced.
func cpuPaths() []path {
	return slices.DeleteFunc(everyPath(), func(p path) bool { return p.name == "reference" })
}

// userKernels compiles native's test operators as a user would.
func userKernels(t *testing.T, flags ...string) *native.Library {
	t.Helper()
	out := filepath.Join(t.TempDir(), "mine.so")
	name := os.Getenv("CC")
	if name == "" {
		name = "cc"
	}
	cc := exec.Command(name, append([]string{"-O3", "-shared", "-fPIC", "-I", "native", "-o", out,
		"native/testdata/operators/unfused.c", "-lm"}, flags...)...)
	if msg, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cc, err, msg)
	}
	l, err := native.OpenLibrary(out)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func override(t *testing.T, l *native.Library, op string) []native.Override {
	t.Helper()
	o, err := l.Override(op)
	if err != nil {
		t.Fatal(err)
	}
	return []native.Override{o}
}

// unfusedOps are the operators that unfused.c has.
func unfusedOps() []string {
	return slices.DeleteFunc(native.ReplaceableOps(), func(op string) bool { return native.ReplacedBy(op)[0].Fused() })
}

func float32s(bits []uint32) []float32 {
	out := make([]float32, len(bits))
	for i, b := range bits {
		out[i] = math.Float32frombits(b)
	}
	return out
}

// apart is the largest difference of two logit lists, and its root mean square.
func apart(a, b []uint32) (largest, rms float64) {
	x, y := float32s(a), float32s(b)
	for i := range x {
		d := math.Abs(float64(x[i]) - float64(y[i]))
		largest = max(largest, d)
		rms += d * d
	}
	return largest, math.Sqrt(rms / float64(len(x)))
}

// forcedBits runs prompts with the next tokens given, and collects every logit's bits.
func forcedBits(t *testing.T, e *Engine, prompts [][]int32, steps int) []uint32 {
	t.Helper()
	prefilled(t, e, prompts, steps)
	var out []uint32
	for i := range steps {
		next := make([]int32, len(prompts))
		for s := range next {
			next[s] = int32((7*i + 3*s) % e.model.Config.Vocab)
		}
		e.Force(next)
		_, bits := decodeBits(t, e, 1)
		out = append(out, bits...)
	}
	return out
}

// TestOverridesAgainstBuiltin: a user's operator, written from operator.h alone, in the
// engine: its logits are the builtin's within rounding, and those of a wrong one are
// not. Both sessions share one set of weights.
func TestOverridesAgainstBuiltin(t *testing.T) {
	right, wrong := userKernels(t), userKernels(t, "-DFAULT=1")
	r := rand.New(rand.NewPCG(3, 4))
	for _, p := range cpuPaths() {
		t.Run(p.name, func(t *testing.T) {
			m := p.seeded(t)
			prompts := [][]int32{randomPrompt(r, 70, m.Config.Vocab), {5}, randomPrompt(r, 9, m.Config.Vocab)}
			run := func(list []native.Override) []uint32 {
				e := p.engine(t, m, Options{Sequences: 3, Context: 128, Threads: 2, PageSize: 16, ChunkRows: 33, Overrides: list})
				defer e.Close()
				return forcedBits(t, e, prompts, 8)
			}
			scale := 0.0
			for _, v := range float32s(run(nil)) {
				scale = max(scale, math.Abs(float64(v)))
			}
			for _, op := range unfusedOps() {
				want := run(builtins(op))
				largest, rms := apart(run(override(t, right, op)), want)
				if largest > 0.02*scale || rms > 0.003*scale {
					t.Errorf("%s: logits differ by %g, rms %g, of %g", op, largest, rms, scale)
				}
				if largest, _ := apart(run(override(t, wrong, op)), want); largest < 0.05*scale {
					t.Errorf("%s: a wrong operator changes the logits by %g only", op, largest)
				}
			}
		})
	}
}

// TestOverridesRowBits: the determinism rule holds with operators replaced.
func TestOverridesRowBits(t *testing.T) {
	l := userKernels(t)
	for _, p := range cpuPaths() {
		t.Run(p.name, func(t *testing.T) {
			m := p.seeded(t)
			r := rand.New(rand.NewPCG(1, 2))
			prompt := randomPrompt(r, 50, m.Config.Vocab)
			batch := [][]int32{randomPrompt(r, 20, m.Config.Vocab), prompt, {3}, randomPrompt(r, 61, m.Config.Vocab)}
			for _, list := range [][]native.Override{builtins("gemm", "attn_decode", "rmsnorm"), builtins("norm_head_argmax", "o_add"),
				override(t, l, "attn_decode"), override(t, l, "rmsnorm")} {
				want := rowBits(t, m, p, Options{Threads: 1, Overrides: list}, [][]int32{prompt}, 0, 5)
				for _, o := range []Options{{PageSize: 1}, {PageSize: 256, Threads: 3}, {ChunkRows: 12}} {
					o.Overrides = list
					if !slices.Equal(rowBits(t, m, p, o, [][]int32{prompt}, 0, 5), want) {
						t.Errorf("%s alone, %+v: the row's bits changed", list[0].Op, o)
					}
					o.ChunkRows = 4096 // the prefill's logits of every sequence
					if !slices.Equal(rowBits(t, m, p, o, batch, 1, 5), want) {
						t.Errorf("%s among others, %+v: the row's bits changed", list[0].Op, o)
					}
				}
			}
		})
	}
}

// TestOverridesShareWeights: two sessions of one model hold one row-major copy, and
// the last one frees it.
func TestOverridesShareWeights(t *testing.T) {
	p := cpuPaths()[0]
	m := p.seeded(t)
	plain := m.WeightBytes()
	c := m.Config
	open := func(op string) *Engine {
		return p.engine(t, m, Options{Sequences: 1, Context: 32, Overrides: builtins(op)})
	}
	a := open("gemm.down")
	one := a.Memory().Weights
	if want := plain + uint64(2*c.Layers*c.Hidden*c.FFN); one < want || one > want+1<<13 {
		t.Errorf("%d bytes with a row-major copy of down, want %d", one, want)
	}
	b := open("down_add")
	if n := b.Memory().Weights; n != one {
		t.Errorf("%d bytes with a second session, want %d", n, one)
	}
	silu := open("silu_mul")
	if n := silu.Memory().Weights; n != one {
		t.Errorf("%d bytes after replacing an operator that multiplies by no weights", n)
	}
	a.Close()
	if n := b.Memory().Weights; n != one {
		t.Errorf("%d bytes after one of two sessions closed, want %d", n, one)
	}
	b.Close()
	if n := silu.Memory().Weights; n != plain {
		t.Errorf("%d bytes after both closed, want %d", n, plain)
	}
}

// TestOverridesFail: what a user's library may do wrong is an error that names the
// operator, and the engine goes on after it.
func TestOverridesFail(t *testing.T) {
	p := cpuPaths()[0]
	m := p.seeded(t)
	fails, refuses, works := userKernels(t, "-DFAULT=2"), userKernels(t, "-DFAULT=3"), userKernels(t, "-DFAULT=4")
	for _, op := range unfusedOps() {
		e := p.engine(t, m, Options{Sequences: 2, Context: 32, Threads: 2, Overrides: override(t, fails, op)})
		if err := e.Begin([][]int32{{1}, {2}}, 4); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := errors.Join(e.Prefill(), e.Wait())
			if err == nil || !strings.Contains(err.Error(), "operator "+native.ReplacedBy(op)[0].String()) || !strings.Contains(err.Error(), "returned 7") {
				t.Errorf("%s: %v", op, err)
			}
			if err := e.Begin([][]int32{{1}, {2}}, 4); err != nil {
				t.Fatal(err)
			}
		}
		_, err := m.NewEngine(Options{Sequences: 1, Context: 32, ISA: p.isa, KV: p.kv, Overrides: override(t, refuses, op)})
		if !errors.Is(err, native.ErrUnsupported) || !strings.Contains(err.Error(), "_supports says that it cannot run") {
			t.Errorf("%s: %v", op, err)
		}
		e = p.engine(t, m, Options{Sequences: 2, Context: 64, Threads: 2, Overrides: override(t, works, op)})
		plain := p.engine(t, m, Options{Sequences: 2, Context: 64, Threads: 2})
		if n := e.Memory().Workspace - plain.Memory().Workspace; n < 4097 {
			t.Errorf("%s: %d bytes of workspace where 4097 were asked for", op, n)
		}
		forcedBits(t, e, [][]int32{{1, 2, 3}, {4}}, 40)
	}
}

// TestOverridesRefused: names and combinations that mean nothing.
func TestOverridesRefused(t *testing.T) {
	p := cpuPaths()[0]
	m := p.seeded(t)
	for want, list := range map[string][]native.Override{
		"operator \"embed\" does not exist":                     builtins("embed"),
		"gemm.down is replaced twice":                           builtins("gemm.down", "gemm"),
		"rmsnorm is replaced twice":                             builtins("rmsnorm", "rmsnorm"),
		"norm_gate_up_silu and silu_mul would both":             builtins("silu_mul", "norm_gate_up_silu"),
		"o_add and gemm.o would both":                           builtins("o_add", "gemm.o"),
		"norm_qkv_rope_append and rmsnorm would both":           builtins("norm_qkv_rope_append", "rmsnorm"),
		"operator silu_mul: the function is NULL":               {{Kind: native.OverrideFunction, Op: "silu_mul"}},
		"operator silu_mul: the image is empty":                 {{Kind: native.OverrideImage, Op: "silu_mul"}},
		"operator silu_mul: the cpu backend runs no cubin":      {{Kind: native.OverrideImage, Op: "silu_mul", Image: []byte{1}}},
		"operator silu_mul: override kind 9 does not exist":     {{Kind: 9, Op: "silu_mul"}},
		"operator \"" + strings.Repeat("x", 64) + "\" does not": builtins(strings.Repeat("x", 9999)),
	} {
		_, err := m.NewEngine(Options{Sequences: 1, Context: 32, ISA: p.isa, KV: p.kv, Overrides: list})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	reference := paths()[0].seeded(t)
	_, err := reference.NewEngine(Options{Sequences: 1, Context: 32, Overrides: builtins("rmsnorm")})
	if !errors.Is(err, native.ErrUnsupported) || !strings.Contains(err.Error(), "checked against") {
		t.Error(err)
	}
}

// TestOverridesAllocateNothing holds the rule of a measured step with slots in it.
func TestOverridesAllocateNothing(t *testing.T) {
	p := cpuPaths()[0]
	e := p.engine(t, p.seeded(t), Options{Sequences: 4, Context: 256, PageSize: 16, Overrides: builtins("attn_decode", "gemm", "silu_mul")})
	prefilled(t, e, [][]int32{{1, 2}, {3}, {4, 5, 6}, {7}}, 120)
	if n := testing.AllocsPerRun(100, func() {
		if e.Decode() != nil || e.Wait() != nil {
			t.Error("step failed")
		}
	}); n != 0 {
		t.Errorf("%g allocations a decode step", n)
	}
}

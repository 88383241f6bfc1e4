package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"lathe/engine/llama"
	"lathe/engine/native"
)

func TestStepInfoAddsUp(t *testing.T) {
	const eager, captured = native.GraphEager, native.GraphCaptured
	for name, c := range map[string]struct {
		submits []native.StepInfo
		ns      int64
		graph   string
	}{
		"one":            {[]native.StepInfo{{DeviceNS: 5, Graph: captured}}, 5, "captured"},
		"three":          {[]native.StepInfo{{DeviceNS: 5, Graph: captured}, {DeviceNS: 0, Graph: captured}, {DeviceNS: 9, Graph: captured}}, 14, "captured"},
		"no clock":       {[]native.StepInfo{{DeviceNS: -1}, {DeviceNS: -1}}, -1, "none"},
		"first unknown":  {[]native.StepInfo{{DeviceNS: -1, Graph: eager}, {DeviceNS: 9, Graph: eager}}, -1, "eager"},
		"middle unknown": {[]native.StepInfo{{DeviceNS: 5}, {DeviceNS: -1}, {DeviceNS: 9}}, -1, "none"},
		"last unknown":   {[]native.StepInfo{{DeviceNS: 5}, {DeviceNS: -1}}, -1, "none"},
		"below -1":       {[]native.StepInfo{{DeviceNS: -7}}, -1, "none"},
		"one eager":      {[]native.StepInfo{{DeviceNS: 1, Graph: captured}, {DeviceNS: 1, Graph: eager}, {DeviceNS: 1, Graph: captured}}, 3, "eager"},
	} {
		s := stepInfo{deviceNS: 1000, graph: captured} // the step before
		s.start()
		for i := range c.submits {
			s.add(&c.submits[i])
		}
		if s.deviceNS != c.ns || s.graph.String() != c.graph {
			t.Errorf("%s: %d ns %s, want %d ns %s", name, s.deviceNS, s.graph, c.ns, c.graph)
		}
	}
}

func TestStepInfoAddsOperators(t *testing.T) {
	times := func(ns ...int64) native.StepInfo {
		info := native.StepInfo{}
		for i := range info.OpNS {
			info.OpNS[i] = -1
		}
		copy(info.OpNS[:], ns)
		return info
	}
	s := newStepInfo()
	for i, step := range [][]native.StepInfo{
		{times(5, -1, 7, -1), times(6, 2, -1, -1)},
		{times(-1, -7, 1, -1)},
	} {
		s.start()
		for k := range step {
			s.add(&step[k])
		}
		want := [][]int64{{11, 2, 7, -1}, {-1, -1, 1, -1}}[i]
		if !slices.Equal(s.opNS[:4], want) {
			t.Errorf("%v, want %v", s.opNS[:4], want)
		}
	}
}

// TestOperatorNS: an instrumented step names the operators that ran, fused or not, and
// changes no bit; an ordinary one names none.
func TestOperatorNS(t *testing.T) {
	const fused = 1<<native.OpEmbed | 1<<native.OpNormQKVRopeAppend | 1<<native.OpAttnDecode | 1<<native.OpOAdd |
		1<<native.OpNormGateUpSilu | 1<<native.OpDownAdd | 1<<native.OpNormHeadArgmax
	for _, c := range []struct {
		ops           []string
		with, without uint32
	}{
		{nil, 0, 0},
		{[]string{"attn_decode"}, 0, 0},
		{[]string{"o_add", "norm_head_argmax"}, 0, 0},
		{[]string{"gemm.down"}, 1 << native.OpGemmDown, 0},
		{[]string{"silu_mul"}, 1<<native.OpRMSNorm | 1<<native.OpGemmGateUp | 1<<native.OpSiluMul, 1 << native.OpNormGateUpSilu},
		{[]string{"rope_append"}, 1<<native.OpRMSNorm | 1<<native.OpGemmQKV | 1<<native.OpRopeAppend, 1 << native.OpNormQKVRopeAppend},
		{[]string{"gemm.head"}, 1<<native.OpRMSNorm | 1<<native.OpGemmHead, 0},
	} {
		p := cpuPaths()[0]
		e := p.engine(t, p.seeded(t), Options{Sequences: 2, Context: 64, ChunkRows: 5, Overrides: builtins(c.ops...)})
		ran := func() (set uint32) {
			times := make([]int64, native.Ops)
			e.OperatorNS(times)
			for op, ns := range times {
				if ns >= 0 {
					set |= 1 << op
				}
			}
			return set
		}
		if ran() != 0 {
			t.Errorf("%v: operators before the first step", c.ops)
		}
		prefilled(t, e, [][]int32{{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10}}, 20)
		_, plain := decodeBits(t, e, 3)
		if ran() != 0 {
			t.Errorf("%v: an ordinary step timed operators", c.ops)
		}
		e.TimeOperators(true)
		if err := e.Rewind(); err != nil {
			t.Fatal(err)
		}
		_, timed := decodeBits(t, e, 3)
		if got, want := ran(), uint32(fused)&^c.without|c.with; got != want {
			t.Errorf("%v: operators %b ran, want %b", c.ops, got, want)
		}
		if !slices.Equal(timed, plain) {
			t.Errorf("%v: timing changed the logits", c.ops)
		}
		prefilled(t, e, [][]int32{{1, 2, 3, 4, 5, 6, 7, 8}}, 2)
		if ran()&(1<<native.OpAttnPrefill) == 0 {
			t.Errorf("%v: no attention in the prefill", c.ops)
		}
		e.TimeOperators(false)
		if decodeBits(t, e, 1); ran() != 0 {
			t.Errorf("%v: a step after the instrumented ones timed operators", c.ops)
		}
		e.Close()
	}
}

// clocked is a model without weights in native's test plug-in, each of whose
// submits is captured and takes 7 ns.
func clocked(t *testing.T) *Model {
	t.Helper()
	so := filepath.Join(t.TempDir(), "clocked.so")
	cxx := os.Getenv("CXX")
	if cxx == "" {
		cxx = "c++"
	}
	compile := exec.Command(cxx, "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-Inative", "-o", so, "native/testdata/plugin/plugin.cc")
	if msg, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", compile, err, msg)
	}
	b, err := native.Open(so)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := llama.Preset("tiny")
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.NewModel(describe(cfg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return &Model{Config: cfg, native: m}
}

// TestDeviceTimeOfChunks: a prefill's device time is that of all its chunks and of
// no earlier step, a decode step's its own.
func TestDeviceTimeOfChunks(t *testing.T) {
	m := clocked(t)
	for chunk, want := range map[int]int64{2: 5 * 7, 4: 3 * 7, 8: 2 * 7, 9: 7, 512: 7} {
		e, err := m.NewEngine(Options{Sequences: 2, Context: 16, ChunkRows: chunk})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if e.DeviceNS() != -1 {
			t.Errorf("%d ns before the first step", e.DeviceNS())
		}
		for range 2 {
			if _, err := generate(e, [][]int32{{1, 2, 3, 4, 5}, {6, 7, 8, 9}}, 1); err != nil {
				t.Fatal(err)
			}
			if e.DeviceNS() != want || e.Graph() != "captured" {
				t.Errorf("chunks of %d rows: the prefill took %d ns %s, want %d", chunk, e.DeviceNS(), e.Graph(), want)
			}
			if e.Decode() != nil || e.Wait() != nil || e.DeviceNS() != 7 {
				t.Errorf("chunks of %d rows: the decode step took %d ns, want 7", chunk, e.DeviceNS())
			}
		}
	}
}

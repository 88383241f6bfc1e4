package engine

import (
	"os"
	"os/exec"
	"path/filepath"
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

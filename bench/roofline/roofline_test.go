package roofline

import (
	"math"
	"testing"

	"lathe/engine/llama"
)

func llama3(t *testing.T) llama.Config {
	t.Helper()
	c, err := llama.Preset("llama-3-8b")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func quoted(t *testing.T, name string) Roofs {
	t.Helper()
	r, ok := Quoted(name)
	if !ok {
		t.Fatalf("%s is not in the table", name)
	}
	return r
}

// Floors of a decode step of Llama-3-8B in ms, one-roof and additive.
func TestDecodeFloors(t *testing.T) {
	c := llama3(t)
	for _, row := range []struct {
		device         string
		batch, context int
		one, sum       float64
	}{
		{"NVIDIA H100 80GB HBM3", 1, 0, 4.48, 4.48}, {"NVIDIA H100 80GB HBM3", 1, 1024, 4.52, 4.52},
		{"NVIDIA H100 80GB HBM3", 64, 8192, 25.00, 25.00}, {"NVIDIA H100 80GB HBM3", 512, 0, 7.77, 7.79},
		{"NVIDIA H100 80GB HBM3", 512, 1024, 25.05, 28.30}, {"NVIDIA H100 80GB HBM3", 512, 8192, 168.65, 171.89},
		{"NVIDIA H200", 1, 0, 3.13, 3.13}, {"NVIDIA H200", 32, 8192, 10.29, 10.29},
		{"NVIDIA H200", 256, 0, 3.88, 3.89}, {"NVIDIA H200", 256, 1024, 10.31, 11.05}, {"NVIDIA H200", 512, 8192, 117.70, 122.31},
	} {
		f, ok := quoted(t, row.device).Floor(Decode(c, row.batch, row.context, 2))
		if !ok || math.Abs(f.OneRoofNS/1e6-row.one) > 0.0051 || math.Abs(f.AdditiveNS/1e6-row.sum) > 0.0051 {
			t.Errorf("%s, batch %d, context %d: %.3f / %.3f ms, want %.2f / %.2f", row.device, row.batch, row.context,
				f.OneRoofNS/1e6, f.AdditiveNS/1e6, row.one, row.sum)
		}
	}
}

// Floors of a prefill of Llama-3-8B in ms, and which roof limits.
func TestPrefillFloors(t *testing.T) {
	c := llama3(t)
	for _, row := range []struct {
		batch, tokens int
		h100, h200    float64
		limit         string
	}{
		{1, 128, 4.49, 3.13, LimitMemory}, {1, 512, 7.29, 7.29, LimitCompute}, {1, 1024, 14.73, 14.73, LimitCompute},
		{8, 1024, 117.8, 117.8, LimitCompute}, {32, 1024, 471.2, 471.2, LimitCompute}, {1, 8192, 133.4, 133.4, LimitCompute},
	} {
		for device, want := range map[string]float64{"NVIDIA H100 80GB HBM3": row.h100, "NVIDIA H200": row.h200} {
			f, _ := quoted(t, device).Floor(Prefill(c, row.batch, row.tokens, 2))
			if math.Abs(f.OneRoofNS/1e6-want) > 0.0006*want+0.0051 || f.Limit != row.limit {
				t.Errorf("%s, %d x %d: %.3f ms by %s, want %.2f by %s", device, row.batch, row.tokens, f.OneRoofNS/1e6, f.Limit, want, row.limit)
			}
		}
	}
}

// Every quoted compute roof is the product of its parts, and the ridges are those
// that the datasheets give.
func TestTableOfDevices(t *testing.T) {
	list, err := table()
	if err != nil || len(list) < 10 {
		t.Fatalf("%d devices, error %v", len(list), err)
	}
	seen := map[string]bool{}
	for _, e := range list {
		product := float64(e.SMs) * float64(e.FLOPPerClock) * e.BoostMHz * 1e6 / 1e12
		if math.Abs(product/e.DenseTFLOPS-1) > 0.003 {
			t.Errorf("%v: %.1f TFLOP/s, its parts give %.1f", e.Names, e.DenseTFLOPS, product)
		}
		if e.Source == "" || e.CacheMB <= 0 || e.MemoryGB <= 0 || e.TBPerSecond <= 0 || len(e.Names) == 0 {
			t.Errorf("%v: incomplete: %+v", e.Names, e)
		}
		for _, n := range e.Names {
			if seen[n] {
				t.Errorf("%s stands twice", n)
			}
			seen[n] = true
		}
	}
	for name, ridge := range map[string]float64{"H100 80GB HBM3": 295, "H100 PCIe": 378, "H100 NVL": 214, "H200": 206, "H200 NVL": 174,
		"A100-SXM4-80GB": 153, "A100 80GB PCIe": 161, "L40S": 419, "GeForce RTX 4090": 164, "B200": 281} {
		if got := quoted(t, "NVIDIA "+name).Ridge(); math.Abs(got-ridge) > 0.51 {
			t.Errorf("%s: ridge %.1f, want %.0f", name, got, ridge)
		}
	}
	for _, name := range []string{"", "NVIDIA H20", "NVIDIA H200 NVL2", "H100", "Intel Xeon"} {
		if r, ok := Quoted(name); ok {
			t.Errorf("%q was taken for %s", name, r.Device)
		}
	}
}

// The compute roof follows the clock, the memory roof does not.
func TestRoofsAtAClock(t *testing.T) {
	r := quoted(t, "NVIDIA H100 80GB HBM3").AtClock(1500)
	if math.Abs(r.Compute/1e12-811) > 0.5 || r.Bandwidth != 3.35e12 || math.Abs(r.Ridge()-242) > 0.5 {
		t.Errorf("at 1,500 MHz: %.1f TFLOP/s, %g B/s, ridge %.1f", r.Compute/1e12, r.Bandwidth, r.Ridge())
	}
	unknown := Roofs{Compute: 1e12, Bandwidth: 1e11}
	if unknown.AtClock(1500) != unknown {
		t.Error("a roof of an unknown clock was scaled")
	}
}

func TestLieDetector(t *testing.T) {
	c := llama3(t)
	h100 := quoted(t, "NVIDIA H100 80GB HBM3")
	decode, prefill := Decode(c, 1, 1024, 2), Prefill(c, 8, 1024, 2)
	small := Work{LinearFLOPs: 1e6, WeightBytes: 8 << 20}
	cpu := Roofs{Kind: Measured, Compute: 1e12, Bandwidth: 2e10, CacheBytes: 32 << 20}
	for _, row := range []struct {
		name string
		r    Roofs
		w    Work
		ns   float64
		want string
	}{
		{"above the floor", h100, decode, 4.6e6, Possible},
		{"just below the floor", h100, decode, 4.51e6, Impossible},
		{"half the floor", h100, decode, 2.2e6, Impossible},
		{"a prefill at the highest clock", h100, prefill, 117.8e6 * 1830 / 1970, Possible},
		{"a prefill above every clock", h100, prefill, 117.8e6 * 1830 / 1990, Impossible},
		{"weights that fit a cache", h100, small, 100, Cached},
		{"cache of unknown size", Roofs{Kind: Datasheet, Compute: 1e15, Bandwidth: 1e12}, decode, 1e6, Cached},
		{"1.2 times a measured roof", cpu, decode, float64(decode.Bytes()) / 20 / 1.2, Possible},
		{"1.3 times a measured roof", cpu, decode, float64(decode.Bytes()) / 20 / 1.3, Doubtful},
		{"no roof", Roofs{}, decode, 1, Possible},
		{"no time", h100, decode, 0, Possible},
		{"no number", h100, decode, math.NaN(), Possible},
	} {
		got, reason := row.r.Judge(row.w, row.ns)
		if got != row.want || (reason == "") != (got == Possible) {
			t.Errorf("%s: %s (%s), want %s", row.name, got, reason, row.want)
		}
	}
}

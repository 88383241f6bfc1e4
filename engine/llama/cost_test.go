package llama

import (
	"math"
	"testing"
)

func preset(t *testing.T, name string) Config {
	t.Helper()
	c, err := Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func equal(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d, want %d", what, got, want)
	}
}

// The published numbers of Llama-3-8B in bf16.
func TestLlama3Numbers(t *testing.T) {
	c := preset(t, "llama-3-8b")
	layers, head := c.MatrixParams()
	equal(t, "matrix parameters of one layer", layers/32, 218_103_808)
	equal(t, "head", head, 525_336_576)
	equal(t, "parameters", c.Params(), 8_030_261_248)
	equal(t, "bytes of all weights", c.WeightBytes(2), 16_060_522_496)
	equal(t, "KV bytes a token, bf16", c.KVBytesPerToken(2), 131_072)
	equal(t, "KV bytes a token, f32", c.KVBytesPerToken(4), 262_144)

	b := c.StepBytes(1, 0, 2)
	equal(t, "weights read in a step", b.Weights, 15_009_849_344)
	if floor := float64(b.Weights) / 3.35e12 * 1e3; math.Abs(floor-4.4806) > 5e-5 {
		t.Errorf("floor %.4f ms, want 4.4806", floor)
	}
	b = c.StepBytes(3, 100, 2)
	equal(t, "KV read", b.KVRead, 131_072*300)
	equal(t, "KV written", b.KVWrite, 131_072*3)
	equal(t, "embedding rows", b.Embedding, 8_192*3)
	equal(t, "logits", b.Logits, 256_512*3)
	equal(t, "sum", b.Total(), 15_009_849_344+131_072*303+8_192*3+256_512*3)

	f := c.StepFLOPs(3, 100)
	equal(t, "linear FLOPs", f.Linear, 15_009_316_864*3)
	equal(t, "attention FLOPs", f.Attention, 524_288*300)
	p := c.PrefillBytes(2, 1024, 2)
	equal(t, "weights read in a prefill", p.Weights, b.Weights)
	equal(t, "KV of a prefill", p.KVRead+p.KVWrite, 131_072*2*1024)
	equal(t, "sum of a prefill", p.Total(), b.Weights+131_072*2*1024+8_192*2*1024+256_512*2)
}

// Floors in ms: the larger of FLOPs over peak and bytes over bandwidth, and the
// same for weights and attention apart, summed.
func TestDecodeFloors(t *testing.T) {
	c := preset(t, "llama-3-8b")
	const peak, h100, h200 = 989.4e12, 3.35e12, 4.8e12
	for _, row := range []struct {
		batch, context int
		bandwidth      float64
		one, sum       float64
	}{
		{1, 0, h100, 4.48, 4.48}, {1, 1024, h100, 4.52, 4.52}, {1, 8192, h100, 4.80, 4.80},
		{8, 1024, h100, 4.80, 4.80}, {8, 8192, h100, 7.05, 7.05}, {32, 1024, h100, 5.77, 5.77}, {32, 8192, h100, 14.74, 14.74},
		{64, 0, h100, 4.49, 4.49}, {64, 8192, h100, 25.00, 25.00}, {128, 1024, h100, 9.62, 9.62}, {256, 8192, h100, 86.56, 86.56},
		{512, 0, h100, 7.77, 7.79}, {512, 1024, h100, 25.05, 28.30}, {512, 8192, h100, 168.65, 171.89},
		{1, 0, h200, 3.13, 3.13}, {1, 1024, h200, 3.16, 3.16}, {8, 8192, h200, 4.92, 4.92}, {64, 8192, h200, 17.45, 17.45},
		{128, 0, h200, 3.14, 3.14}, {256, 0, h200, 3.88, 3.89}, {256, 1024, h200, 10.31, 11.05}, {512, 8192, h200, 117.70, 122.31},
	} {
		b, f := c.StepBytes(row.batch, row.context, 2), c.StepFLOPs(row.batch, row.context)
		one := 1e3 * max(float64(f.Total())/peak, float64(b.Total())/row.bandwidth)
		kv := float64(b.KVRead + b.KVWrite)
		sum := 1e3 * (max(float64(f.Linear)/peak, (float64(b.Total())-kv)/row.bandwidth) + max(float64(f.Attention)/peak, kv/row.bandwidth))
		if math.Abs(one-row.one) > 0.0051 || math.Abs(sum-row.sum) > 0.0051 {
			t.Errorf("batch %d, context %d, %.3g B/s: %.3f / %.3f ms, want %.2f / %.2f", row.batch, row.context, row.bandwidth, one, sum, row.one, row.sum)
		}
	}
}

// GB of weights and KV read a step, and the milliseconds at datasheet bandwidth.
func TestStepGigabytes(t *testing.T) {
	c := preset(t, "llama-3-8b")
	for _, row := range []struct {
		context, batch int
		gb, h100, h200 float64
	}{
		{1024, 1, 15.14, 4.52, 3.15}, {1024, 8, 16.08, 4.80, 3.35}, {1024, 16, 17.16, 5.12, 3.57}, {1024, 32, 19.30, 5.76, 4.02},
		{1024, 64, 23.60, 7.04, 4.92}, {8192, 1, 16.08, 4.80, 3.35}, {8192, 64, 83.73, 25.0, 17.4},
	} {
		b := c.StepBytes(row.batch, row.context, 2)
		gb := float64(b.Weights+b.KVRead) / 1e9
		for _, x := range [][3]float64{{gb, row.gb, 0.0051}, {gb / 3.35, row.h100, 0.0051}, {gb / 4.8, row.h200, 0.0051}} {
			if row.context == 8192 && row.batch == 64 {
				x[2] = 0.051
			}
			if math.Abs(x[0]-x[1]) > x[2] {
				t.Errorf("context %d, batch %d: %.3f, want %.2f", row.context, row.batch, x[0], x[1])
			}
		}
	}
}

// A tied model reads its embedding table, because that is its head.
func TestTiedModelReadsItsHead(t *testing.T) {
	c := preset(t, "smollm2-135m")
	equal(t, "parameters", c.Params(), 134_515_008)
	equal(t, "weights read in a step", c.StepBytes(1, 1, 2).Weights, 2*134_515_008)
	c.Tied = false
	equal(t, "parameters, untied", c.Params(), 134_515_008+49152*576)
	equal(t, "weights read in a step, untied", c.StepBytes(1, 1, 2).Weights, 2*134_515_008)
	equal(t, "parameters of llama-3.2-1b", preset(t, "llama-3.2-1b").Params(), 1_235_814_400)
	equal(t, "parameters of llama-3.1-8b", preset(t, "llama-3.1-8b").Params(), 8_030_261_248)
}

func TestParamsIsTheSumOfTheTensors(t *testing.T) {
	configs := []Config{}
	for _, name := range Presets() {
		configs = append(configs, preset(t, name))
	}
	biased := preset(t, "tiny")
	biased.AttentionBias, biased.MLPBias = true, true
	for _, c := range append(configs, biased) {
		var n int64
		for s := range c.Tensors() {
			n += s.Elements()
		}
		equal(t, "parameters", c.Params(), n)
	}
}

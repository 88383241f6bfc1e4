package llama

import "testing"

// Whichever way a step is cut, its operators add up to the step.
func TestOperatorsAddUpToTheStep(t *testing.T) {
	shapes := map[string]Config{}
	for _, name := range Presets() {
		shapes[name] = preset(t, name)
	}
	biased := preset(t, "tiny")
	biased.AttentionBias, biased.MLPBias = true, true
	shapes["with biases"] = biased
	for name, c := range shapes {
		for _, at := range []struct{ batch, context, kv int }{{1, 1, 2}, {3, 100, 2}, {8, 1024, 4}} {
			bytes, flops := c.StepBytes(at.batch, at.context, at.kv).Total(), c.StepFLOPs(at.batch, at.context).Total()
			for cut, list := range map[string][]OperatorCost{
				"fused":   c.FusedOperators(at.batch, at.context, at.kv),
				"unfused": c.UnfusedOperators(at.batch, at.context, at.kv),
			} {
				var b, f int64
				for _, op := range list {
					b, f = b+op.Bytes, f+op.FLOPs
				}
				if b != bytes || f != flops {
					t.Errorf("%s, %s, %+v: operators %d bytes and %d FLOPs, the step %d and %d", name, cut, at, b, f, bytes, flops)
				}
			}
		}
	}
}

// Bytes of Llama-3-8B's operators at batch 1, and the calls of a step.
func TestLlama3Operators(t *testing.T) {
	c := preset(t, "llama-3-8b")
	want := map[string]OperatorCost{
		"gemm.qkv":     {Calls: 32, Bytes: 32 * (33_554_432 + 2*8_388_608), FLOPs: 32 * (33_554_432 + 2*8_388_608)},
		"gemm.gate_up": {Calls: 32, Bytes: 32 * 2 * 117_440_512, FLOPs: 32 * 2 * 117_440_512},
		"attn_decode":  {Calls: 32, Bytes: 131_072 * 1024, FLOPs: 524_288 * 1024},
		"rmsnorm":      {Calls: 65, Bytes: 65 * 8_192},
		"gemm.head":    {Calls: 1, Bytes: 1_050_673_152 + 256_512, FLOPs: 1_050_673_152},
	}
	for _, op := range c.UnfusedOperators(1, 1024, 2) {
		if w, ok := want[op.Name]; ok {
			w.Name = op.Name
			if op != w {
				t.Errorf("%+v, want %+v", op, w)
			}
			delete(want, op.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// A prefill of Llama-3-8B in TFLOP and attention's share, as published.
func TestPrefillFLOPs(t *testing.T) {
	c := preset(t, "llama-3-8b")
	for _, row := range []struct {
		batch, tokens int
		want          int64
	}{
		{1, 1, 13_958_643_712 + 1_050_673_152 + 262_144*2},
		{1, 1024, 13_958_643_712*1024 + 1_050_673_152 + 262_144*1024*1025},
		{8, 1024, 8 * (13_958_643_712*1024 + 1_050_673_152 + 262_144*1024*1025)},
	} {
		equal(t, "FLOPs", c.PrefillFLOPs(row.batch, row.tokens).Total(), row.want)
	}
}

package llama

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// fake is a checkpoint of names and shapes.
type fake map[string]TensorInfo

func (f fake) Where() string                            { return "dir/model.safetensors" }
func (f fake) Names() []string                          { return slices.Sorted(maps.Keys(f)) }
func (f fake) Info(name string) (t TensorInfo, ok bool) { t, ok = f[name]; return t, ok }

// complete has every tensor of a config.
func complete(c Config) fake {
	f := fake{}
	for s := range c.Tensors() {
		f[s.Name] = TensorInfo{DType: "BF16", Shape: s.Shape(), File: "dir/model.safetensors"}
	}
	return f
}

func checkConfig(t *testing.T, change map[string]any) Config {
	t.Helper()
	c, err := with(t, change)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantFault demands an error of a class with every mention.
func wantFault(t *testing.T, err error, class Class, mention ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Class != class {
		t.Errorf("%v, want class %s", err, class)
		return
	}
	for _, m := range append(mention, "dir/model.safetensors") {
		if !strings.Contains(err.Error(), m) {
			t.Errorf("%q does not mention %q", err, m)
		}
	}
}

func TestCheckEveryTensor(t *testing.T) {
	c := checkConfig(t, map[string]any{"attention_bias": true, "mlp_bias": true, "num_hidden_layers": 3})
	if warnings, err := c.Check(complete(c)); err != nil || len(warnings) > 0 {
		t.Fatalf("%q, %v", warnings, err)
	}
	for s := range c.Tensors() {
		f := complete(c)
		delete(f, s.Name)
		_, err := c.Check(f)
		wantFault(t, err, MissingTensor, s.Name)

		for _, shape := range [][]int64{nil, {0}, {int64(s.Rows), int64(s.Cols), 1}, {int64(s.Cols) + 1}, {int64(s.Rows) + 1, int64(s.Cols)}} {
			f = complete(c)
			f[s.Name] = TensorInfo{DType: "BF16", Shape: shape, File: "dir/model.safetensors"}
			_, err = c.Check(f)
			wantFault(t, err, TensorShape, s.Name, "shape")
		}
	}
}

func TestP192_UntiedHeadMissing(t *testing.T) {
	for _, tie := range []any{false, nil} { // nil: the key is absent, which means false
		c := checkConfig(t, map[string]any{"tie_word_embeddings": tie})
		if c.Tied {
			t.Fatal("tie_word_embeddings must default to false")
		}
		f := complete(c)
		delete(f, "lm_head.weight")
		_, err := c.Check(f)
		wantFault(t, err, MissingTensor, "lm_head.weight", "tie_word_embeddings")
	}
	c := checkConfig(t, map[string]any{"tie_word_embeddings": true})
	f := complete(c)
	if _, ok := f["lm_head.weight"]; ok {
		t.Fatal("a tied model needs no head")
	}
	if warnings, err := c.Check(f); err != nil || len(warnings) != 0 {
		t.Errorf("%q, %v", warnings, err)
	}
	f["lm_head.weight"] = TensorInfo{DType: "BF16", Shape: []int64{32, 16}}
	if warnings, err := c.Check(f); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "lm_head.weight") {
		t.Errorf("a head beside a tied one: %q, %v", warnings, err)
	}
}

func TestP200_FP8WeightsRefused(t *testing.T) {
	c := checkConfig(t, nil)
	const name = "model.layers.0.mlp.up_proj.weight"
	for _, dtype := range []string{"F8_E4M3", "F8_E5M2", "F8_E8M0", "I64", "U8", "F64", "F4", "BOOL"} {
		for _, scaled := range []bool{false, true} {
			f := complete(c)
			f[name] = TensorInfo{DType: dtype, Shape: f[name].Shape, File: "dir/model.safetensors"}
			if scaled {
				f[name+"_scale_inv"] = TensorInfo{DType: "F32", Shape: []int64{1, 1}, File: "dir/model.safetensors"}
			}
			_, err := c.Check(f)
			wantFault(t, err, DType, name, dtype, "BF16, F16, F32")
		}
	}
	for _, dtype := range DTypes() {
		f := complete(c)
		f[name] = TensorInfo{DType: dtype, Shape: f[name].Shape}
		if _, err := c.Check(f); err != nil {
			t.Errorf("%s: %v", dtype, err)
		}
	}
}

func TestP204_UnexpectedTensorsAreListed(t *testing.T) {
	c := checkConfig(t, nil)
	extra := func(names ...string) fake {
		f := complete(c)
		for _, n := range names {
			f[n] = TensorInfo{DType: "F32", Shape: []int64{4}, File: "dir/model.safetensors"}
		}
		return f
	}
	for _, name := range []string{"unknown.weight", "model.layers.0.self_attn.q_norm.weight", "model.layers.0.self_attn.q_proj.bias",
		"model.layers.00.mlp.up_proj.weight", "model.layers.x.mlp.up_proj.weight", "model.layers.-1.mlp.up_proj.weight", "", "model.layers."} {
		_, err := c.Check(extra(name))
		wantFault(t, err, ExtraTensor, "1 extra", name)
	}
	_, err := c.Check(extra("x1", "x2", "x3", "x4", "x5", "x6", "x7"))
	wantFault(t, err, ExtraTensor, "7 extra", "x1, x2, x3, x4, x5 and 2 more")

	for _, name := range []string{"model.layers.1.input_layernorm.weight", "model.layers.99999.x", "model.layers.1."} {
		_, err = c.Check(extra(name, "unknown.weight"))
		wantFault(t, err, ExtraTensor, name, "num_hidden_layers is 1")
	}
	_, err = c.Check(extra(strings.Repeat("long", 1000) + "\n"))
	wantFault(t, err, ExtraTensor)
	if len(err.Error()) > 500 || strings.Contains(err.Error(), "\n") {
		t.Errorf("not one readable line: %q", err)
	}
	for _, name := range []string{"model.layers.0.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"} {
		if warnings, err := c.Check(extra(name)); err != nil || len(warnings) != 0 {
			t.Errorf("%s: %q, %v", name, warnings, err)
		}
	}
}

package llama

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const golden = "../testdata/golden"

// small is a sound config as a map, to be changed by a test.
func small() map[string]any {
	return map[string]any{"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "hidden_act": "silu",
		"vocab_size": 32, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
		"intermediate_size": 32, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 128,
		"tie_word_embeddings": false, "bos_token_id": 30, "eos_token_id": 31}
}

type raw = json.RawMessage

// with parses the small config after some changes; a nil value removes a key.
func with(t *testing.T, changes map[string]any) (Config, error) {
	t.Helper()
	m := small()
	maps.Copy(m, changes)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return ParseConfig(b, "config.json")
}

func TestParseConfigDefaults(t *testing.T) {
	c, err := with(t, map[string]any{"architectures": nil, "hidden_act": nil, "num_key_value_heads": nil, "rms_norm_eps": nil,
		"rope_theta": nil, "max_position_embeddings": nil, "tie_word_embeddings": nil, "bos_token_id": nil, "eos_token_id": nil})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{Architecture: "LlamaForCausalLM", Vocab: 32, Hidden: 16, Layers: 1, QHeads: 2, KVHeads: 2, HeadDim: 8, FFN: 32,
		RMSEps: 1e-6, RopeTheta: 10000, MaxPosition: 2048, BOS: []int{1}, EOS: []int{2}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestParseConfigValues(t *testing.T) {
	type change = map[string]any
	for _, tc := range []struct {
		change change
		ok     func(Config) bool
	}{
		{change{"eos_token_id": []int{1, 2, 3}}, func(c Config) bool { return reflect.DeepEqual(c.EOS, []int{1, 2, 3}) && c.Stop(3) && !c.Stop(4) }},
		{change{"eos_token_id": raw("null"), "bos_token_id": raw("null")}, func(c Config) bool { return c.EOS == nil && c.BOS == nil }},
		{change{"head_dim": 32}, func(c Config) bool { return c.HeadDim == 32 && c.QHeads/c.KVHeads == 2 }},
		{change{"head_dim": raw("null")}, func(c Config) bool { return c.HeadDim == 8 }},
		{change{"attention_bias": true, "mlp_bias": true, "tie_word_embeddings": true}, func(c Config) bool { return c.AttentionBias && c.MLPBias && c.Tied }},
		{change{"torch_dtype": "float16"}, func(c Config) bool { return c.DType == "float16" }},
		{change{"dtype": "bfloat16", "torch_dtype": "float16"}, func(c Config) bool { return c.DType == "bfloat16" }},
		{change{"quantization_config": raw("null"), "sliding_window": raw("null")}, func(c Config) bool { return true }},
		{change{"hidden_act": "swish", "partial_rotary_factor": 1.0}, func(c Config) bool { return true }},
		{change{"rms_norm_eps": raw("1e-05"), "rope_theta": raw("1000000")}, func(c Config) bool { return c.RMSEps == 1e-5 && c.RopeTheta == 1e6 }},
		{change{"num_hidden_layers": MaxLayers, "intermediate_size": MaxFFN}, func(c Config) bool { return c.Layers == MaxLayers }},
		{change{"vocab_size": 1, "bos_token_id": nil, "eos_token_id": nil}, func(c Config) bool { return len(c.BOS) == 0 && len(c.EOS) == 0 }},
	} {
		c, err := with(t, tc.change)
		if err != nil || !tc.ok(c) {
			t.Errorf("%v: %+v, %v", tc.change, c, err)
		}
	}
}

func TestParseConfigRefuses(t *testing.T) {
	sizes := []string{"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
		"num_key_value_heads", "head_dim", "max_position_embeddings"}
	for _, key := range sizes {
		for _, v := range []string{"0", "-1", "-9223372036854775809", "9223372036854775808", "1e1", "16.0", "16.5", `"16"`, "true", "[16]", "{}", "134217729"} {
			refused(t, map[string]any{key: raw(v)}, ConfigValue, key)
		}
	}
	for _, key := range sizes[:5] {
		refused(t, map[string]any{key: nil}, ConfigValue, key+" is missing")
		refused(t, map[string]any{key: raw("null")}, ConfigValue, key+" is missing")
	}
	for _, key := range []string{"rms_norm_eps", "rope_theta"} {
		for _, v := range []string{"0", "-1", "1e-60", "1e300", "-1e300", "1e999", `"1e-5"`, "true", "[]"} {
			refused(t, map[string]any{key: raw(v)}, ConfigValue, key)
		}
	}
	for _, key := range []string{"tie_word_embeddings", "attention_bias", "mlp_bias"} {
		for _, v := range []string{"0", "1", `"true"`, "[]"} {
			refused(t, map[string]any{key: raw(v)}, ConfigValue, key)
		}
	}
	for _, v := range []string{"32", "-1", "1.5", `"31"`, "[31,32]", "[31", "[[1]]", "{}", "99999999999999999999"} {
		if json.Valid([]byte(v)) {
			refused(t, map[string]any{"eos_token_id": raw(v)}, ConfigValue, "eos_token_id")
			refused(t, map[string]any{"bos_token_id": raw(v)}, ConfigValue, "bos_token_id")
		}
	}
	refused(t, map[string]any{"architectures": nil, "model_type": nil}, ConfigValue, "architectures")
	refused(t, map[string]any{"architectures": []string{"MistralForCausalLM"}}, Unsupported, "MistralForCausalLM")
	refused(t, map[string]any{"architectures": nil, "model_type": "qwen3"}, Unsupported, "qwen3")
	refused(t, map[string]any{"model_type": "mllama"}, Unsupported, "mllama")
	refused(t, map[string]any{"architectures": "LlamaForCausalLM"}, ConfigValue, "architectures")
	refused(t, map[string]any{"hidden_act": "gelu_pytorch_tanh"}, Unsupported, "gelu_pytorch_tanh")
	refused(t, map[string]any{"hidden_act": 3}, ConfigValue, "hidden_act")
	refused(t, map[string]any{"quantization_config": map[string]any{"quant_method": "fp8"}}, Unsupported, `quantization_config ("fp8")`)
	refused(t, map[string]any{"compression_config": map[string]any{}}, Unsupported, "compression_config")
	refused(t, map[string]any{"sliding_window": 4096}, Unsupported, "sliding_window")
	refused(t, map[string]any{"partial_rotary_factor": 0.5}, Unsupported, "partial_rotary_factor")
	refused(t, map[string]any{"num_attention_heads": 16384, "num_key_value_heads": 1, "head_dim": 4096}, ConfigValue, "head_dim")
	refused(t, map[string]any{"hidden_size": 1 << 20, "num_attention_heads": 2}, ConfigValue, "head_dim")
}

func refused(t *testing.T, change map[string]any, class Class, mention string) {
	t.Helper()
	_, err := with(t, change)
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%v: %v is no *Error", change, err)
		return
	}
	if e.Class != class || e.Path != "config.json" || !strings.Contains(err.Error(), mention) {
		t.Errorf("%v: %s %v, want %s and %q", change, e.Class, err, class, mention)
	}
}

func TestConfigJSON(t *testing.T) {
	for text, mention := range map[string]string{
		"": "not JSON", "{": "not JSON", "[]": "not a JSON object", "null": "not a JSON object", `{"a":1}x`: "not JSON",
		`{"hidden_size":16,"hidden_size":32}`: "hidden_size", "{\"a\":\"\xff\"}": "UTF-8", `{"rms_norm_eps":NaN}`: "not JSON",
		strings.Repeat("[", 20000): "not JSON", `{"a":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + `}`: "",
		"\xef\xbb\xbf{}": "not JSON",
	} {
		_, err := ParseConfig([]byte(text), "dir/config.json")
		var e *Error
		if !errors.As(err, &e) || mention != "" && e.Class != ConfigJSON || !strings.Contains(err.Error(), mention) || !strings.Contains(err.Error(), "dir/config.json") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestReadConfigFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	class := func(err error) Class {
		var e *Error
		errors.As(err, &e)
		if e == nil {
			return ""
		}
		return e.Class
	}
	b, _ := json.Marshal(small())
	if _, err := ReadConfig(dir); class(err) != MissingFile || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	write(ConfigFile, string(b))
	if c, err := ReadConfig(dir); err != nil || !reflect.DeepEqual(c.EOS, []int{31}) {
		t.Errorf("%+v, %v", c, err)
	}
	write(GenerationFile, `{"eos_token_id":[31,3],"temperature":0.6}`)
	if c, err := ReadConfig(dir); err != nil || !reflect.DeepEqual(c.EOS, []int{31, 3}) || !reflect.DeepEqual(c.BOS, []int{30}) {
		t.Errorf("%+v, %v", c, err)
	}
	for text, want := range map[string]Class{`{"eos_token_id":`: ConfigJSON, `{"eos_token_id":99}`: ConfigValue} {
		write(GenerationFile, text)
		if _, err := ReadConfig(dir); class(err) != want || !strings.Contains(err.Error(), GenerationFile) {
			t.Errorf("%s: %v", text, err)
		}
	}
	write(ConfigFile, `{"a":"`+strings.Repeat("x", MaxConfigSize)+`"}`)
	if _, err := ReadConfig(dir); class(err) != ConfigJSON {
		t.Errorf("huge: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, ConfigFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ConfigFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConfig(dir); class(err) != MissingFile {
		t.Errorf("a directory: %v", err)
	}
}

func TestReadTinyConfigs(t *testing.T) {
	tiny, err := Preset("tiny")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"tiny":           func(*Config) {},
		"tiny-headdim32": func(c *Config) { c.HeadDim = 32 },
		"tiny-tied":      func(c *Config) { c.KVHeads, c.Tied = 4, true },
		"tiny-llama3rope": func(c *Config) {
			c.RopeTheta, c.EOS = 500000, []int{255, 0}
			c.RopeScaling = RopeScaling{Type: RopeLlama3, Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalMaxPosition: 64}
		},
	} {
		want := tiny
		want.MaxPosition = 1024 // of the test models; the preset has more
		change(&want)
		got, err := ReadConfig(filepath.Join(golden, name))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", name, err, got, want)
		}
	}
}

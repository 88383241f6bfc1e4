package llama

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// What the published config.json files say, in their own spelling.
func TestPresetsMatchPublishedConfigs(t *testing.T) {
	const head = `{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_act":"silu","attention_bias":false,"mlp_bias":false,"rms_norm_eps":1e-05,"torch_dtype":"bfloat16",`
	const scaling = `"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":8192,"rope_type":"llama3"}`
	for name, text := range map[string]string{
		"smollm2-135m": `"vocab_size":49152,"hidden_size":576,"num_hidden_layers":30,"num_attention_heads":9,"num_key_value_heads":3,"intermediate_size":1536,
			"max_position_embeddings":8192,"rope_theta":100000,"rope_scaling":null,"tie_word_embeddings":true,"bos_token_id":1,"eos_token_id":2}`,
		"llama-3.2-1b": `"vocab_size":128256,"hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":64,"intermediate_size":8192,
			"max_position_embeddings":131072,"rope_theta":500000.0,"rope_scaling":{"factor":32.0,` + scaling + `,"tie_word_embeddings":true,"bos_token_id":128000,"eos_token_id":[128001,128008,128009]}`,
		"llama-3-8b": `"vocab_size":128256,"hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,
			"max_position_embeddings":8192,"rope_theta":500000.0,"rope_scaling":null,"tie_word_embeddings":false,"bos_token_id":128000,"eos_token_id":[128001,128009]}`,
		"llama-3.1-8b": `"vocab_size":128256,"hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,
			"max_position_embeddings":131072,"rope_theta":500000.0,"rope_scaling":{"factor":8.0,` + scaling + `,"tie_word_embeddings":false,"bos_token_id":128000,"eos_token_id":[128001,128008,128009]}`,
	} {
		want, err := ParseConfig([]byte(head+text), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := preset(t, name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
	}
	tiny, err := ReadConfig(filepath.Join(golden, "tiny"))
	tiny.MaxPosition = 2048 // the preset has room for 1024 in, 128 out
	if got := preset(t, "tiny"); err != nil || !reflect.DeepEqual(got, tiny) {
		t.Errorf("tiny: %v\ngot  %+v\nwant %+v", err, got, tiny)
	}
}

func TestPresetNames(t *testing.T) {
	for _, name := range Presets() {
		c := preset(t, name)
		if err := c.validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.Check(complete(c)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "Tiny", "llama", "preset:tiny"} {
		if _, err := Preset(name); err == nil || !strings.Contains(err.Error(), "llama-3.2-1b") {
			t.Errorf("%q: %v, want the list of presets", name, err)
		}
	}
}

func TestHubPresets(t *testing.T) {
	for _, row := range hubTable() {
		name, ok := HubPreset(row.id)
		if _, err := Preset(name); !ok || name != row.preset || err != nil {
			t.Errorf("%s: %q, %v, %v", row.id, name, ok, err)
		}
	}
	for id, want := range map[string]string{
		"meta-llama/Meta-Llama-3-8B-Instruct": "llama-3-8b", "META-LLAMA/llama-3.2-1b": "llama-3.2-1b",
		"HuggingFaceTB/SmolLM2-135M-Instruct": "smollm2-135m", "meta-llama/Llama-3.1-8B": "llama-3.1-8b",
		"meta-llama/Meta-Llama-3-70B": "", "meta-llama/Llama-3.2-3B": "", "tiny": "", "llama-3-8b": "", "": "",
	} {
		if name, ok := HubPreset(id); name != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", id, name, ok, want)
		}
	}
}

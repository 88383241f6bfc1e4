package llama

import (
	"fmt"
	"strings"
)

// Presets lists the models whose shapes are built in, smallest first.
func Presets() []string {
	return []string{"tiny", "smollm2-135m", "llama-3.2-1b", "llama-3-8b", "llama-3.1-8b"}
}

// Preset returns the shape of a built-in model, as its published config.json
// (and generation_config.json, for the end tokens of the Instruct variant) has it.
// "tiny" is the shape of the random test model of this repository, with room for
// published command lines (1024 in, 128 out). The error for
// an unknown name lists the known ones.
func Preset(name string) (Config, error) {
	c := Config{Architecture: "LlamaForCausalLM", RMSEps: 1e-5, DType: "bfloat16"}
	switch name {
	case "tiny":
		c.Vocab, c.Hidden, c.Layers, c.QHeads, c.KVHeads, c.HeadDim, c.FFN = 256, 64, 2, 4, 2, 16, 128
		c.RopeTheta, c.MaxPosition = 10000, 2048
		c.BOS, c.EOS = []int{254}, []int{255}
	case "smollm2-135m":
		c.Vocab, c.Hidden, c.Layers, c.QHeads, c.KVHeads, c.HeadDim, c.FFN = 49152, 576, 30, 9, 3, 64, 1536
		c.RopeTheta, c.MaxPosition, c.Tied = 100000, 8192, true
		c.BOS, c.EOS = []int{1}, []int{2}
	case "llama-3.2-1b":
		c.Vocab, c.Hidden, c.Layers, c.QHeads, c.KVHeads, c.HeadDim, c.FFN = 128256, 2048, 16, 32, 8, 64, 8192
		c.RopeTheta, c.MaxPosition, c.Tied = 500000, 131072, true
		c.RopeScaling = llama3Scaling(32)
		c.BOS, c.EOS = []int{128000}, []int{128001, 128008, 128009}
	case "llama-3-8b":
		c.Vocab, c.Hidden, c.Layers, c.QHeads, c.KVHeads, c.HeadDim, c.FFN = 128256, 4096, 32, 32, 8, 128, 14336
		c.RopeTheta, c.MaxPosition = 500000, 8192
		c.BOS, c.EOS = []int{128000}, []int{128001, 128009}
	case "llama-3.1-8b":
		c.Vocab, c.Hidden, c.Layers, c.QHeads, c.KVHeads, c.HeadDim, c.FFN = 128256, 4096, 32, 32, 8, 128, 14336
		c.RopeTheta, c.MaxPosition = 500000, 131072
		c.RopeScaling = llama3Scaling(8)
		c.BOS, c.EOS = []int{128000}, []int{128001, 128008, 128009}
	default:
		return Config{}, fmt.Errorf("find preset: %.80q: not one of %s", name, strings.Join(Presets(), ", "))
	}
	return c, nil
}

// llama3Scaling is the scaling that Llama 3.1 and 3.2 share but for the factor.
func llama3Scaling(factor float64) RopeScaling {
	return RopeScaling{Type: RopeLlama3, Factor: factor, LowFreqFactor: 1, HighFreqFactor: 4, OriginalMaxPosition: 8192}
}

// HubPreset maps a hub id to the preset that has exactly its shape (base and
// Instruct variants differ in weights and end tokens only). Case is ignored, as
// the hub does.
func HubPreset(id string) (name string, ok bool) {
	for _, row := range hubTable() {
		if strings.EqualFold(row.id, id) {
			return row.preset, true
		}
	}
	return "", false
}

type hubRow struct{ id, preset string }

func hubTable() []hubRow {
	return []hubRow{
		{"meta-llama/Meta-Llama-3-8B", "llama-3-8b"},
		{"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"},
		{"NousResearch/Meta-Llama-3-8B", "llama-3-8b"},
		{"NousResearch/Meta-Llama-3-8B-Instruct", "llama-3-8b"},
		{"meta-llama/Meta-Llama-3.1-8B", "llama-3.1-8b"},
		{"meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"},
		{"meta-llama/Llama-3.1-8B", "llama-3.1-8b"},
		{"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
		{"meta-llama/Llama-3.2-1B", "llama-3.2-1b"},
		{"meta-llama/Llama-3.2-1B-Instruct", "llama-3.2-1b"},
		{"HuggingFaceTB/SmolLM2-135M", "smollm2-135m"},
		{"HuggingFaceTB/SmolLM2-135M-Instruct", "smollm2-135m"},
	}
}

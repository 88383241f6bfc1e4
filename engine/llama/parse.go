package llama

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ConfigFile and GenerationFile are the files that ReadConfig reads.
const (
	ConfigFile     = "config.json"
	GenerationFile = "generation_config.json"
)

// ReadConfig reads DIR/config.json. Where DIR/generation_config.json exists and
// names eos_token_id or bos_token_id, they win over config.json's, as they do when
// the transformers library generates. Errors are *Error.
func ReadConfig(dir string) (Config, error) {
	path := filepath.Join(dir, ConfigFile)
	data, err := readSmall(path)
	if err != nil {
		return Config{}, err
	}
	c, err := ParseConfig(data, path)
	if err != nil {
		return Config{}, err
	}
	path = filepath.Join(dir, GenerationFile)
	if data, err = readSmall(path); errors.Is(err, fs.ErrNotExist) {
		return c, nil
	} else if err != nil {
		return Config{}, err
	}
	o, err := parseObject(data, "")
	if err != nil {
		return Config{}, at(path, err)
	}
	if o.has("bos_token_id") {
		c.BOS = o.tokens("bos_token_id", c.Vocab, nil)
	}
	if o.has("eos_token_id") {
		c.EOS = o.tokens("eos_token_id", c.Vocab, nil)
	}
	if o.err != nil {
		return Config{}, at(path, o.err)
	}
	return c, nil
}

// readSmall reads a regular file of at most MaxConfigSize bytes.
func readSmall(path string) ([]byte, error) {
	missing := func(err error) ([]byte, error) {
		msg := err.Error()
		var p *fs.PathError
		if errors.As(err, &p) {
			msg = p.Err.Error()
		}
		return nil, &Error{Class: MissingFile, Path: path, Msg: "cannot read: " + msg, Err: err}
	}
	info, err := os.Stat(path)
	if err != nil {
		return missing(err)
	}
	if !info.Mode().IsRegular() {
		return missing(fmt.Errorf("not a regular file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return missing(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxConfigSize+1))
	if err != nil {
		return missing(err)
	}
	if len(data) > MaxConfigSize {
		return nil, &Error{Class: ConfigJSON, Path: path, Msg: fmt.Sprintf("larger than %d bytes: this is no model config", MaxConfigSize)}
	}
	return data, nil
}

// ParseConfig reads the text of a config.json, in the older layout (rope_theta
// and rope_scaling at the top) or the newer one (rope_parameters, dtype). path
// names it in errors, which are *Error.
func ParseConfig(data []byte, path string) (Config, error) {
	o, err := parseObject(data, "")
	if err != nil {
		return Config{}, at(path, err)
	}
	c := o.config()
	if o.err == nil {
		o.err = c.validate()
	}
	if o.err != nil {
		return Config{}, at(path, o.err)
	}
	return c, nil
}

// config reads every key that the model depends on. What is not supported is
// reported before what is wrong, so that another model's config says what it is.
func (o *object) config() Config {
	c := Config{Architecture: o.architecture()}
	o.refuse()
	c.Vocab = o.size("vocab_size", MaxVocab)
	c.Hidden = o.size("hidden_size", MaxHidden)
	c.Layers = o.size("num_hidden_layers", MaxLayers)
	c.QHeads = o.size("num_attention_heads", MaxHeads)
	c.FFN = o.size("intermediate_size", MaxFFN)
	c.KVHeads = o.sizeOr("num_key_value_heads", MaxHeads, c.QHeads)
	c.HeadDim = o.sizeOr("head_dim", MaxHeadDim, 0)
	c.MaxPosition = o.sizeOr("max_position_embeddings", MaxPositions, 2048)
	c.RMSEps = 1e-6
	if o.has("rms_norm_eps") {
		c.RMSEps = o.number("rms_norm_eps", 0, true)
	}
	c.Tied = o.flag("tie_word_embeddings")
	c.AttentionBias = o.flag("attention_bias")
	c.MLPBias = o.flag("mlp_bias")
	c.DType = o.str("dtype")
	if old := o.str("torch_dtype"); c.DType == "" {
		c.DType = old
	}
	c.RopeTheta, c.RopeScaling = o.rope()
	c.BOS = o.tokens("bos_token_id", c.Vocab, below([]int{1}, c.Vocab))
	c.EOS = o.tokens("eos_token_id", c.Vocab, below([]int{2}, c.Vocab))
	return c
}

// below drops default ids that a tiny vocabulary does not have.
func below(ids []int, vocab int) []int {
	return slices.DeleteFunc(ids, func(id int) bool { return id >= vocab })
}

// architecture demands the one that is computed here.
func (o *object) architecture() string {
	const want, family = "LlamaForCausalLM", "llama"
	var names []string
	if o.has("architectures") && json.Unmarshal(o.raw["architectures"], &names) != nil {
		o.fail(ConfigValue, "architectures is %s, not a list of names", o.text("architectures"))
	}
	model := o.str("model_type")
	if len(names) == 0 && model == "" {
		o.fail(ConfigValue, "neither architectures nor model_type is given: cannot tell what model this is")
	}
	if len(names) > 0 && !slices.Contains(names, want) {
		o.fail(Unsupported, "architecture %.80q is not supported, only %s", names[0], want)
	}
	if model != "" && model != family {
		o.fail(Unsupported, "model_type %.80q is not supported, only %s", model, family)
	}
	return want
}

// refuse names what would change the numbers and is not computed.
func (o *object) refuse() {
	if act := o.str("hidden_act"); act != "" && act != "silu" && act != "swish" {
		o.fail(Unsupported, "hidden_act %.80q is not supported, only silu", act)
	}
	for _, key := range []string{"quantization_config", "compression_config"} {
		if !o.has(key) {
			continue
		}
		method := "unknown method"
		var q struct {
			Method string `json:"quant_method"`
		}
		if json.Unmarshal(o.raw[key], &q) == nil && q.Method != "" {
			method = fmt.Sprintf("%.80q", q.Method)
		}
		o.fail(Unsupported, "%s (%s): quantization is not supported; use the BF16, F16 or F32 checkpoint", key, method)
	}
	if o.has("partial_rotary_factor") && o.number("partial_rotary_factor", 0, true) != 1 {
		o.fail(Unsupported, "partial_rotary_factor %s is not supported, only 1", o.text("partial_rotary_factor"))
	}
	if o.has("sliding_window") {
		o.fail(Unsupported, "sliding_window %s is not supported", o.text("sliding_window"))
	}
}

// validate checks what concerns several values, and fills HeadDim.
func (c *Config) validate() error {
	if c.QHeads%c.KVHeads != 0 {
		return fault(ConfigValue, "num_attention_heads %d is not a multiple of num_key_value_heads %d", c.QHeads, c.KVHeads)
	}
	if c.HeadDim == 0 {
		if c.Hidden%c.QHeads != 0 {
			return fault(ConfigValue, "hidden_size %d is not a multiple of num_attention_heads %d, and there is no head_dim", c.Hidden, c.QHeads)
		}
		c.HeadDim = c.Hidden / c.QHeads
	}
	if c.HeadDim%2 != 0 {
		return fault(ConfigValue, "head_dim %d is odd; RoPE needs an even number", c.HeadDim)
	}
	if c.HeadDim > MaxHeadDim {
		return fault(ConfigValue, "head_dim %d (hidden_size / num_attention_heads), the largest accepted is %d", c.HeadDim, MaxHeadDim)
	}
	if c.QHeads*c.HeadDim > MaxHidden {
		return fault(ConfigValue, "num_attention_heads %d times head_dim %d is over the largest accepted %d", c.QHeads, c.HeadDim, MaxHidden)
	}
	return nil
}

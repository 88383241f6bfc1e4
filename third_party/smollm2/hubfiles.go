package smollm2

import "strconv"

// Token types of the file: everything but ordinary text is an added token, and control tokens are special.
const (
	typeNormal  = 1
	typeControl = 3
)

func (m *metadata) config() object {
	return object{
		{"architectures", []any{"LlamaForCausalLM"}},
		{"attention_bias", false},
		{"attention_dropout", 0.0},
		{"bos_token_id", m.n["tokenizer.ggml.bos_token_id"]},
		{"eos_token_id", m.n["tokenizer.ggml.eos_token_id"]},
		{"hidden_act", "silu"},
		{"hidden_size", m.n["llama.embedding_length"]},
		{"initializer_range", 0.041666666666666664},
		{"intermediate_size", m.n["llama.feed_forward_length"]},
		{"max_position_embeddings", m.n["llama.context_length"]},
		{"mlp_bias", false},
		{"model_type", "llama"},
		{"num_attention_heads", m.n["llama.attention.head_count"]},
		{"num_hidden_layers", m.n["llama.block_count"]},
		{"num_key_value_heads", m.n["llama.attention.head_count_kv"]},
		{"pad_token_id", m.n["tokenizer.ggml.padding_token_id"]},
		{"pretraining_tp", 1},
		{"rms_norm_eps", m.eps},
		{"rope_scaling", nil},
		{"rope_theta", m.theta},
		{"tie_word_embeddings", !m.untied},
		{"torch_dtype", "bfloat16"},
		{"use_cache", true},
		{"vocab_size", m.n["llama.vocab_size"]},
	}
}

func (m *metadata) generationConfig() object {
	return object{
		{"bos_token_id", m.n["tokenizer.ggml.bos_token_id"]},
		{"eos_token_id", m.n["tokenizer.ggml.eos_token_id"]},
		{"pad_token_id", m.n["tokenizer.ggml.padding_token_id"]},
	}
}

func addedToken(text string, control bool) object {
	return object{
		{"content", text}, {"single_word", false}, {"lstrip", false},
		{"rstrip", false}, {"normalized", false}, {"special", control},
	}
}

// eachAdded calls do for the tokens that are not ordinary text.
func (m *metadata) eachAdded(do func(id int, text string, control bool)) {
	for id, kind := range m.kinds {
		if kind != int64(typeNormal) {
			do(id, m.tokens[id].(string), kind == int64(typeControl))
		}
	}
}

// tokenizer is the byte-level BPE of the file: digits one by one, then the GPT-2 pattern.
func (m *metadata) tokenizer() object {
	var added []any
	m.eachAdded(func(id int, text string, control bool) {
		added = append(added, append(object{{"id", id}}, addedToken(text, control)...))
	})
	vocab := make(object, len(m.tokens))
	for id, text := range m.tokens {
		vocab[id] = member{text.(string), id}
	}
	byteLevel := func(prefix bool) object {
		return object{{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", true}}
	}
	return object{
		{"version", "1.0"},
		{"truncation", nil},
		{"padding", nil},
		{"added_tokens", added},
		{"normalizer", nil},
		{"pre_tokenizer", object{{"type", "Sequence"}, {"pretokenizers", []any{
			object{{"type", "Digits"}, {"individual_digits", true}},
			byteLevel(false),
		}}}},
		{"post_processor", nil},
		{"decoder", byteLevel(true)},
		{"model", object{
			{"type", "BPE"}, {"dropout", nil}, {"unk_token", nil}, {"continuing_subword_prefix", nil},
			{"end_of_word_suffix", nil}, {"fuse_unk", false}, {"byte_fallback", false}, {"ignore_merges", false},
			{"vocab", vocab},
			{"merges", m.lines},
		}},
	}
}

func (m *metadata) tokenizerConfig() object {
	var added object
	m.eachAdded(func(id int, text string, control bool) {
		added = append(added, member{strconv.Itoa(id), addedToken(text, control)})
	})
	return object{
		{"add_prefix_space", false},
		{"added_tokens_decoder", added},
		{"additional_special_tokens", []any{"<|im_start|>", "<|im_end|>"}},
		{"bos_token", m.special("bos")},
		{"chat_template", m.template},
		{"clean_up_tokenization_spaces", false},
		{"eos_token", m.special("eos")},
		{"model_max_length", m.n["llama.context_length"]},
		{"pad_token", m.special("padding")},
		{"tokenizer_class", "PreTrainedTokenizerFast"},
		{"unk_token", m.special("unknown")},
	}
}

func (m *metadata) specialTokensMap() object {
	return object{
		{"additional_special_tokens", []any{"<|im_start|>", "<|im_end|>"}},
		{"bos_token", m.special("bos")},
		{"eos_token", m.special("eos")},
		{"pad_token", m.special("padding")},
		{"unk_token", m.special("unknown")},
	}
}

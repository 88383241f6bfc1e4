package smollm2

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// object is a JSON object with its order kept. The files are laid out as Python's json module lays them out with an
// indent of 2 and without escaping, because their checksums are fixed that way.
type object []member

type member struct {
	key   string
	value any // nil, bool, int, float64, string, []any or object
}

func render(o object) []byte { return append(appendJSON(nil, o, 0), '\n') }

func appendJSON(out []byte, value any, depth int) []byte {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case int:
		return strconv.AppendInt(out, int64(v), 10)
	case float64:
		return append(out, pythonFloat(v)...)
	case string:
		return appendText(out, v)
	case []any:
		return appendList(out, '[', ']', len(v), depth, func(out []byte, i int) []byte {
			return appendJSON(out, v[i], depth+1)
		})
	case object:
		return appendList(out, '{', '}', len(v), depth, func(out []byte, i int) []byte {
			out = append(appendText(out, v[i].key), ": "...)
			return appendJSON(out, v[i].value, depth+1)
		})
	}
	panic(fmt.Sprintf("smollm2: no JSON for %T", value)) // a mistake in this package, not in a file
}

func appendList(out []byte, open, end byte, n, depth int, item func([]byte, int) []byte) []byte {
	out = append(out, open)
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, "\n"+strings.Repeat("  ", depth+1)...)
		out = item(out, i)
	}
	if n > 0 {
		out = append(out, "\n"+strings.Repeat("  ", depth)...)
	}
	return append(out, end)
}

func appendText(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r == '\b':
			out = append(out, `\b`...)
		case r == '\f':
			out = append(out, `\f`...)
		case r < ' ':
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}

// pythonFloat is repr(float): the shortest digits that read back, an exponent below 1e-4 and from 1e16 on, and always
// a point or an exponent.
func pythonFloat(v float64) string {
	if a := math.Abs(v); v != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func (f *ggufFile) number(key string) (int, error) {
	if n, ok := f.meta[key].(uint64); ok && n <= math.MaxInt32 {
		return int(n), nil
	}
	return 0, fmt.Errorf("metadata %s is missing or no count", key)
}

// metadata gathers what the files need, so that a missing key is found before anything is written.
type metadata struct {
	n                    map[string]int
	eps, theta           float64
	tokens, kinds, lines []any
	template             string
	untied               bool
}

func (f *ggufFile) metadata() (*metadata, error) {
	if a, p, m := f.meta["general.architecture"], f.meta["tokenizer.ggml.pre"], f.meta["tokenizer.ggml.model"]; a != "llama" || m != "gpt2" || p != "smollm" {
		return nil, fmt.Errorf("architecture %v with tokenizer %v/%v: want llama with gpt2/smollm", a, m, p)
	}
	m := &metadata{n: map[string]int{}}
	for _, key := range []string{
		"llama.embedding_length", "llama.feed_forward_length", "llama.context_length", "llama.attention.head_count",
		"llama.block_count", "llama.attention.head_count_kv", "llama.vocab_size", "tokenizer.ggml.bos_token_id",
		"tokenizer.ggml.eos_token_id", "tokenizer.ggml.padding_token_id", "tokenizer.ggml.unknown_token_id",
	} {
		n, err := f.number(key)
		if err != nil {
			return nil, err
		}
		m.n[key] = n
	}
	eps, ok1 := f.meta["llama.attention.layer_norm_rms_epsilon"].(float64)
	theta, ok2 := f.meta["llama.rope.freq_base"].(float64)
	template, ok3 := f.meta["tokenizer.chat_template"].(string)
	if !ok1 || !ok2 || !ok3 {
		return nil, fmt.Errorf("metadata of the norm, of RoPE or of the chat template is missing")
	}
	m.theta, m.template = theta, template
	m.eps, _ = strconv.ParseFloat(strconv.FormatFloat(eps, 'g', 6, 64), 64) // a float32 in the file: 1e-5 was meant
	m.tokens, _ = f.meta["tokenizer.ggml.tokens"].([]any)
	m.kinds, _ = f.meta["tokenizer.ggml.token_type"].([]any)
	m.lines, _ = f.meta["tokenizer.ggml.merges"].([]any)
	if len(m.tokens) == 0 || len(m.kinds) != len(m.tokens) {
		return nil, fmt.Errorf("%d tokens and %d token types", len(m.tokens), len(m.kinds))
	}
	for _, list := range [][]any{m.tokens, m.lines} {
		for _, v := range list {
			if _, ok := v.(string); !ok {
				return nil, fmt.Errorf("a token or merge is no text")
			}
		}
	}
	for _, key := range []string{"bos", "eos", "padding", "unknown"} {
		if m.n["tokenizer.ggml."+key+"_token_id"] >= len(m.tokens) {
			return nil, fmt.Errorf("the %s token is not in the vocabulary", key)
		}
	}
	_, m.untied = f.tensors["output.weight"]
	return m, nil
}

// special is the text of a special token, by its role.
func (m *metadata) special(role string) string {
	return m.tokens[m.n["tokenizer.ggml."+role+"_token_id"]].(string)
}

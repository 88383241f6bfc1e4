package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// maxID bounds the ids a file may name: the table of tokens is as long as the largest.
const maxID = 1 << 20

// metaspace is SentencePiece's blank, U+2581.
const metaspace = "\u2581"

var errUnsupported = errors.New("unsupported")

type tokenKind int

const (
	kindByteLevel tokenKind = iota // every character of a token stands for one byte (GPT-2, Llama 3)
	kindPieces                     // tokens are text, with U+2581 for a blank and maybe <0xNN> for bytes (Llama 2)
	kindJoined                     // no decoder: tokens are words joined by blanks
	kindPreset                     // no table: id = byte, " wN" above
)

type token struct {
	text    string // as in the file
	bytes   string // what it decodes to, before the rules that look at its neighbours
	present bool
	added   bool // in added_tokens
	control bool // added and special: left out when control tokens are skipped
}

// vocabulary is the decoding half of a tokenizer: id to bytes.
type vocabulary struct {
	kind    tokenKind
	tokens  []token
	ids     map[string]int32
	size    int    // highest id + 1
	model   int    // entries of the model's own vocabulary
	strip   int    // characters of stripSet dropped at the start of the text
	stripOf string // the character that strip drops
	first   bool   // the first token loses every U+2581 (the Metaspace decoder)
	blank   string // what a piece writes for a blank; "" if nothing does

	// kindByteLevel only: the token that is one byte, if there is one, and whether a longer token has the byte in it.
	byteID   [256]int32
	hasByte  [256]bool
	inLonger [256]bool
}

// VocabSize is the highest id + 1; ids below it may be unused.
func (v *vocabulary) VocabSize() int { return v.size }

// ID finds a token by its text in the file, such as "<|im_end|>".
func (v *vocabulary) ID(text string) (int32, bool) {
	id, ok := v.ids[text]
	return id, ok
}

// ModelVocabSize counts the entries of the model's own vocabulary, added tokens left out: what the Python tokenizers
// call vocab_size.
func (v *vocabulary) ModelVocabSize() int { return v.model }

// Special is the ids of the control tokens, ascending.
func (v *vocabulary) Special() []int32 {
	return v.where(func(t token) bool { return t.control })
}

// Vocabulary is every id that there is a token for, added ones included, ascending.
func (v *vocabulary) Vocabulary() []int32 {
	if v.kind != kindPreset {
		return v.where(func(t token) bool { return t.present })
	}
	ids := make([]int32, v.size)
	for i := range ids {
		ids[i] = int32(i)
	}
	return ids
}

func (v *vocabulary) where(wanted func(token) bool) []int32 {
	var ids []int32
	for i, t := range v.tokens {
		if wanted(t) {
			ids = append(ids, int32(i))
		}
	}
	return ids
}

// Control reports whether id is a control token.
func (v *vocabulary) Control(id int32) bool {
	return id >= 0 && int(id) < len(v.tokens) && v.tokens[id].control
}

// TokenBytes is what id decodes to in the middle of a text; false for an id that the tokenizer does not have. The
// bytes of one token need not be whole characters.
func (v *vocabulary) TokenBytes(id int32) ([]byte, bool) {
	if v.kind == kindPreset {
		switch {
		case id < 0 || int(id) >= v.size:
			return nil, false
		case id < 256:
			return []byte{byte(id)}, true
		}
		return strconv.AppendInt([]byte(" w"), int64(id), 10), true
	}
	if id < 0 || int(id) >= len(v.tokens) || !v.tokens[id].present {
		return nil, false
	}
	return []byte(v.tokens[id].bytes), true
}

// tokenizerFile is what the table needs of tokenizer.json.
type tokenizerFile struct {
	AddedTokens []struct {
		ID      int64  `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
	Decoder *decoderSpec `json:"decoder"`
	Model   struct {
		Type  string          `json:"type"`
		Vocab json.RawMessage `json:"vocab"`
	} `json:"model"`
}

func parseVocabulary(data []byte) (*vocabulary, error) {
	var f tokenizerFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, describeJSON(data, err)
	}
	v := &vocabulary{}
	rule, err := v.chooseDecoder(f.Decoder)
	if err != nil {
		return nil, err
	}
	words, err := modelVocab(f.Model.Vocab)
	if err != nil {
		return nil, err
	}
	top := int64(-1)
	for _, id := range words {
		if id < 0 || id >= maxID {
			return nil, fmt.Errorf("vocab: id %d is out of range", id)
		}
		top = max(top, id)
	}
	for _, a := range f.AddedTokens {
		if a.ID < 0 || a.ID >= maxID {
			return nil, fmt.Errorf("added_tokens: id %d is out of range", a.ID)
		}
		top = max(top, a.ID)
	}
	if top < 0 {
		return nil, errors.New("it has no tokens")
	}
	v.size, v.model = int(top)+1, len(words)
	v.tokens = make([]token, v.size)
	v.ids = make(map[string]int32, len(words)+len(f.AddedTokens))
	for text, id := range words {
		v.tokens[id] = token{text: text, bytes: rule(text), present: true}
		v.ids[text] = int32(id)
		v.countBytes(v.tokens[id].bytes, int32(id))
	}
	for _, a := range f.AddedTokens {
		bytes := a.Content
		if v.kind == kindPieces {
			bytes = rule(a.Content)
		}
		v.tokens[a.ID] = token{text: a.Content, bytes: bytes, present: true, added: true, control: a.Special}
		v.ids[a.Content] = int32(a.ID)
		v.countBytes(bytes+bytes, 0) // however short, it is no plain byte
	}
	return v, nil
}

func (v *vocabulary) countBytes(bytes string, id int32) {
	if v.kind != kindByteLevel {
		return
	}
	if len(bytes) == 1 {
		v.byteID[bytes[0]], v.hasByte[bytes[0]] = id, true
		return
	}
	for i := range len(bytes) {
		v.inLonger[bytes[i]] = true
	}
}

// describeJSON says where in the file a decoding error is.
func describeJSON(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		if int(syntax.Offset) >= len(data) {
			return fmt.Errorf("not JSON: it ends early, after %d bytes: %w", len(data), err)
		}
		return fmt.Errorf("not JSON: at byte %d: %w", syntax.Offset, err)
	}
	return fmt.Errorf("not a tokenizer: %w", err)
}

// modelVocab reads a vocabulary: a map from text to id (BPE, WordLevel) or a list of [text, score] (Unigram).
func modelVocab(raw json.RawMessage) (map[string]int64, error) {
	words := map[string]int64{}
	if len(raw) == 0 || raw[0] == '{' {
		if len(raw) == 0 {
			return nil, errors.New("it has no model.vocab")
		}
		if err := json.Unmarshal(raw, &words); err != nil {
			return nil, fmt.Errorf("model.vocab: %w", err)
		}
		return words, nil
	}
	var list [][2]any
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("model.vocab: %w", err)
	}
	for id, pair := range list {
		text, ok := pair[0].(string)
		if !ok {
			return nil, fmt.Errorf("model.vocab: entry %d is no token", id)
		}
		words[text] = int64(id)
	}
	return words, nil
}

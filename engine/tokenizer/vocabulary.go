package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	v.size = int(top) + 1
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

// decoderSpec is one decoder of tokenizer.json, or a sequence of them.
type decoderSpec struct {
	Type           string          `json:"type"`
	Decoders       []decoderSpec   `json:"decoders"`
	Pattern        json.RawMessage `json:"pattern"`
	Content        string          `json:"content"`
	Start          int             `json:"start"`
	Stop           int             `json:"stop"`
	Replacement    string          `json:"replacement"`
	PrependScheme  string          `json:"prepend_scheme"`
	AddPrefixSpace *bool           `json:"add_prefix_space"`
}

// chooseDecoder turns the decoder of the file into a rule from a token's text to its bytes, plus what depends on the
// place of the token in the text.
func (v *vocabulary) chooseDecoder(d *decoderSpec) (func(string) string, error) {
	if d == nil {
		v.kind = kindJoined
		return func(s string) string { return s }, nil
	}
	steps := []decoderSpec{*d}
	if d.Type == "Sequence" {
		steps = d.Decoders
	}
	if len(steps) == 1 && steps[0].Type == "ByteLevel" {
		v.kind = kindByteLevel
		alphabet := byteAlphabet()
		return func(s string) string { return fromByteLevel(s, alphabet) }, nil
	}
	v.kind = kindPieces
	var replace []string
	fallback, fused := false, false
	for i, s := range steps {
		switch s.Type {
		case "Replace":
			var p struct{ String string }
			if json.Unmarshal(s.Pattern, &p) != nil || p.String == "" || fallback || fused {
				return nil, fmt.Errorf("decoder %d (Replace): only a string pattern before ByteFallback: %w", i, errUnsupported)
			}
			replace = append(replace, p.String, s.Content)
		case "Metaspace":
			if fallback || fused {
				return nil, fmt.Errorf("decoder %d (Metaspace) after ByteFallback or Fuse: %w", i, errUnsupported)
			}
			v.blank = metaspace
			if s.Replacement != "" {
				v.blank = s.Replacement
			}
			v.first = s.PrependScheme != "never" && (s.AddPrefixSpace == nil || *s.AddPrefixSpace)
			replace = append(replace, v.blank, " ")
		case "ByteFallback":
			fallback = true
		case "Fuse":
			fused = true
		case "Strip":
			if !fused || s.Stop != 0 || s.Start < 0 || len([]rune(s.Content)) != 1 || v.strip != 0 {
				return nil, fmt.Errorf("decoder %d (Strip): only at the start of the fused text: %w", i, errUnsupported)
			}
			v.strip, v.stripOf = s.Start, s.Content
		default:
			return nil, fmt.Errorf("decoder %d is %q: %w", i, s.Type, errUnsupported)
		}
	}
	pairs := slices.Clone(replace)
	return func(s string) string {
		for i := 0; i < len(pairs); i += 2 {
			s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
		}
		if fallback {
			if b, ok := byteToken(s); ok {
				return string([]byte{b})
			}
		}
		return s
	}, nil
}

// byteToken reads "<0x0A>".
func byteToken(s string) (byte, bool) {
	if len(s) != 6 || !strings.HasPrefix(s, "<0x") || s[5] != '>' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[3:5], 16, 8)
	return byte(n), err == nil
}

// byteAlphabet is the table of byte-level BPE: the 188 printable Latin-1 characters stand for themselves, the other
// bytes for U+0100 on, in order (Radford et al. 2019, bytes_to_unicode).
func byteAlphabet() map[rune]byte {
	alphabet, next := make(map[rune]byte, 256), rune(256)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			alphabet[b] = byte(b)
			continue
		}
		alphabet[next] = byte(b)
		next++
	}
	return alphabet
}

// fromByteLevel undoes the alphabet; a token with a character outside it stands for its own UTF-8.
func fromByteLevel(s string, alphabet map[rune]byte) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		b, ok := alphabet[r]
		if !ok {
			return s
		}
		out = append(out, b)
	}
	return string(out)
}

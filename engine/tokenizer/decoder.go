package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

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
	var p pieceRule
	for i, s := range steps {
		if err := v.addStep(&p, s); err != nil {
			return nil, fmt.Errorf("decoder %d (%s): %w", i, s.Type, err)
		}
	}
	return p.apply, nil
}

// pieceRule is what the steps of a decoder do to one token.
type pieceRule struct {
	replace         []string // old, new, old, new, …
	fallback, fused bool
}

func (p *pieceRule) apply(s string) string {
	for i := 0; i < len(p.replace); i += 2 {
		s = strings.ReplaceAll(s, p.replace[i], p.replace[i+1])
	}
	if b, ok := byteToken(s); ok && p.fallback {
		return string([]byte{b})
	}
	return s
}

// addStep adds a decoder of a sequence, or says that no token-by-token rule does the same.
func (v *vocabulary) addStep(p *pieceRule, s decoderSpec) error {
	switch s.Type {
	case "Replace":
		var pattern struct{ String string }
		if json.Unmarshal(s.Pattern, &pattern) != nil || pattern.String == "" || p.fallback || p.fused {
			return fmt.Errorf("but for a text pattern before ByteFallback it is %w", errUnsupported)
		}
		p.replace = append(p.replace, pattern.String, s.Content)
	case "Metaspace":
		if p.fallback || p.fused {
			return fmt.Errorf("after ByteFallback or Fuse it is %w", errUnsupported)
		}
		v.blank = metaspace
		if s.Replacement != "" {
			v.blank = s.Replacement
		}
		v.first = s.PrependScheme != "never" && (s.AddPrefixSpace == nil || *s.AddPrefixSpace)
		p.replace = append(p.replace, v.blank, " ")
	case "ByteFallback":
		p.fallback = true
	case "Fuse":
		p.fused = true
	case "Strip":
		if !p.fused || s.Stop != 0 || s.Start < 0 || len([]rune(s.Content)) != 1 || v.strip != 0 {
			return fmt.Errorf("but for the start of the fused text it is %w", errUnsupported)
		}
		v.strip, v.stripOf = s.Start, s.Content
	default:
		return errUnsupported
	}
	return nil
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

//go:build cgo && !notokenizer

package tokenizer_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// metaspaceFile writes a tokenizer of the SentencePiece kind: U+2581 for a blank, <0xNN> for bytes, in the layout that
// decoder asks for: "strip" as converted Llama 2 tokenizers have it, the others as the Metaspace decoder does it.
func metaspaceFile(t *testing.T, decoder string) string {
	t.Helper()
	vocab := map[string]int{"<unk>": 0, "<s>": 1, "</s>": 2}
	for b := range 256 {
		vocab[fmt.Sprintf("<0x%02X>", b)] = 3 + b
	}
	add := func(tokens ...string) {
		for _, s := range tokens {
			if _, ok := vocab[s]; !ok {
				vocab[s] = len(vocab)
			}
		}
	}
	var merges []string
	add("\u2581")
	for _, word := range []string{"\u2581I", "\u2581am", "\u2581testing", "\u2581\u2581", "\u2581\u2581\u2581\u2581", "\u2581caf\u00e9"} {
		built := ""
		for _, r := range word {
			add(string(r))
			if built != "" {
				merges = append(merges, built+" "+string(r))
			}
			built += string(r)
			add(built)
		}
	}
	add("a", "b", ".", "x")
	special := func(id int, s string) map[string]any {
		return map[string]any{"id": id, "content": s, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
	}
	normalizer := map[string]any{"type": "Sequence", "normalizers": []any{
		map[string]any{"type": "Prepend", "prepend": "\u2581"},
		map[string]any{"type": "Replace", "pattern": map[string]any{"String": " "}, "content": "\u2581"},
	}}
	file := map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "pre_tokenizer": nil, "post_processor": nil,
		"added_tokens": []any{special(0, "<unk>"), special(1, "<s>"), special(2, "</s>")},
		"normalizer":   normalizer,
		"decoder":      map[string]any{"type": "Sequence", "decoders": decoders(decoder)},
		"model": map[string]any{
			"type": "BPE", "dropout": nil, "unk_token": "<unk>", "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": true, "byte_fallback": true, "ignore_merges": false, "vocab": vocab, "merges": merges,
		},
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func decoders(name string) []any {
	if name != "strip" {
		return []any{map[string]any{"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": name, "split": false}}
	}
	return []any{
		map[string]any{"type": "Replace", "pattern": map[string]any{"String": "\u2581"}, "content": " "},
		map[string]any{"type": "ByteFallback"}, map[string]any{"type": "Fuse"},
		map[string]any{"type": "Strip", "content": " ", "start": 1, "stop": 0},
	}
}

// TestP225_BlanksSurviveStreaming: for both kinds of tokenizer the pieces joined are the library's decode of all ids, and
// the leading blank is kept or dropped once, at the start of the text.
func TestP225_BlanksSurviveStreaming(t *testing.T) {
	texts := []string{
		"I am testing", " I am testing", "  I am", "    a    b", "a    b", "I\n    am\n        testing", "caf\u00e9  \U0001F600 x", "a\tb", "I  am   testing    .", "",
	}
	paths := map[string]string{"smollm2": filepath.Join(smolDir(t), "tokenizer.json")}
	for _, decoder := range []string{"strip", "first", "never"} {
		paths[decoder] = metaspaceFile(t, decoder)
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			tok, second := open(t, path), rust(t, path)
			for _, text := range texts {
				ids, err := tok.Encode(text, true)
				if err != nil {
					t.Fatal(err)
				}
				if name == "first" || name == "never" { // no byte fallback in these decoders: bytes stay spelled out
					ids = slices.DeleteFunc(ids, func(id int32) bool { return id >= 3 && id < 259 })
				}
				theirs := make([]uint32, len(ids))
				s := tok.Stream(true)
				var joined strings.Builder
				for i, id := range ids {
					theirs[i] = uint32(id)
					joined.WriteString(s.Push(id))
				}
				joined.WriteString(s.Finish())
				want := second.Decode(theirs, true)
				if joined.String() != want || tok.Decode(ids, true) != want {
					t.Errorf("%q: streamed %q, decoded %q, the library says %q", text, joined.String(), tok.Decode(ids, true), want)
				}
				if (name == "smollm2" || name == "strip") && want != text {
					t.Errorf("%q comes back as %q", text, want)
				}
			}
		})
	}
}

// TestMetaspaceDecodeIsTheLibrarys on random ids. A run of byte tokens that is not UTF-8 as a whole is left out: there
// the library gives up on all of it, which no stream can know in time.
func TestMetaspaceDecodeIsTheLibrarys(t *testing.T) {
	for _, decoder := range []string{"strip", "first", "never"} {
		path := metaspaceFile(t, decoder)
		tok, second := open(t, path), rust(t, path)
		rng := rand.New(rand.NewPCG(3, 4))
		for range 2000 {
			var ids []int32
			for range rng.IntN(12) {
				id := rng.IntN(tok.VocabSize())
				if id >= 3 && id < 259 {
					id = 3 + 'A' + rng.IntN(26)
				}
				ids = append(ids, int32(id))
			}
			theirs := make([]uint32, len(ids))
			for i, id := range ids {
				theirs[i] = uint32(id)
			}
			for _, skip := range []bool{true, false} {
				if got, want := tok.Decode(ids, skip), second.Decode(theirs, skip); got != want {
					t.Fatalf("%s: %v (skip %v) decodes to %q, the library says %q", decoder, ids, skip, got, want)
				}
			}
		}
	}
}

// TestByteFallbackStream: bytes of one character in several tokens come out together; a bad one costs one U+FFFD.
func TestByteFallbackStream(t *testing.T) {
	tok := open(t, metaspaceFile(t, "strip"))
	s := tok.Stream(true)
	var parts []string
	for _, b := range []byte("\U0001F600a") {
		parts = append(parts, s.Push(3+int32(b)))
	}
	if want := []string{"", "", "", "\U0001F600", "a"}; !slices.Equal(parts, want) {
		t.Errorf("streamed %q, want %q", parts, want)
	}
	parts = nil
	for _, b := range []byte{0xE2, 0x80, 'a', 0xC3} {
		parts = append(parts, s.Push(3+int32(b)))
	}
	parts = append(parts, s.Finish())
	if want := []string{"", "", "\uFFFDa", "", "\uFFFD"}; !slices.Equal(parts, want) {
		t.Errorf("streamed %q, want %q", parts, want)
	}
}

// TestNULByFallback: U+0000 becomes <0x00>, other control characters stay theirs.
func TestNULByFallback(t *testing.T) {
	tok := open(t, metaspaceFile(t, "strip"))
	ids, err := tok.Encode("a\x00\x01b", true)
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Decode(ids, true); got != "a\x00\x01b" || !slices.Contains(ids, 3) {
		t.Errorf("ids %v decode to %q", ids, got)
	}
}

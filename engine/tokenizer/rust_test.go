//go:build cgo && !notokenizer

package tokenizer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"lathe/engine/tokenizer"

	"github.com/daulet/tokenizers"
)

func TestGoldenMalformedLarger(t *testing.T) {
	tok := open(t, "testdata/malformed/tokenizer-larger")
	var e *tokenizer.Error
	if err := tok.CheckVocab(32); !errors.As(err, &e) || e.Class != "tokenizer" || !strings.Contains(err.Error(), "32") {
		t.Errorf("error %v, want class tokenizer and the 32 of the model", err)
	}
	if err := tok.CheckVocab(40); err != nil || tok.VocabSize() != 40 {
		t.Errorf("a model of 40 rows: %v; the vocabulary is %d", err, tok.VocabSize())
	}
}

func TestGoldenChatIDs(t *testing.T) {
	tok := open(t, smolDir(t))
	template, err := tokenizer.ReadChatTemplate(smolDir(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := template.Special("eos_token"); got != "<|im_end|>" {
		t.Errorf("eos_token is %q", got)
	}
	source, cases := readChatGolden(t)
	if source == "" {
		t.Fatal("no template")
	}
	for _, c := range cases {
		text, err := template.Render(tokenizer.Conversation{Messages: c.Messages, AddGenerationPrompt: c.AddGenerationPrompt})
		if err != nil || text != c.Text {
			t.Fatalf("case %d: %q, %v; want %q", c.N, text, err, c.Text)
		}
		ids, err := tok.Encode(text, true)
		if err != nil || !slices.Equal(ids, c.IDs) {
			t.Errorf("case %d: %v, %v; want %v", c.N, ids, err, c.IDs)
		}
	}
}

func TestLlama3(t *testing.T) {
	tok := open(t, llama3Dir(t))
	for text, want := range map[string][]int32{"": {128000}, "a": {128000, 64}, "a\x00b": {128000, 64, 188, 65}} {
		if ids, err := tok.EncodeFramed(text, true); err != nil || !slices.Equal(ids, want) {
			t.Errorf("framed %q: %v, %v; want %v", text, ids, err, want)
		}
	}
	if ids, err := tok.Encode("", true); err != nil || len(ids) != 0 {
		t.Errorf("the empty text has the ids %v, %v", ids, err)
	}
	if id, ok := tok.ID("<|eot_id|>"); !ok || id != 128009 || !tok.Control(id) || tok.Control(64) {
		t.Errorf("<|eot_id|> is %d, %v", id, ok)
	}
	if tok.VocabSize() != 128256 || tok.CheckVocab(128256) != nil {
		t.Errorf("the vocabulary is %d", tok.VocabSize())
	}
	checkNUL(t, tok)
}

// checkNUL: whichever control characters stand beside U+0000, decoding gives the text back.
func checkNUL(t *testing.T, tok *tokenizer.Tokenizer) {
	t.Helper()
	for _, text := range []string{"\x00", "\x00\x00", "a\x00\x01b", "\x01\x02\x03\x00\x05", " \x00 ", "x\x00\x7f\x1b", "!\x00!", "a\x00<|eot_id|>\x00"} {
		for _, control := range []bool{true, false} {
			ids, err := tok.Encode(text, control)
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.Decode(ids, false); got != text {
				t.Errorf("%q (control %v) decodes to %q", text, control, got)
			}
		}
	}
	var all strings.Builder
	for c := range rune(0x80) {
		all.WriteRune(c)
	}
	if ids, err := tok.Encode(all.String(), true); err == nil {
		t.Errorf("a text of every control character gave %d ids, want an error", len(ids))
	}
}

// TestNULInMerges: where U+0000 is part of longer tokens the ids are those of the merges, as for any other byte.
func TestNULInMerges(t *testing.T) {
	data, err := os.ReadFile("testdata/tiny/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), `"<|eos|>": 255`, `"<|eos|>": 255, "\u0100\u0100": 256, "a\u0100": 257, "\u0101\u0101": 258`, 1)
	for _, merges := range []string{`["\u0100 \u0100","a \u0100","\u0101 \u0101"]`, `[["\u0100","\u0100"],["a","\u0100"],["\u0101","\u0101"]]`} {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		if err := os.WriteFile(path, []byte(strings.Replace(text, `"merges": []`, `"merges": `+merges, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		tok := open(t, path)
		for in, want := range map[string][]int32{
			"\x00\x00":     {256},
			"\x00\x00\x00": {256, 0},
			"a\x00b":       {97, 0, 98}, // the split pattern keeps a letter from what is none
			"\x01\x01\x00": {258, 0},
			"\x01\x00\x01": {1, 0, 1},
			"\x02\x00\x00": {2, 256},
		} {
			if ids, err := tok.Encode(in, true); err != nil || !slices.Equal(ids, want) {
				t.Errorf("%q: %v, %v; want %v", in, ids, err, want)
			}
		}
		checkNUL(t, tok)
	}
}

// TestEncodeReplacesWhatIsNotUTF8 by U+FFFD, one for each maximal subpart.
func TestEncodeReplacesWhatIsNotUTF8(t *testing.T) {
	tok := open(t, smolDir(t))
	for in, same := range map[string]string{"a\xE2\x82b": "a\uFFFDb", "\xFF\xFE": "\uFFFD\uFFFD", "\xED\xA0\x80": "\uFFFD\uFFFD\uFFFD"} {
		a, err1 := tok.Encode(in, true)
		b, err2 := tok.Encode(same, true)
		if err1 != nil || err2 != nil || !slices.Equal(a, b) || len(a) == 0 {
			t.Errorf("%q: %v, %v; %q: %v, %v", in, a, err1, same, b, err2)
		}
	}
}

func TestEncodeRefusesHugeTexts(t *testing.T) {
	tok := open(t, "testdata/tiny")
	if ids, err := tok.Encode(strings.Repeat("a", 8<<20+1), true); err == nil {
		t.Errorf("8 MiB and a byte gave %d ids", len(ids))
	}
}

// rust is the library itself, as a second opinion on decoding.
func rust(t *testing.T, path string) *tokenizers.Tokenizer {
	t.Helper()
	r, err := tokenizers.FromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestDecodeIsTheLibrarys: random ids of byte-level tokenizers. The C interface cannot return a text with U+0000.
func TestDecodeIsTheLibrarys(t *testing.T) {
	for _, dir := range []string{smolDir(t), llama3Dir(t)} {
		tok, second := open(t, dir), rust(t, filepath.Join(dir, "tokenizer.json"))
		rng := rand.New(rand.NewPCG(1, 2))
		compared := 0
		for range 1000 {
			ids := make([]int32, 1+rng.IntN(24))
			theirs := make([]uint32, len(ids))
			top := tok.VocabSize()
			if rng.IntN(2) == 0 {
				top = 300 // the tokens of single bytes are among the first
			}
			for i := range ids {
				ids[i] = int32(rng.IntN(top))
				theirs[i] = uint32(ids[i])
			}
			for _, skip := range []bool{true, false} {
				got := tok.Decode(ids, skip)
				if strings.Contains(got, "\x00") {
					continue
				}
				compared++
				if want := second.Decode(theirs, skip); got != want {
					t.Fatalf("%v (skip %v) decodes to %q, the library says %q", ids, skip, got, want)
				}
			}
		}
		if compared < 1300 {
			t.Errorf("only %d of 2000 compared", compared)
		}
	}
}

// TestConcurrentUse encodes in all modes from many goroutines, U+0000 among them.
func TestConcurrentUse(t *testing.T) {
	tok := open(t, smolDir(t))
	template, err := tokenizer.ReadChatTemplate(smolDir(t))
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"Hello, world", "a\x00b", "a\x00\x01b", "<|im_end|>", strings.Repeat("x y ", 200)}
	want := map[string]string{}
	encode := func(text string, control bool) string {
		ids, err := tok.Encode(text, control)
		return fmt.Sprint(ids, err)
	}
	for _, text := range texts {
		want[text+"+"], want[text+"-"] = encode(text, true), encode(text, false)
	}
	conversation := tokenizer.Conversation{Messages: tokenizer.PlainMessages(tokenizer.Message{Role: "user", Content: "hi"})}
	prompt, err := template.Render(conversation)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 8 {
				text := texts[(g+i)%len(texts)]
				if got := encode(text, true); got != want[text+"+"] {
					t.Errorf("%.20q: %s, want %s", text, got, want[text+"+"])
				}
				if got := encode(text, false); got != want[text+"-"] {
					t.Errorf("%.20q plain: %s, want %s", text, got, want[text+"-"])
				}
				if got, err := template.Render(conversation); err != nil || got != prompt {
					t.Errorf("rendered %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestEncodeAfterClose(t *testing.T) {
	tok, err := tokenizer.Open("testdata/tiny")
	if err != nil {
		t.Fatal(err)
	}
	tok.Close()
	tok.Close()
	if ids, err := tok.Encode("a", true); err == nil {
		t.Errorf("a closed tokenizer gave %v", ids)
	}
}

// TestP207_CacheIsBounded: many long distinct texts, each one piece or many, do not stay in memory. The case asks for
// 100,000; what is kept of a text shows as well with fewer: 900 texts of 10 kB are 9 MB, and the symbols of
// those that are one piece, 32 bytes each, over 50 MB more.
func TestP207_CacheIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("9 MB of text take many seconds")
	}
	tok := open(t, smolDir(t))
	rng := rand.New(rand.NewPCG(7, 7))
	encode := func(n int) {
		for i := range n {
			text := make([]byte, 10_000)
			for j := range text {
				text[j] = byte('a' + rng.IntN(26))
				if i%3 == 2 && rng.IntN(6) == 0 {
					text[j] = ' '
				}
			}
			if _, err := tok.Encode(string(text), i%4 < 2); err != nil {
				t.Fatal(err)
			}
		}
	}
	encode(100)
	before := residentBytes(t)
	encode(900)
	after := residentBytes(t)
	if grown := after - before; grown > 32<<20 || after > 512<<20 {
		t.Errorf("resident memory went from %d to %d MiB", before>>20, after>>20)
	}
}

func residentBytes(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc/self/statm on this system")
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

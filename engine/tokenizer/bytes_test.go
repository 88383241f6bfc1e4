package tokenizer_test

import (
	"slices"
	"strings"
	"testing"

	"lathe/engine/tokenizer"
)

func TestBytesTokenizer(t *testing.T) {
	tok := tokenizer.Bytes(32000)
	defer tok.Close()
	text := "caf\u00e9\x00\n<|eot|> \U0001F600"
	ids, err := tok.Encode(text, true)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]int32, len(text))
	for i := range len(text) {
		want[i] = int32(text[i])
	}
	if !slices.Equal(ids, want) {
		t.Errorf("ids %v, want the bytes %v", ids, want)
	}
	if got := tok.Decode(ids, true); got != text {
		t.Errorf("decodes to %q, want %q", got, text)
	}
	if got := tok.Decode([]int32{'a', 256, 31999, 'b', 32000, -1}, false); got != "a w256 w31999b" {
		t.Errorf("decodes to %q", got)
	}
	if tok.VocabSize() != 32000 || tok.CheckVocab(32000) != nil || tok.CheckVocab(31999) == nil {
		t.Errorf("vocabulary of %d, checks %v, %v", tok.VocabSize(), tok.CheckVocab(32000), tok.CheckVocab(31999))
	}
	s := tok.Stream(false)
	var parts []string
	for _, id := range []int32{0xE2, 300, 0x82} {
		parts = append(parts, s.Push(id))
	}
	parts = append(parts, s.Finish())
	if want := []string{"", "\uFFFD w300", "\uFFFD", ""}; !slices.Equal(parts, want) {
		t.Errorf("streams %q, want %q", parts, want)
	}
}

func TestBytesTokenizerOfASmallVocabulary(t *testing.T) {
	if _, err := tokenizer.Bytes(128).Encode("\u00e9", false); err == nil || !strings.Contains(err.Error(), "128") {
		t.Errorf("error %v, want one that names the vocabulary of 128", err)
	}
	if got := tokenizer.Bytes(128).Decode([]int32{'a', 200}, false); got != "a" {
		t.Errorf("decodes to %q, want a", got)
	}
}

func TestBytesTokenizerReplacesWhatIsNotUTF8(t *testing.T) {
	ids, err := tokenizer.Bytes(256).Encode("a\xE2\x82b", false)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int32{'a', 0xEF, 0xBF, 0xBD, 'b'}; !slices.Equal(ids, want) {
		t.Errorf("ids %v, want %v", ids, want)
	}
}

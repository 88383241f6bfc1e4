//go:build cgo && !notokenizer

package tokenizer_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lathe/engine/tokenizer"
)

// What random prompts are drawn from: the model's own entries are counted without the added tokens, and
// the control tokens are named.
func TestVocabularyParts(t *testing.T) {
	added := ""
	for _, a := range []struct{ id, text, special string }{{"1", "<s>", "true"}, {"5", "<x>", "false"}, {"7", "</s>", "true"}} {
		added += `,{"id":` + a.id + `,"content":"` + a.text + `","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":` + a.special + `}`
	}
	file := `{"version":"1.0","added_tokens":[` + added[1:] + `],"pre_tokenizer":{"type":"WhitespaceSplit"},
"model":{"type":"WordLevel","unk_token":"a","vocab":{"a":0,"<s>":1,"b":2,"c":3}}}`
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer tok.Close()
	if got := tok.ModelVocabSize(); got != 4 || tok.VocabSize() != 8 {
		t.Errorf("%d entries of the model's own, %d ids; want 4 and 8", got, tok.VocabSize())
	}
	if got := tok.Special(); !slices.Equal(got, []int32{1, 7}) {
		t.Errorf("special ids %v", got)
	}
	if got := tok.Vocabulary(); !slices.Equal(got, []int32{0, 1, 2, 3, 5, 7}) {
		t.Errorf("ids %v", got)
	}
	preset := tokenizer.Bytes(300)
	if got := preset.Vocabulary(); preset.ModelVocabSize() != 300 || len(got) != 300 || got[299] != 299 || preset.Special() != nil {
		t.Errorf("the byte tokenizer has %d entries, %d ids, special %v", preset.ModelVocabSize(), len(got), preset.Special())
	}
}

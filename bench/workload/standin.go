package workload

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"
)

// NoTokenizer is the name that stands for none.
const NoTokenizer = "none"

// StandIn is a tokenizer that only counts, by its name: "name:chars" makes one
// token of each Unicode code point, "name:words" of each non-empty piece between
// spaces (U+0020), "name:bytes" of each byte of the UTF-8. They put nothing
// around a sequence. ok says whether the name is one of theirs or "none", for
// which the Tokenizer is nil.
func StandIn(name string) (t Tokenizer, ok bool) {
	switch name {
	case "name:chars":
		return charTokens{}, true
	case "name:words":
		return wordTokens{}, true
	case "name:bytes":
		return byteTokens{}, true
	case NoTokenizer:
		return nil, true
	}
	return nil, false
}

// asciiVocab is the vocabulary that chars and bytes draw random prompts from:
// ASCII, its control characters being the special ids.
type asciiVocab struct{}

func (asciiVocab) VocabSize() int { return utf8.RuneSelf }

func (asciiVocab) Special() []int32 {
	ids := make([]int32, 0, 33)
	for id := range int32(' ') {
		ids = append(ids, id)
	}
	return append(ids, utf8.RuneSelf-1)
}

func (v asciiVocab) Vocabulary() []int32 { return ascending(v.VocabSize()) }

func ascending(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i)
	}
	return ids
}

type charTokens struct{ asciiVocab }

func (charTokens) Encode(text string, _ bool) ([]int32, error) { return []int32(text), nil }
func (charTokens) Decode(ids []int32) string                   { return string(ids) }

type byteTokens struct{ asciiVocab }

func (byteTokens) Encode(text string, _ bool) ([]int32, error) {
	ids := make([]int32, len(text))
	for i := range len(text) {
		ids[i] = int32(text[i])
	}
	return ids, nil
}

func (byteTokens) Decode(ids []int32) string {
	b := make([]byte, len(ids))
	for i, id := range ids {
		b[i] = byte(id)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// wordTokens spells id n as "wn"; another word has the id of its hash.
type wordTokens struct{}

const wordVocab = 32000

func (wordTokens) Encode(text string, _ bool) ([]int32, error) {
	var ids []int32
	for piece := range strings.SplitSeq(text, " ") {
		if piece == "" {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(piece, "w")); err == nil && n >= 0 && n < wordVocab && piece == fmt.Sprintf("w%d", n) {
			ids = append(ids, int32(n))
			continue
		}
		h := fnv.New32a()
		h.Write([]byte(piece))
		ids = append(ids, int32(h.Sum32()%wordVocab))
	}
	return ids, nil
}

func (wordTokens) Decode(ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = "w" + strconv.Itoa(int(id))
	}
	return strings.Join(words, " ")
}

func (wordTokens) VocabSize() int      { return wordVocab }
func (wordTokens) Special() []int32    { return nil }
func (wordTokens) Vocabulary() []int32 { return ascending(wordVocab) }

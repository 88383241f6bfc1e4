//go:build cgo && !notokenizer

package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The C interface of the Rust library takes a text as a C string, so it cannot carry U+0000. A text that has one is
// encoded with another control character in its place, one that it does not have. Both are of the same class (Cc) to
// every split pattern. Mostly neither byte is part of a longer token: then the ids are right but for that of the
// character itself, which is put back. Otherwise a second instance does the work, in whose vocabulary and merges the two
// have changed places, so that its ids are right as they are.

// disguise is text with U+0000 replaced by a control character that it does not have, none of those that are white
// space to some pattern. swapped: an instance made with swapNUL must encode it.
func disguise(text string, v *vocabulary) (disguised string, stand byte, swapped bool, err error) {
	for _, r := range [][2]byte{{0x01, 0x08}, {0x0E, 0x1B}, {0x7F, 0x7F}} {
		for c := r[0]; c <= r[1]; c++ {
			if strings.IndexByte(text, c) >= 0 {
				continue
			}
			if v.kind == kindByteLevel && !v.inLonger[0] && !v.inLonger[c] && v.hasByte[c] {
				return strings.ReplaceAll(text, "\x00", string(rune(c))), c, false, nil
			}
			if stand == 0 {
				stand = c
			}
		}
	}
	if stand == 0 {
		return "", 0, false, errors.New("the text has U+0000 and every other control character: no way to hand it to the tokenizer")
	}
	return strings.ReplaceAll(text, "\x00", string(rune(stand))), stand, true, nil
}

// undisguise puts the token of U+0000 where that of stand is; nothing if there is none, as for any byte without one.
func undisguise(ids []int32, stand byte, v *vocabulary) []int32 {
	kept := ids[:0]
	for _, id := range ids {
		switch {
		case id != v.byteID[stand]:
			kept = append(kept, id)
		case v.hasByte[0]:
			kept = append(kept, v.byteID[0])
		}
	}
	return kept
}

// swapNUL is the tokenizer.json data with U+0000 and stand exchanged in its model, in the spelling of byte-level BPE
// and in that of byte fallback.
func swapNUL(data []byte, stand byte) ([]byte, error) {
	var file, model map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(file["model"], &model); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	var zero, other rune
	for r, b := range byteAlphabet() {
		switch b {
		case 0:
			zero = r
		case stand:
			other = r
		}
	}
	hex := fmt.Sprintf("<0x%02X>", stand)
	swap := strings.NewReplacer(string(zero), string(other), string(other), string(zero), "<0x00>", hex, hex, "<0x00>")
	if err := swapVocab(model, swap); err != nil {
		return nil, fmt.Errorf("model.vocab: %w", err)
	}
	if err := swapMerges(model, swap); err != nil {
		return nil, fmt.Errorf("model.merges: %w", err)
	}
	var err error
	if file["model"], err = json.Marshal(model); err != nil {
		return nil, err
	}
	return json.Marshal(file)
}

func swapVocab(model map[string]json.RawMessage, swap *strings.Replacer) (err error) {
	raw := model["vocab"]
	if len(raw) > 0 && raw[0] == '[' {
		var list [][2]any
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for i, pair := range list {
			if text, ok := pair[0].(string); ok {
				list[i][0] = swap.Replace(text)
			}
		}
		model["vocab"], err = json.Marshal(list)
		return err
	}
	var words map[string]int64
	if err := json.Unmarshal(raw, &words); err != nil {
		return err
	}
	swapped := make(map[string]int64, len(words))
	for text, id := range words {
		swapped[swap.Replace(text)] = id
	}
	model["vocab"], err = json.Marshal(swapped)
	return err
}

// swapMerges handles both spellings: ["a b", …] and [["a", "b"], …].
func swapMerges(model map[string]json.RawMessage, swap *strings.Replacer) (err error) {
	raw, ok := model["merges"]
	if !ok {
		return nil
	}
	var lines []string
	if json.Unmarshal(raw, &lines) == nil {
		for i := range lines {
			lines[i] = swap.Replace(lines[i])
		}
		model["merges"], err = json.Marshal(lines)
		return err
	}
	var pairs [][2]string
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return err
	}
	for i := range pairs {
		pairs[i] = [2]string{swap.Replace(pairs[i][0]), swap.Replace(pairs[i][1])}
	}
	model["merges"], err = json.Marshal(pairs)
	return err
}

// Package llama3tokenizer makes the Llama 3 tokenizer.json for tests, from the tokenizer.model that the Python package
// llama-models carries. The material is under Meta's licence, so it stays in the cache of the machine that runs the
// tests: it is never committed, and nothing outside tests uses it (see MANIFEST.md).
//
// The package downloads nothing itself and refuses input or output whose sha256 is not the pinned one.
package llama3tokenizer

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The wheel that carries the model, and the sums of what goes in and comes out.
const (
	Package     = "llama-models"
	Version     = "0.3.0"
	WheelSHA256 = "7f77f78ff13fca09f70d76a376aff6414cd901623fb9d57e69c2f8367a73032f"

	modelEntry   = "llama_models/llama3/tokenizer.model"
	modelSHA256  = "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55"
	modelBytes   = 2183982
	outputSHA256 = "76e48799b099d43365bd24ccd8ecc5aedac831718da780552f03b0a6eb4412aa"
)

// Dir is where the tokenizer lies under cacheDir, and whether it is there with the right sha256.
func Dir(cacheDir string) (dir string, complete bool) {
	dir = filepath.Join(cacheDir, "test", "llama3-tokenizer")
	data, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	return dir, err == nil && sum(data) == outputSHA256
}

// FromWheel writes tokenizer.json, made from the wheel at path, into dir.
func FromWheel(path, dir string) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer z.Close()
	entry, err := z.Open(modelEntry)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer entry.Close()
	model, err := io.ReadAll(io.LimitReader(entry, modelBytes+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", modelEntry, err)
	}
	if got := sum(model); got != modelSHA256 {
		return fmt.Errorf("check %s: sha256 is %s, want %s", modelEntry, got, modelSHA256)
	}
	out, err := Convert(model)
	if err != nil {
		return fmt.Errorf("convert %s: %w", modelEntry, err)
	}
	if got := sum(out); got != outputSHA256 {
		return fmt.Errorf("check tokenizer.json: sha256 is %s, want %s", got, outputSHA256)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".tokenizer-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(out)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), filepath.Join(dir, "tokenizer.json"))
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

type entry struct {
	bytes string
	rank  int
}

// Convert makes tokenizer.json of a model in tiktoken's format: lines of a token in base64 and its rank. The merges
// are recovered: for each token every cut into two tokens, by the ranks of the halves; tokens in order of rank.
func Convert(model []byte) ([]byte, error) {
	var list []entry
	ranks := map[string]int{}
	for line := range bytes.Lines(model) {
		text, number, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if !ok {
			continue
		}
		token, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", len(list), err)
		}
		rank, err := strconv.Atoi(string(number))
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", len(list), err)
		}
		list = append(list, entry{string(token), rank})
		ranks[string(token)] = rank
	}
	w := &jsonWriter{alphabet: alphabet()}
	w.head(len(list))
	for i, e := range list {
		w.comma(i, 6)
		w.token(e.bytes)
		w.out = append(w.out, ": "...)
		w.out = strconv.AppendInt(w.out, int64(e.rank), 10)
	}
	w.raw("\n    },\n    \"merges\": [")
	for i, m := range merges(list, ranks) {
		w.comma(i, 6)
		w.token(m[0], m[1])
	}
	w.raw("\n    ]\n  }\n}\n")
	return w.out, nil
}

func merges(list []entry, ranks map[string]int) [][2]string {
	ordered := slices.SortedFunc(slices.Values(list), func(a, b entry) int { return cmp.Compare(a.rank, b.rank) })
	var all [][2]string
	for _, e := range ordered {
		start := len(all)
		for cut := 1; cut < len(e.bytes); cut++ {
			left, right := e.bytes[:cut], e.bytes[cut:]
			_, ok1 := ranks[left]
			_, ok2 := ranks[right]
			if ok1 && ok2 {
				all = append(all, [2]string{left, right})
			}
		}
		slices.SortFunc(all[start:], func(a, b [2]string) int {
			return cmp.Or(cmp.Compare(ranks[a[0]], ranks[b[0]]), cmp.Compare(ranks[a[1]], ranks[b[1]]))
		})
	}
	return all
}

// alphabet is byte-level BPE's: printable Latin-1 for itself, the rest as U+0100 on.
func alphabet() (table [256]rune) {
	next := rune(256)
	for b := range rune(256) {
		table[b] = b
		if b < '!' || b > '~' && b < 0xA1 || b == 0xAD {
			table[b] = next
			next++
		}
	}
	return table
}

// controlNames are ids 128000 to 128255, as Llama 3.1 and later name them.
func controlNames() []string {
	fixed := []string{"<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
		"<|finetune_right_pad_id|>", "<|reserved_special_token_2|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>",
		"<|eot_id|>", "<|python_tag|>"}
	for n := 3; len(fixed) < 256; n++ {
		fixed = append(fixed, "<|reserved_special_token_"+strconv.Itoa(n)+"|>")
	}
	return fixed
}

// jsonWriter lays out JSON with an indent of 2, without escaping what need not be.
type jsonWriter struct {
	out      []byte
	alphabet [256]rune
}

func (w *jsonWriter) raw(s string) { w.out = append(w.out, s...) }

func (w *jsonWriter) comma(i, indent int) {
	if i > 0 {
		w.out = append(w.out, ',')
	}
	w.out = append(w.out, '\n')
	w.out = append(w.out, bytes.Repeat([]byte(" "), indent)...)
}

// token writes tokens in the alphabet, as one string with blanks between.
func (w *jsonWriter) token(parts ...string) {
	w.out = append(w.out, '"')
	for i, part := range parts {
		if i > 0 {
			w.out = append(w.out, ' ')
		}
		for j := range len(part) {
			r := w.alphabet[part[j]]
			if r == '"' || r == '\\' {
				w.out = append(w.out, '\\')
			}
			w.out = utf8.AppendRune(w.out, r)
		}
	}
	w.out = append(w.out, '"')
}

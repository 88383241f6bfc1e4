// Package tokenizer turns text into token ids and back: it reads a Hugging Face tokenizer.json, decodes ids one at a
// time without ever splitting a character, and renders chat templates.
//
// Encoding is done by the Rust library behind github.com/daulet/tokenizers; decoding, streams, the byte tokenizer and
// the chat templates are Go and need no Rust (build tag notokenizer, or CGO_ENABLED=0: Open then returns ErrNoRust).
//
// It refuses to guess: a decoder in tokenizer.json that it cannot reproduce token by token is an error of Open, not an
// approximation. It downloads nothing, reads no environment and logs nothing.
package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// ErrNoRust is what Open returns in a build without the Rust library.
var ErrNoRust = errors.New("this build has no Rust tokenizer (built with tag notokenizer or without cgo)")

// Error is a tokenizer that cannot be used. Class is "missing_file" (no such file), "tokenizer" (the file is damaged,
// or does not fit the model) or "unsupported" (sound, but of a kind that this package does not do).
type Error struct {
	Class string
	Path  string
	Err   error
}

// Error is "tokenizer PATH: why"; the tokenizer of the presets has no path.
func (e *Error) Error() string {
	why := e.Err
	var p *fs.PathError
	if errors.As(why, &p) {
		why = p.Err // its text has the path once more
	}
	if e.Path == "" {
		return fmt.Sprintf("tokenizer: %v", why)
	}
	return fmt.Sprintf("tokenizer %s: %v", e.Path, why)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// encoder makes ids of text. control: names of control tokens in the text become control tokens. frame: add what the
// post-processor adds around a text.
type encoder interface {
	encode(text string, control, frame bool) ([]int32, error)
	close()
}

// Tokenizer is one vocabulary with its encoder. It is safe for concurrent use; the Streams it makes are not.
type Tokenizer struct {
	path string
	enc  encoder
	vocabulary
}

// Open reads path, a tokenizer.json or a directory that holds one. The whole file is checked before use, and memory
// is taken in proportion to the file only, whatever ids it names. Errors are *Error, or wrap ErrNoRust.
func Open(path string) (*Tokenizer, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "tokenizer.json")
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &Error{"missing_file", path, err}
	}
	if err != nil {
		return nil, &Error{"tokenizer", path, err}
	}
	voc, err := parseVocabulary(data)
	if err != nil {
		class := "tokenizer"
		if errors.Is(err, errUnsupported) {
			class = "unsupported"
		}
		return nil, &Error{class, path, err}
	}
	enc, err := newRustEncoder(data, voc)
	if errors.Is(err, ErrNoRust) {
		return nil, fmt.Errorf("tokenizer %s: %w", path, err)
	}
	if err != nil {
		return nil, &Error{"tokenizer", path, err}
	}
	return &Tokenizer{path: path, enc: enc, vocabulary: *voc}, nil
}

// maxText bounds one text. It is over a million tokens; beyond 10,000,000 equal characters the regular expressions of
// the Rust library give up by ending the process.
const maxText = 8 << 20

// Path is the file that was opened; "" for Bytes.
func (t *Tokenizer) Path() string { return t.path }

// Close frees the Rust side. The tokenizer must not encode afterwards.
func (t *Tokenizer) Close() { t.enc.close() }

// Encode returns the ids of text, with nothing added around it. With control, the names of control tokens in the text
// become control tokens, as for a rendered chat template; without, they are ordinary text, as is right for text from
// outside. Bytes that are not UTF-8 count as U+FFFD, one for each maximal subpart.
func (t *Tokenizer) Encode(text string, control bool) ([]int32, error) {
	return t.run(text, control, false)
}

// EncodeFramed is Encode with what the tokenizer's post-processor puts around a text: a begin-of-text token for the
// Llama families, nothing for many others.
func (t *Tokenizer) EncodeFramed(text string, control bool) ([]int32, error) {
	return t.run(text, control, true)
}

func (t *Tokenizer) run(text string, control, frame bool) ([]int32, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("encode %d bytes: longer than %d", len(text), maxText)
	}
	ids, err := t.enc.encode(toUTF8(text), control, frame)
	if err == nil && len(ids) == 0 && t.mustEncode(text) {
		err = errors.New("the Rust tokenizer refused the text")
	}
	if err != nil {
		return nil, fmt.Errorf("encode %d bytes: %w", len(text), err)
	}
	return ids, nil
}

// mustEncode reports whether a text cannot have become no ids at all: one of its bytes is a token. The Rust library
// returns an empty list for an error too, and a byte without a token vanishes from a text without one.
func (t *Tokenizer) mustEncode(text string) bool {
	if t.kind != kindByteLevel {
		return false
	}
	for i := range len(text) {
		if t.hasByte[text[i]] {
			return true
		}
	}
	return false
}

// CheckVocab fails when the tokenizer can produce an id that a model of modelVocab rows has no embedding for.
func (t *Tokenizer) CheckVocab(modelVocab int) error {
	if n := t.VocabSize(); n > modelVocab {
		return &Error{"tokenizer", t.path, fmt.Errorf("it has ids up to %d, the model's vocab_size is %d", n-1, modelVocab)}
	}
	return nil
}

// Bytes is the tokenizer of the presets, which have no files: id = byte, so vocab should be at least 256, and higher
// ids decode to " wN". It has no control tokens.
func Bytes(vocab int) *Tokenizer {
	vocab = max(0, min(vocab, math.MaxInt32))
	return &Tokenizer{enc: byteEncoder{vocab}, vocabulary: vocabulary{size: vocab, model: vocab, kind: kindPreset}}
}

type byteEncoder struct{ vocab int }

func (e byteEncoder) encode(text string, _, _ bool) ([]int32, error) {
	ids := make([]int32, len(text))
	for i := range len(text) {
		if int(text[i]) >= e.vocab {
			return nil, fmt.Errorf("byte %d has no token: the vocabulary has %d", text[i], e.vocab)
		}
		ids[i] = int32(text[i])
	}
	return ids, nil
}

func (byteEncoder) close() {}

//go:build !cgo || notokenizer

package tokenizer

// newRustEncoder has nothing to encode with in this build.
func newRustEncoder([]byte, *vocabulary) (encoder, error) { return nil, ErrNoRust }

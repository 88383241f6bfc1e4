//go:build !cgo || notokenizer

package tokenizer_test

import (
	"errors"
	"testing"

	"lathe/engine/tokenizer"
)

func TestOpenWithoutRust(t *testing.T) {
	if _, err := tokenizer.Open("testdata/tiny"); !errors.Is(err, tokenizer.ErrNoRust) {
		t.Errorf("error %v, want ErrNoRust", err)
	}
}

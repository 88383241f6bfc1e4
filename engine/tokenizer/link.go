//go:build cgo && !notokenizer

package tokenizer

// #cgo LDFLAGS: -L${SRCDIR}/../../third_party/tokenizers/lib
import "C"

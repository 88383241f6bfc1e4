//go:build !cgo

package native

// RoofLine is the granularity of ReadBytes.
const RoofLine = 512

// RoofBuffer is so many bytes.
func RoofBuffer(bytes int) []byte { return make([]byte, bytes) }

// ReadBytes returns ErrNoCgo.
func ReadBytes(data []byte) (uint64, error) { return 0, ErrNoCgo }

// Multiply returns ErrNoCgo.
func Multiply(path string, rounds int) (flops int64, err error) { return 0, ErrNoCgo }

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

type compression int

const (
	plain compression = iota
	gz
	zst
)

// compressionOf goes by the name, for writing; reading goes by the first bytes.
func compressionOf(path string) compression {
	switch {
	case strings.HasSuffix(path, ".gz"):
		return gz
	case strings.HasSuffix(path, ".zst"):
		return zst
	}
	return plain
}

// flusher is what gzip's and zstd's writers have in common. After Flush every
// byte written so far can be read back from what is on disk.
type flusher interface {
	io.Writer
	Flush() error
	Close() error
}

type uncompressed struct{ io.Writer }

func (uncompressed) Flush() error { return nil }
func (uncompressed) Close() error { return nil }

func (c compression) writer(w io.Writer) (flusher, error) {
	switch c {
	case gz:
		return gzip.NewWriter(w), nil
	case zst:
		// One goroutine: two more would compete with what is measured.
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return uncompressed{w}, nil
}

// maxWindow bounds what a zstd file may make its reader allocate.
const maxWindow = 64 << 20

// decompress picks the decoder by the first bytes of r, whatever its name.
func decompress(r io.Reader) (io.ReadCloser, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, _ := br.Peek(4) // a short file is a plain one
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return z, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(br), nil
}

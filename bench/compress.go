package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
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

// The first bytes of compressed files.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// decompress picks the decoder by the first bytes of r, whatever its name.
func decompress(r io.Reader) (io.ReadCloser, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	peeked, _ := br.Peek(len(zstdMagic)) // a short file is a plain one
	head := string(peeked)
	switch {
	case strings.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return z, nil
	case strings.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return z.IOReadCloser(), nil
	case head != "" && (strings.HasPrefix(gzipMagic, head) || strings.HasPrefix(zstdMagic, head)):
		return nil, io.ErrUnexpectedEOF // cut within the magic number
	}
	return io.NopCloser(br), nil
}

// OpenText opens any file for reading, decompressed where its first bytes say
// that it is gzip or zstd. The caller closes it.
func OpenText(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	z, err := decompress(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{z, closers{z, f}}, nil
}

// closers close one after the other.
type closers []io.Closer

// Close closes all and returns the first error.
func (c closers) Close() error {
	var first error
	for _, x := range c {
		if err := x.Close(); first == nil {
			first = err
		}
	}
	return first
}

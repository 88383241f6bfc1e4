// Package safetensors reads checkpoints in the safetensors format: one file or a
// directory with shards and an index.
//
// It owns the container: the 8-byte header length, the JSON header, the byte
// ranges, the index, and the memory map behind the tensors. It recognises what
// people put in the place of weights by mistake (a gzip file, a git-lfs pointer,
// a web page, GGUF, a part of a split file) and says so in one line.
//
// It refuses to guess: holes, overlaps, trailing bytes, duplicate names, an index
// that does not describe its directory, and paths that leave the directory are
// errors. It does not know what a tensor means, converts nothing on load and
// never writes a file. Nothing is allocated by a length that a file claims: every
// length is compared with the size of the file first.
//
// Format: an unsigned 64-bit little-endian header length N, N bytes of JSON
// {"name": {"dtype", "shape", "data_offsets": [begin, end]}}, then the data, of
// which every byte belongs to exactly one tensor. Limit: N is at most MaxHeader.
package safetensors

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// MaxHeader is the largest header accepted, in bytes: 100 MB, the limit of the
// reference library. A larger header is split over shards.
const MaxHeader = 100_000_000

// MaxIndex is the largest model.safetensors.index.json accepted, in bytes.
const MaxIndex = 100_000_000

// Names of the files that Open looks for in a directory.
const (
	SingleFile = "model.safetensors"
	IndexFile  = "model.safetensors.index.json"
)

// Tensor is one named array. Data aliases the memory map of its file: it is
// read-only, has Shape's product times the element size bytes (row-major, little
// endian), need not be aligned to the element, and is valid until the Checkpoint
// is closed.
type Tensor struct {
	Name  string
	DType string  // as the header spells it: "BF16", "F16", "F32", "I64", ...
	Shape []int64 // empty for a scalar
	Data  []byte
	File  string // path of the file that holds it
}

// Checkpoint is an open set of tensors. It is safe for concurrent reading.
type Checkpoint struct {
	// Path is what an error about the whole set should name: the weights file,
	// the index, or the directory where the index was ignored.
	Path string
	// Files are the paths of the weight files, in the order of Names.
	Files []string
	// Warnings are doubts that did not stop the load.
	Warnings []string

	maps    []mapping
	tensors map[string]Tensor
	names   []string
}

// Options change how a directory is opened.
type Options struct {
	// IgnoreIndex reads every *.safetensors file of the directory instead of
	// those that the index names. A tensor in two files is still an error.
	IgnoreIndex bool
}

// Open opens a model directory, or a single weights file. In a directory
// model.safetensors is taken where it exists (as the transformers library does),
// else the shards that model.safetensors.index.json names. Errors are *Error.
func Open(path string) (*Checkpoint, error) { return OpenWith(path, Options{}) }

// OpenWith is Open with options.
func OpenWith(path string, o Options) (*Checkpoint, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &Error{Class: MissingFile, Path: path, Msg: "no safetensors weights: " + reason(err), Err: err}
	}
	if !info.IsDir() {
		return OpenFile(path)
	}
	single, index := filepath.Join(path, SingleFile), filepath.Join(path, IndexFile)
	switch {
	case o.IgnoreIndex:
		return openAll(path)
	case exists(single):
		c, err := OpenFile(single)
		if err == nil && exists(index) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: not read, because %s stands beside it", index, SingleFile))
		}
		return c, err
	case exists(index):
		return openIndexed(path, index)
	}
	return nil, noWeights(path)
}

// OpenFile opens one file. Its tensors come in the order of their offsets.
func OpenFile(path string) (*Checkpoint, error) {
	c := &Checkpoint{Path: path, tensors: map[string]Tensor{}}
	if err := c.add(path); err != nil {
		return nil, err
	}
	return c, nil
}

// Tensor returns the tensor of a name; false when there is none.
func (c *Checkpoint) Tensor(name string) (Tensor, bool) {
	t, ok := c.tensors[name]
	return t, ok
}

// Names lists the tensors by file, and in a file by offset. The caller must not
// change the slice.
func (c *Checkpoint) Names() []string { return c.names }

// Bytes is the sum of the tensors' sizes.
func (c *Checkpoint) Bytes() int64 {
	var n int64
	for _, t := range c.tensors {
		n += int64(len(t.Data))
	}
	return n
}

// Close unmaps the files. Tensor data must not be touched afterwards. A second
// Close does nothing.
func (c *Checkpoint) Close() error {
	var first error
	for _, m := range c.maps {
		if err := m.close(); err != nil && first == nil {
			first = fmt.Errorf("close weights: %s: %w", c.Path, err)
		}
	}
	c.maps, c.tensors, c.names = nil, nil, nil
	return first
}

// add maps one file and takes its tensors.
func (c *Checkpoint) add(path string) error {
	m, err := mapFile(path)
	if err != nil {
		return err
	}
	entries, data, err := parse(m.data, filepath.Base(path))
	if err != nil {
		m.close()
		return at(path, joinParts(err, filepath.Base(path)))
	}
	c.maps = append(c.maps, m)
	c.Files = append(c.Files, path)
	c.names = slices.Grow(c.names, len(entries))
	for _, e := range entries {
		if other, ok := c.tensors[e.name]; ok {
			return c.giveUp(fault(Index, "tensor %s is in both %s and %s: two values for one tensor mean a mixed-up download",
				quote(e.name), filepath.Base(other.File), filepath.Base(path)))
		}
		c.tensors[e.name] = Tensor{Name: e.name, DType: e.dtype, Shape: e.shape, File: path,
			Data: data[e.begin:e.end:e.end]}
		c.names = append(c.names, e.name)
	}
	return nil
}

// giveUp closes what was opened and returns the error with its path.
func (c *Checkpoint) giveUp(err error) error {
	path := c.Path
	c.Close()
	return at(path, err)
}

// parse reads header and byte ranges of a file's bytes. The entries come by
// offset; data is what follows the header.
func parse(b []byte, name string) (entries []entry, data []byte, err error) {
	n, err := headerLength(b, name)
	if err != nil {
		return nil, nil, err
	}
	entries, err = parseHeader(b[8 : 8+n])
	if err != nil {
		return nil, nil, err
	}
	data = b[8+n:]
	slices.SortStableFunc(entries, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.begin, y.begin), cmp.Compare(x.end, y.end))
	})
	return entries, data, checkRanges(entries, int64(len(data)))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

package smollm2

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// Kinds of metadata values and of tensors in a GGUF file, as the format numbers them.
const (
	kindUint8 = iota
	kindInt8
	kindUint16
	kindInt16
	kindUint32
	kindInt32
	kindFloat32
	kindBool
	kindString
	kindArray
	kindUint64
	kindInt64
	kindFloat64
)

const (
	tensorF32  = 0
	tensorF16  = 1
	tensorQ4_1 = 3
	tensorQ8_0 = 8
)

// maxText and maxCount bound what a damaged file can ask for.
const (
	maxText  = 1 << 20
	maxCount = 1 << 20
)

// blockShape is the number of values in a block and its size in bytes.
func blockShape(kind uint32) (values, size int, ok bool) {
	switch kind {
	case tensorF32:
		return 1, 4, true
	case tensorF16:
		return 1, 2, true
	case tensorQ4_1: // f16 scale, f16 minimum, 16 bytes of nibbles: low ones first
		return 32, 20, true
	case tensorQ8_0: // f16 scale, 32 signed bytes
		return 32, 34, true
	}
	return 0, 0, false
}

type ggufTensor struct {
	dims   []int // slowest first: [rows, columns]
	kind   uint32
	offset int64 // from the start of the file
	size   int64
}

func (t ggufTensor) count() int {
	n := 1
	for _, d := range t.dims {
		n *= d
	}
	return n
}

// ggufFile is the header of a GGUF file, version 2 or 3: metadata and the table of tensors.
type ggufFile struct {
	r       io.ReaderAt
	meta    map[string]any
	tensors map[string]ggufTensor
}

// headerReader counts what it has read and keeps its first error.
type headerReader struct {
	r   *bufio.Reader
	at  int64
	err error
}

func (h *headerReader) bytes(n int) []byte {
	b := make([]byte, n)
	if h.err != nil {
		return b
	}
	got, err := io.ReadFull(h.r, b)
	h.at += int64(got)
	if err != nil {
		h.err = fmt.Errorf("the header ends early: %w", err)
	}
	return b
}

func (h *headerReader) u32() uint32 { return binary.LittleEndian.Uint32(h.bytes(4)) }
func (h *headerReader) u64() uint64 { return binary.LittleEndian.Uint64(h.bytes(8)) }

func (h *headerReader) length(limit uint64) int {
	n := h.u64()
	if n > limit {
		h.fail(fmt.Errorf("a length of %d at byte %d", n, h.at-8))
		return 0
	}
	return int(n)
}

func (h *headerReader) text() string { return string(h.bytes(h.length(maxText))) }

func (h *headerReader) fail(err error) {
	if h.err == nil {
		h.err = err
	}
}

// value reads one metadata value: an integer as uint64 or int64, else float64, bool, string or []any.
func (h *headerReader) value(kind uint32) any {
	switch kind {
	case kindUint8:
		return uint64(h.bytes(1)[0])
	case kindInt8:
		return int64(int8(h.bytes(1)[0]))
	case kindUint16:
		return uint64(binary.LittleEndian.Uint16(h.bytes(2)))
	case kindInt16:
		return int64(int16(binary.LittleEndian.Uint16(h.bytes(2))))
	case kindUint32:
		return uint64(h.u32())
	case kindInt32:
		return int64(int32(h.u32()))
	case kindUint64:
		return h.u64()
	case kindInt64:
		return int64(h.u64())
	case kindFloat32:
		return float64(math.Float32frombits(h.u32()))
	case kindFloat64:
		return math.Float64frombits(h.u64())
	case kindBool:
		return h.bytes(1)[0] != 0
	case kindString:
		return h.text()
	case kindArray:
		sub, n := h.u32(), h.length(maxCount)
		if sub == kindArray {
			h.fail(errors.New("an array of arrays"))
		}
		var list []any
		for i := 0; i < n && h.err == nil; i++ {
			list = append(list, h.value(sub))
		}
		return list
	}
	h.fail(fmt.Errorf("a metadata value of unknown kind %d", kind))
	return nil
}

func readGGUF(r io.ReaderAt, size int64) (*ggufFile, error) {
	h := &headerReader{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16)}
	if string(h.bytes(4)) != "GGUF" {
		return nil, errors.New("not a GGUF file")
	}
	if v := h.u32(); h.err == nil && v != 2 && v != 3 {
		return nil, fmt.Errorf("GGUF version %d is not supported", v)
	}
	tensors, entries := h.length(maxCount), h.length(maxCount)
	f := &ggufFile{r: r, meta: map[string]any{}, tensors: map[string]ggufTensor{}}
	for i := 0; i < entries && h.err == nil; i++ {
		key := h.text()
		f.meta[key] = h.value(h.u32())
	}
	var names []string
	for i := 0; i < tensors && h.err == nil; i++ {
		name := h.text()
		f.tensors[name] = h.tensor()
		names = append(names, name)
	}
	if h.err != nil {
		return nil, h.err
	}
	align := int64(32)
	if a, ok := f.meta["general.alignment"].(uint64); ok {
		if a == 0 || a > 1<<20 || bits.OnesCount64(a) != 1 {
			return nil, fmt.Errorf("an alignment of %d", a)
		}
		align = int64(a)
	}
	base := (h.at + align - 1) / align * align
	for _, name := range names {
		t := f.tensors[name]
		values, block, ok := blockShape(t.kind)
		if !ok {
			return nil, fmt.Errorf("tensor %s: type %d is not supported", name, t.kind)
		}
		if t.dims[len(t.dims)-1]%values != 0 {
			return nil, fmt.Errorf("tensor %s: a row is no multiple of its block", name)
		}
		t.offset += base
		t.size = int64(t.count() / values * block)
		if t.offset < base || t.offset+t.size > size {
			return nil, fmt.Errorf("tensor %s: the file is too short", name)
		}
		f.tensors[name] = t
	}
	return f, nil
}

func (h *headerReader) tensor() ggufTensor {
	n := int(h.u32())
	if n < 1 || n > 4 {
		h.fail(fmt.Errorf("a tensor of %d dimensions", n))
		return ggufTensor{}
	}
	t := ggufTensor{dims: make([]int, n)}
	product := 1
	for i := range n { // the file lists the fastest first
		d := h.length(1 << 31)
		if d == 0 || d > 1<<40/product {
			h.fail(errors.New("a tensor of impossible size"))
			d = 1
		}
		product *= d
		t.dims[n-1-i] = d
	}
	t.kind = h.u32()
	t.offset = int64(h.length(1 << 62))
	return t
}

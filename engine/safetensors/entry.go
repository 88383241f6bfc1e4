package safetensors

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// The keys of an entry, in the order in which a missing one is reported.
const (
	keyDType = iota
	keyShape
	keyOffsets
	entryKeys
)

func entryKey(i int) string { return [entryKeys]string{"dtype", "shape", "data_offsets"}[i] }

// parseEntry reads {"dtype": ..., "shape": [...], "data_offsets": [b, e]} with
// the keys in any order. Keys that the format does not know are skipped, as the
// reference library does.
func parseEntry(c *cursor, name string) (entry, error) {
	e := entry{name: name}
	var have [entryKeys]bool
	err := c.expect('{')
	for first := true; err == nil; first = false {
		var more bool
		if more, err = c.more('}', first); err != nil || !more {
			break
		}
		err = e.member(c, &have)
	}
	if f, ok := err.(*Error); ok {
		return e, f
	}
	if err != nil {
		return e, fault(HeaderJSON, "tensor %s: the header %v", quote(name), err)
	}
	for i, ok := range have {
		if !ok {
			return e, fault(HeaderJSON, "tensor %s: the header has no %s", quote(name), entryKey(i))
		}
	}
	return e, nil
}

// member reads one key and its value.
func (e *entry) member(c *cursor, have *[entryKeys]bool) error {
	key, err := c.key()
	if err != nil {
		return err
	}
	var i int
	switch key {
	case "dtype":
		i = keyDType
		err = e.readDType(c)
	case "shape":
		i = keyShape
		err = e.readShape(c)
	case "data_offsets":
		i = keyOffsets
		err = e.readOffsets(c)
	default:
		return c.skip()
	}
	if err == nil && have[i] {
		err = fault(HeaderJSON, "tensor %s: duplicate key in the header: %s stands twice", quote(e.name), key)
	}
	have[i] = true
	return err
}

func (e *entry) readDType(c *cursor) (err error) {
	if e.dtype, err = c.str(); err != nil {
		return err
	}
	if elementBits(e.dtype) == 0 {
		return fault(DType, "tensor %s: dtype %s does not exist in the format; it has %s",
			quote(e.name), quote(e.dtype), strings.Join(dtypeNames(), ", "))
	}
	return nil
}

func (e *entry) readShape(c *cursor) error {
	e.shape = []int64{}
	return c.list(func() error {
		n, negative, err := c.natural()
		switch {
		case err != nil:
			return err
		case negative:
			return fault(ShapeBytes, "tensor %s: negative dimension in its shape", quote(e.name))
		case n > math.MaxInt64:
			return fault(ShapeBytes, "tensor %s: a dimension of its shape is too large", quote(e.name))
		}
		e.shape = append(e.shape, int64(n))
		return nil
	})
}

func (e *entry) readOffsets(c *cursor) error {
	var v [2]int64
	n := 0
	err := c.list(func() error {
		u, negative, err := c.natural()
		switch {
		case err != nil:
			return err
		case n == len(v):
			return c.fail("has more than two numbers in data_offsets")
		case negative:
			return fault(Offsets, "tensor %s: negative offset in data_offsets", quote(e.name))
		case u > math.MaxInt64:
			return fault(Offsets, "tensor %s: offset out of range in data_offsets", quote(e.name))
		}
		v[n] = int64(u)
		n++
		return nil
	})
	if err == nil && n < len(v) {
		err = c.fail("has %d numbers in data_offsets instead of two", n)
	}
	e.begin, e.end = v[0], v[1]
	return err
}

// list calls item for each member of a list.
func (c *cursor) list(item func() error) error {
	if err := c.expect('['); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := c.more(']', first)
		if err != nil || !more {
			return err
		}
		if err := item(); err != nil {
			return err
		}
	}
}

// natural reads an integer. What does not fit uint64 comes back as the largest
// one; a fraction or an exponent is an error of the JSON.
func (c *cursor) natural() (n uint64, negative bool, err error) {
	s, err := c.number()
	if err != nil {
		return 0, false, err
	}
	if strings.ContainsAny(s, ".eE") {
		return 0, false, c.fail("has %.40s where an integer should stand", s)
	}
	digits, negative := strings.CutPrefix(s, "-")
	if n, err = strconv.ParseUint(digits, 10, 64); err != nil {
		n = math.MaxUint64 // the grammar is checked: only the range can be wrong
	}
	return n, negative && n != 0, nil
}

// checkRanges demands that the entries, sorted by offset, tile [0, size) and that
// each range has the bytes of its shape.
func checkRanges(entries []entry, size int64) error {
	var end int64
	last := "the start of the data"
	for _, e := range entries {
		switch {
		case e.end < e.begin:
			return fault(Offsets, "tensor %s: data_offsets [%d, %d] end before they begin", quote(e.name), e.begin, e.end)
		case e.begin < end:
			return fault(Offsets, "tensor %s: data_offsets [%d, %d] overlap those of %s, which end at %d", quote(e.name), e.begin, e.end, last, end)
		case e.begin > end:
			return fault(Offsets, "tensor %s: data_offsets [%d, %d] leave a hole of %d bytes after %s", quote(e.name), e.begin, e.end, e.begin-end, last)
		}
		if err := e.checkSize(); err != nil {
			return err
		}
		end, last = e.end, quote(e.name)
	}
	if end > size {
		e := entries[len(entries)-1]
		for _, x := range entries {
			if x.end > size {
				e = x
				break
			}
		}
		return fault(Truncated, "the data is truncated: tensor %s lies at [%d, %d], beyond the %d bytes there are (%d are missing in all)",
			quote(e.name), e.begin, e.end, size, end-size)
	}
	if end < size {
		return fault(Offsets, "%d trailing bytes after the last tensor are not covered by any", size-end)
	}
	return nil
}

// checkSize compares shape and dtype with the byte range, without overflow.
func (e *entry) checkSize() error {
	count, overflow := uint64(1), false
	for _, d := range e.shape {
		hi, lo := bits.Mul64(count, uint64(d))
		count, overflow = lo, overflow || hi != 0
		if d == 0 { // no element, whatever the others are
			count, overflow = 0, false
			break
		}
	}
	hi, total := bits.Mul64(count, uint64(elementBits(e.dtype)))
	if overflow || hi != 0 {
		return fault(ShapeBytes, "tensor %s: shape %d is too large: its size in bytes overflows", quote(e.name), e.shape)
	}
	if total%8 != 0 || total/8 != uint64(e.end-e.begin) {
		return fault(ShapeBytes, "tensor %s: shape %d of %s takes %d bytes, data_offsets [%d, %d] hold %d", quote(e.name), e.shape,
			e.dtype, (total+7)/8, e.begin, e.end, e.end-e.begin)
	}
	return nil
}

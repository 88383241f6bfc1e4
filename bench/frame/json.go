package frame

import (
	"bytes"
	"fmt"
	"math"
)

// Kind is the kind of a JSON value, or Missing.
type Kind uint8

// The kinds of a Value. Integers and floats are apart, as in Python.
const (
	Missing Kind = iota
	Null
	False
	True
	Int
	Float
	String
	Array
	Object
)

// maxDepth is how deep values may nest. Python stops at about as much.
const maxDepth = 1000

// SyntaxError says where a text stopped being JSON.
type SyntaxError struct{ Offset int }

func (e *SyntaxError) Error() string { return fmt.Sprintf("not JSON at byte %d", e.Offset) }

// Doc is one JSON text, read as Python's json.loads reads it: NaN and Infinity
// are numbers, the last of equal keys counts, half a surrogate pair stands for
// itself, control characters in strings are errors. A Doc is used again for the
// next text; values taken from it are valid until then, and as long as the text.
//
// A text that is equal to the one before is not read again, so that readers of
// the same frames may share a Doc; nor is one that differs from it within one
// string, as a frame does from the one before.
type Doc struct {
	src    []byte
	nodes  []node
	pos    int // where reading failed
	failed bool
	err    SyntaxError
	kept   []byte // room for src, where that is short
}

// maxKept is the longest text that is kept to be compared with the next one.
const maxKept = 16 << 10

// node is a value; the nodes of an array's or object's children follow it.
type node struct {
	kind     Kind
	keyEsc   bool // the key, or the string, has escapes
	escaped  bool
	apart    bool   // of an object: no two keys have the same bit, and so none comes twice
	key, end uint32 // the key without its quotes; end where it has none
	from, to uint32 // the value: a string without its quotes
	after    int32  // the node behind this one and its children
	n        int32  // children
	keys     uint32 // of an object: a bit for each key, by keyBit; all bits where one has escapes
}

// keyBit is a bit that most other keys do not have: frames are asked for many keys
// that they lack. Of the members of a frame, as the servers of 2026 send it, hardly
// any two share one.
func keyBit(first, last byte, length int) uint32 {
	return 1 << ((uint32(first)*2 + uint32(last)*12 + uint32(length)*3) % 32)
}

// keyBits is keyBit of the key from, to in src.
func (d *Doc) keyBits(from, to int, escaped bool) uint32 {
	switch {
	case escaped:
		return math.MaxUint32
	case from == to:
		return keyBit(0, 0, 0)
	}
	return keyBit(d.src[from], d.src[to-1], to-from)
}

// Parse reads text, which must be valid UTF-8. Its error is a *SyntaxError,
// valid until the next call.
func (d *Doc) Parse(text []byte) error {
	if len(d.kept) > 0 && bytes.Equal(d.kept, text) {
		if d.failed {
			return &d.err
		}
		return nil
	}
	if len(d.kept) > 0 && !d.failed && d.amend(text) {
		return nil
	}
	d.kept = d.kept[:0]
	d.src = text
	if len(text) <= maxKept {
		d.kept = append(d.kept, text...)
		d.src = d.kept
	}
	d.nodes = d.nodes[:0]
	if d.failed = !d.text(); d.failed {
		d.nodes = d.nodes[:0]
		d.err.Offset = d.pos
		return &d.err
	}
	return nil
}

// text reads the whole of src.
func (d *Doc) text() bool {
	if len(d.src) > math.MaxUint32 {
		d.pos = 0
		return false
	}
	i := d.value(d.space(0), 0, node{})
	if i < 0 {
		return false
	}
	d.pos = d.space(i)
	return d.pos == len(d.src)
}

// bad keeps where the text stopped being JSON.
func (d *Doc) bad(i int) int {
	d.pos = i
	return -1
}

// space is the place of the first byte from i on that is no white space.
func (d *Doc) space(i int) int {
	for i < len(d.src) && d.src[i] <= ' ' {
		switch d.src[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// at is the byte at i, 0 behind the end.
func (d *Doc) at(i int) byte {
	if i < len(d.src) {
		return d.src[i]
	}
	return 0
}

// value reads the value at i, whose key n holds, and returns the place behind it, -1
// where it is none.
func (d *Doc) value(i, depth int, n node) int {
	n.from = uint32(i)
	switch c := d.at(i); c {
	case '{', '[':
		self := len(d.nodes)
		d.nodes = append(d.nodes, n)
		switch {
		case depth == maxDepth:
			return d.bad(i)
		case c == '{':
			return d.object(self, i, depth+1)
		}
		return d.array(self, i, depth+1)
	case '"':
		end, escaped := d.str(i + 1)
		if end < 0 {
			return -1
		}
		n.kind, n.escaped, n.from, n.to = String, escaped, uint32(i+1), uint32(end)
		i = end + 1
	default:
		if i = d.scalar(i, &n); i < 0 {
			return -1
		}
		n.to = uint32(i)
	}
	n.after = int32(len(d.nodes) + 1)
	d.nodes = append(d.nodes, n)
	return i
}

// scalar reads a value that is no string, array or object.
func (d *Doc) scalar(i int, n *node) int {
	word := ""
	switch d.at(i) {
	case 'n':
		word, n.kind = "null", Null
	case 't':
		word, n.kind = "true", True
	case 'f':
		word, n.kind = "false", False
	case 'N':
		word, n.kind = "NaN", Float
	case 'I':
		word, n.kind = "Infinity", Float
	case '-':
		if d.at(i+1) != 'I' {
			return d.number(i, n)
		}
		word, n.kind = "-Infinity", Float
	default:
		return d.number(i, n)
	}
	if len(d.src)-i < len(word) || string(d.src[i:i+len(word)]) != word {
		if word[0] == '-' {
			i++
		}
		return d.bad(i)
	}
	return i + len(word)
}

// digits is the place behind the digits from i on.
func (d *Doc) digits(i int) int {
	for i < len(d.src) && d.src[i] >= '0' && d.src[i] <= '9' {
		i++
	}
	return i
}

// number reads a number; a fraction and an exponent are taken only where they are whole.
func (d *Doc) number(i int, n *node) int {
	if d.at(i) == '-' {
		i++
	}
	n.kind = Int
	whole := i + 1
	if d.at(i) != '0' {
		if whole = d.digits(i); whole == i {
			return d.bad(i)
		}
	}
	if d.at(whole) == '.' {
		end := d.digits(whole + 1)
		if end == whole+1 {
			return d.bad(whole)
		}
		n.kind, whole = Float, end
	}
	if c := d.at(whole); c == 'e' || c == 'E' {
		from := whole + 1
		if c := d.at(from); c == '+' || c == '-' {
			from++
		}
		end := d.digits(from)
		if end == from {
			return d.bad(whole)
		}
		n.kind, whole = Float, end
	}
	return whole
}

// object reads the object at i, whose node is self.
func (d *Doc) object(self, i, depth int) int {
	d.nodes[self].kind = Object
	members, keys, apart := int32(0), uint32(0), true
	i = d.space(i + 1)
	if d.at(i) != '}' {
		for {
			if d.at(i) != '"' {
				return d.bad(i)
			}
			key := i + 1
			end, escaped := d.str(key)
			if end < 0 {
				return -1
			}
			if i = d.space(end + 1); d.at(i) != ':' {
				return d.bad(i)
			}
			if i = d.value(d.space(i+1), depth, node{key: uint32(key), end: uint32(end), keyEsc: escaped}); i < 0 {
				return -1
			}
			bit := d.keyBits(key, end, escaped)
			apart = apart && keys&bit == 0 && !escaped
			members, keys = members+1, keys|bit
			if i = d.space(i); d.at(i) != ',' {
				break
			}
			i = d.space(i + 1)
		}
		if d.at(i) != '}' {
			return d.bad(i)
		}
	}
	d.nodes[self].keys, d.nodes[self].apart = keys, apart
	d.close(self, i+1, members)
	return i + 1
}

// close ends the array or object whose node is self before the place i.
func (d *Doc) close(self, i int, children int32) {
	n := &d.nodes[self]
	n.to, n.n, n.after = uint32(i), children, int32(len(d.nodes))
}

// array reads the array at i, whose node is self.
func (d *Doc) array(self, i, depth int) int {
	d.nodes[self].kind = Array
	elements := int32(0)
	i = d.space(i + 1)
	if d.at(i) != ']' {
		for {
			if i = d.value(i, depth, node{}); i < 0 {
				return -1
			}
			elements++
			if i = d.space(i); d.at(i) != ',' {
				break
			}
			i = d.space(i + 1)
		}
		if d.at(i) != ']' {
			return d.bad(i)
		}
	}
	d.close(self, i+1, elements)
	return i + 1
}

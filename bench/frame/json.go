package frame

import (
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
type Doc struct {
	src   []byte
	nodes []node
	pos   int
	err   SyntaxError
}

// node is a value; the nodes of an array's or object's children follow it.
type node struct {
	kind     Kind
	keyEsc   bool // the key, or the string, has escapes
	escaped  bool
	key, end uint32 // the key without its quotes; end where it has none
	from, to uint32 // the value: a string without its quotes
	after    int32  // the node behind this one and its children
	n        int32  // children
}

// Parse reads text, which must be valid UTF-8. Its error is a *SyntaxError,
// valid until the next call.
func (d *Doc) Parse(text []byte) error {
	d.src, d.nodes, d.pos = text, d.nodes[:0], 0
	if len(text) > math.MaxUint32 {
		return d.fail()
	}
	d.space()
	if !d.value(0, 0, 0, false) {
		return d.fail()
	}
	if d.space(); d.pos != len(text) {
		return d.fail()
	}
	return nil
}

func (d *Doc) fail() error {
	d.nodes = d.nodes[:0]
	d.err.Offset = d.pos
	return &d.err
}

func (d *Doc) space() {
	for d.pos < len(d.src) {
		switch d.src[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

func (d *Doc) peek() byte {
	if d.pos < len(d.src) {
		return d.src[d.pos]
	}
	return 0
}

// value reads one value; pos stands at its first byte.
func (d *Doc) value(depth int, key, keyEnd uint32, keyEsc bool) bool {
	at := len(d.nodes)
	d.nodes = append(d.nodes, node{key: key, end: keyEnd, keyEsc: keyEsc, from: uint32(d.pos)})
	ok := true
	switch c := d.peek(); c {
	case '{':
		ok = depth < maxDepth && d.object(at, depth)
	case '[':
		ok = depth < maxDepth && d.array(at, depth)
	case '"':
		d.pos++
		var esc bool
		esc, ok = d.str()
		n := &d.nodes[at]
		n.kind, n.escaped, n.from, n.to = String, esc, n.from+1, uint32(d.pos-1)
	default:
		ok = d.scalar(at)
	}
	d.nodes[at].after = int32(len(d.nodes))
	return ok
}

func (d *Doc) scalar(at int) bool {
	for _, w := range [...]struct {
		text string
		kind Kind
	}{{"null", Null}, {"true", True}, {"false", False}, {"NaN", Float}, {"Infinity", Float}, {"-Infinity", Float}} {
		if len(d.src)-d.pos >= len(w.text) && string(d.src[d.pos:d.pos+len(w.text)]) == w.text {
			d.pos += len(w.text)
			d.nodes[at].kind, d.nodes[at].to = w.kind, uint32(d.pos)
			return true
		}
	}
	return d.number(at)
}

func (d *Doc) digits() bool {
	start := d.pos
	for c := d.peek(); c >= '0' && c <= '9'; c = d.peek() {
		d.pos++
	}
	return d.pos > start
}

func (d *Doc) number(at int) bool {
	if d.peek() == '-' {
		d.pos++
	}
	if d.peek() == '0' {
		d.pos++
	} else if !d.digits() {
		return false
	}
	kind := Int
	whole := d.pos // what follows it is taken only where it is whole
	if d.peek() == '.' {
		d.pos++
		if d.digits() {
			kind, whole = Float, d.pos
		} else {
			d.pos = whole
			return false
		}
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		d.pos++
		if c := d.peek(); c == '+' || c == '-' {
			d.pos++
		}
		if !d.digits() {
			d.pos = whole
			return false
		}
		kind = Float
	}
	d.nodes[at].kind, d.nodes[at].to = kind, uint32(d.pos)
	return true
}

// str reads a string up to and with its closing quote.
func (d *Doc) str() (escaped, ok bool) {
	src := d.src
	for i := d.pos; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			d.pos = i + 1
			return escaped, true
		case c < ' ':
			d.pos = i
			return escaped, false
		case c == '\\':
			escaped = true
			i++
			if i == len(src) {
				break
			}
			switch src[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if _, ok := hex4(src, i+1); !ok {
					d.pos = i
					return escaped, false
				}
				i += 4
			default:
				d.pos = i
				return escaped, false
			}
		}
	}
	d.pos = len(src)
	return escaped, false
}

func hex4(src []byte, at int) (rune, bool) {
	if at+4 > len(src) {
		return 0, false
	}
	var r rune
	for _, c := range src[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (d *Doc) object(at, depth int) bool {
	d.nodes[at].kind = Object
	d.pos++
	d.space()
	if d.peek() == '}' {
		d.pos++
		d.nodes[at].to = uint32(d.pos)
		return true
	}
	for {
		if d.peek() != '"' {
			return false
		}
		d.pos++
		key := uint32(d.pos)
		esc, ok := d.str()
		if !ok {
			return false
		}
		keyEnd := uint32(d.pos - 1)
		d.space()
		if d.peek() != ':' {
			return false
		}
		d.pos++
		d.space()
		if !d.value(depth+1, key, keyEnd, esc) {
			return false
		}
		d.nodes[at].n++
		d.space()
		switch d.peek() {
		case ',':
			d.pos++
			d.space()
		case '}':
			d.pos++
			d.nodes[at].to = uint32(d.pos)
			return true
		default:
			return false
		}
	}
}

func (d *Doc) array(at, depth int) bool {
	d.nodes[at].kind = Array
	d.pos++
	d.space()
	if d.peek() == ']' {
		d.pos++
		d.nodes[at].to = uint32(d.pos)
		return true
	}
	for {
		if !d.value(depth+1, 0, 0, false) {
			return false
		}
		d.nodes[at].n++
		d.space()
		switch d.peek() {
		case ',':
			d.pos++
			d.space()
		case ']':
			d.pos++
			d.nodes[at].to = uint32(d.pos)
			return true
		default:
			return false
		}
	}
}

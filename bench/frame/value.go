package frame

import (
	"bytes"
	"iter"
	"math"
	"strconv"
	"unicode/utf8"
)

// Value is a place in a Doc. The zero Value is Missing.
type Value struct {
	d *Doc
	i int32
}

// Root is the value that the text is; Missing after an error.
func (d *Doc) Root() Value {
	if len(d.nodes) == 0 {
		return Value{}
	}
	return Value{d, 0}
}

// Kind is Missing for what is not there.
func (v Value) Kind() Kind {
	if v.d == nil {
		return Missing
	}
	return v.d.nodes[v.i].kind
}

// Is says whether v is of kind k.
func (v Value) Is(k Kind) bool { return v.Kind() == k }

// Len counts the elements of an array or the members of an object, equal keys
// each.
func (v Value) Len() int {
	if k := v.Kind(); k != Array && k != Object {
		return 0
	}
	return int(v.d.nodes[v.i].n)
}

// Truthy is Python's bool(v); false for Missing.
func (v Value) Truthy() bool {
	switch v.Kind() {
	case True:
		return true
	case Int:
		n := v.d.nodes[v.i]
		return bytes.ContainsAny(v.d.src[n.from:n.to], "123456789")
	case Float:
		f, ok := v.Float()
		return !ok || f != 0
	case String:
		n := v.d.nodes[v.i]
		return n.to > n.from
	case Array, Object:
		return v.Len() > 0
	}
	return false
}

// Int is an integer's value, true being 1 and false 0; ok is false for another
// kind and beyond int64.
func (v Value) Int() (n int64, ok bool) {
	switch v.Kind() {
	case True:
		return 1, true
	case False:
		return 0, true
	case Int:
		x := v.d.nodes[v.i]
		return integer(v.d.src[x.from:x.to])
	}
	return 0, false
}

// integer is the value of an integer's text; ok is false beyond int64.
func integer(text []byte) (n int64, ok bool) {
	if len(text) > 18 || text[0] == '-' {
		n, err := strconv.ParseInt(string(text), 10, 64)
		return n, err == nil
	}
	for _, c := range text {
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// Float is a number's value; true and false are numbers, as in Python.
func (v Value) Float() (float64, bool) {
	switch v.Kind() {
	case True:
		return 1, true
	case False:
		return 0, true
	case Int, Float:
		f, err := strconv.ParseFloat(v.Raw(), 64)
		return f, err == nil || math.IsInf(f, 0)
	}
	return 0, false
}

// Raw is the text of v; a string without its quotes, escapes untouched.
func (v Value) Raw() string {
	if v.d == nil {
		return ""
	}
	n := v.d.nodes[v.i]
	return string(v.d.src[n.from:n.to])
}

func bitOf(key string) uint32 {
	if key == "" {
		return keyBit(0, 0, 0)
	}
	return keyBit(key[0], key[len(key)-1], len(key))
}

// Get is the member of an object with that key: of equal ones the last.
// Missing where there is none or v is no object.
func (v Value) Get(key string) Value {
	if v.Kind() != Object || v.d.nodes[v.i].keys&bitOf(key) == 0 {
		return Value{}
	}
	d, i, found := v.d, v.i+1, int32(0)
	object := &d.nodes[v.i]
	for range object.n {
		n := &d.nodes[i]
		if n.keyEsc {
			if string(unescape(nil, d.src[n.key:n.end])) == key {
				found = i
			}
		} else if int(n.end-n.key) == len(key) && string(d.src[n.key:n.end]) == key {
			if found = i; object.apart {
				break
			}
		}
		i = n.after
	}
	if found == 0 { // the root, which is no member
		return Value{}
	}
	return Value{d, found}
}

// First is the first element of an array; Missing where there is none.
func (v Value) First() Value {
	if v.Kind() != Array || v.Len() == 0 {
		return Value{}
	}
	return Value{v.d, v.i + 1}
}

// All yields the elements of an array.
func (v Value) All() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		i := v.i + 1
		for range v.d.nodes[v.i].n {
			if !yield(Value{v.d, i}) {
				return
			}
			i = v.d.nodes[i].after
		}
	}
}

// Members yields the members of an object in their order, equal keys each.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		i := v.i + 1
		for range v.d.nodes[v.i].n {
			n := v.d.nodes[i]
			if !yield(string(unescape(nil, v.d.src[n.key:n.end])), Value{v.d, i}) {
				return
			}
			i = n.after
		}
	}
}

// AppendText appends the text of a string; nothing for another kind. Half a
// surrogate pair becomes the three bytes that UTF-8 would give it if it were a
// character (WTF-8), so that a harness's text can be written out as it was.
func (v Value) AppendText(dst []byte) []byte {
	if v.Kind() != String {
		return dst
	}
	n := v.d.nodes[v.i]
	if !n.escaped {
		return append(dst, v.d.src[n.from:n.to]...)
	}
	return unescape(dst, v.d.src[n.from:n.to])
}

// Text is AppendText as a string.
func (v Value) Text() string {
	var buf [64]byte
	return string(v.AppendText(buf[:0]))
}

// Says says whether v is a string of that text.
func (v Value) Says(text string) bool {
	if v.Kind() != String {
		return false
	}
	n := v.d.nodes[v.i]
	raw := v.d.src[n.from:n.to]
	if n.escaped {
		raw = unescape(nil, raw)
	}
	return string(raw) == text
}

// unescape resolves the escapes of a string that Parse has accepted.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			dst = append(dst, c)
			continue
		}
		i++
		switch raw[i] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(raw, i+1)
			i += 4
			if low, ok := lowSurrogate(raw, i+1); ok && r >= 0xD800 && r < 0xDC00 {
				r = 0x10000 + (r-0xD800)<<10 + low - 0xDC00
				i += 6
			}
			dst = AppendRune(dst, r)
		default:
			dst = append(dst, raw[i])
		}
	}
	return dst
}

func lowSurrogate(raw []byte, at int) (rune, bool) {
	if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
		return 0, false
	}
	r, ok := hex4(raw, at+2)
	return r, ok && r >= 0xDC00 && r < 0xE000
}

// AppendRune is utf8.AppendRune, with half surrogate pairs kept.
func AppendRune(dst []byte, r rune) []byte {
	if r >= 0xD800 && r < 0xE000 {
		return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
	}
	return utf8.AppendRune(dst, r)
}

// DecodeRune is utf8.DecodeRune, with half surrogate pairs kept.
func DecodeRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 && len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, n
}

package frame

import (
	"encoding/binary"
	"math/bits"
)

// Eight equal bytes, and their upper bits.
const (
	each  = 0x0101010101010101
	upper = each << 7
)

// ends has bits in the bytes of w that end a run of plain characters: quotes,
// backslashes and control characters. Only the lowest one is sure.
func ends(w uint64) uint64 {
	quote, escape := w^each*'"', w^each*'\\'
	return ((quote-each)&^quote | (escape-each)&^escape | (w-each*' ')&^w) & upper
}

// str reads a string whose first character is at i and returns the place of its
// closing quote, -1 where it has none.
func (d *Doc) str(i int) (end int, escaped bool) {
	src := d.src
	for {
		for i+8 <= len(src) {
			if m := ends(binary.LittleEndian.Uint64(src[i:])); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		for i < len(src) && src[i] >= ' ' && src[i] != '"' && src[i] != '\\' {
			i++
		}
		switch {
		case i == len(src) || src[i] < ' ':
			return d.bad(i), escaped
		case src[i] == '"':
			return i, escaped
		}
		escaped = true
		if i = d.escape(i + 1); i < 0 {
			return -1, escaped
		}
	}
}

// escape is the place behind what follows a backslash.
func (d *Doc) escape(i int) int {
	if i == len(d.src) {
		return d.bad(i)
	}
	switch d.src[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if _, ok := hex4(d.src, i+1); ok {
			return i + 5
		}
	}
	return d.bad(i)
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

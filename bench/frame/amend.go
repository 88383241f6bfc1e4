package frame

import (
	"encoding/binary"
	"math/bits"
)

// amend reads a text that differs from the one that is kept within one string only,
// by plain characters: everything else stays, and moves. It says whether that was so.
func (d *Doc) amend(text []byte) bool {
	if len(text) > maxKept {
		return false
	}
	from := commonPrefix(d.kept, text)
	same := commonSuffix(d.kept[from:], text[from:])
	self := d.stringAround(from, len(d.kept)-same)
	if self < 0 || !plainRun(text[from:len(text)-same]) {
		return false
	}
	longer := uint32(len(text) - len(d.kept)) // may be below 0: additions wrap around
	d.kept = append(d.kept[:from], text[from:]...)
	d.src = d.kept
	if longer == 0 {
		return true
	}
	d.nodes[self].to += longer
	for i := range d.nodes[:self] {
		if n := &d.nodes[i]; n.after > int32(self) { // self is in it
			n.to += longer
		}
	}
	for i := range d.nodes[self+1:] {
		n := &d.nodes[self+1+i]
		n.from += longer
		n.to += longer
		if n.end > 0 {
			n.key += longer
			n.end += longer
		}
	}
	return true
}

// stringAround is the node of the string without escapes that has the bytes from to
// to, -1 for none.
func (d *Doc) stringAround(from, to int) int {
	for i := range d.nodes {
		n := &d.nodes[i]
		if int(n.from) > from {
			break
		}
		if n.kind == String && int(n.to) >= to && !n.escaped {
			return i
		}
	}
	return -1
}

// plainRun says whether b stands for itself within a string.
func plainRun(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func commonPrefix(a, b []byte) int {
	i, most := 0, min(len(a), len(b))
	for ; i+8 <= most; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < most && a[i] == b[i] {
		i++
	}
	return i
}

func commonSuffix(a, b []byte) int {
	i, most := 0, min(len(a), len(b))
	for ; i+8 <= most; i += 8 {
		if x := binary.LittleEndian.Uint64(a[len(a)-i-8:]) ^ binary.LittleEndian.Uint64(b[len(b)-i-8:]); x != 0 {
			return i + bits.LeadingZeros64(x)/8
		}
	}
	for i < most && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	return i
}

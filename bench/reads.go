package bench

import (
	"bytes"
	"encoding/base64"
)

// parseReads reads a "reads" line in the very form that Writer gives it, at a
// fraction of what encoding/json takes for it: a capture is hardly anything else.
// ok is false for any other form and for any error, which are encoding/json's.
//
// The bytes and kernel stamps of a line's reads share one piece of memory each.
func parseReads(line []byte) (r *Reads, ok bool) {
	c := cursor(line)
	if !c.take(`{"kind":"reads","id":"`) {
		return nil, false
	}
	id, ok := c.text()
	if !ok || !plainASCII(id) || !c.take(`,"reads":[`) {
		return nil, false
	}
	n := bytes.Count(c, []byte("{")) // of a read, or else the line is none of ours
	if n > len(c)/leastRead {
		return nil, false
	}
	r = &Reads{Kind: KindReads, ID: string(id), Reads: make([]Read, 0, n)}
	room := readRoom{
		bytes:  make([]byte, base64.StdEncoding.DecodedLen(len(c)-n*leastRead)),
		kernel: make([]int64, 0, n),
	}
	for !c.take("]") {
		if len(r.Reads) == n || len(r.Reads) > 0 && !c.take(",") {
			return nil, false
		}
		one, ok := c.read(&room)
		if !ok {
			return nil, false
		}
		r.Reads = append(r.Reads, one)
	}
	return r, string(c) == "}"
}

// leastRead is how much of a line a read takes besides its bytes, at least.
const leastRead = len(`{"t_ns":0,"kernel_ns":0,"b64":""}`)

// readRoom is memory for the reads of one line.
type readRoom struct {
	bytes  []byte
	kernel []int64

	text, decoded []byte // of the read before
}

// stride is how much of two base64 texts is compared at once: whole groups of four.
const stride = 32

// decodedBefore puts in front of bytes what text has in common with the read before:
// frames begin alike. It tells how much of text and of bytes that is.
func (m *readRoom) decodedBefore(text []byte) (from, n int) {
	most := min(len(text), len(m.text)-4) // the last four may stand for less than three bytes
	for from+stride <= most && string(text[from:from+stride]) == string(m.text[from:from+stride]) {
		from += stride
	}
	return from, copy(m.bytes, m.decoded[:from/4*3])
}

// decode is what text stands for. Line ends, which base64 skips and a JSON string
// cannot hold, make the text longer than its bytes do: by one or more that four
// does not divide, or by three bytes or more.
func (m *readRoom) decode(text []byte) ([]byte, bool) {
	most := base64.StdEncoding.DecodedLen(len(text))
	if most > len(m.bytes) || len(text)%4 != 0 {
		return nil, false
	}
	from, n := m.decodedBefore(text)
	more, err := base64.StdEncoding.Decode(m.bytes[n:], text[from:])
	if n += more; err != nil || n != most-padding(text) {
		return nil, false
	}
	b := m.bytes[:n:n]
	m.bytes = m.bytes[n:]
	m.text, m.decoded = text, b
	return b, true
}

// padding counts the signs at the end of a base64 text that stand for no byte.
func padding(text []byte) int {
	switch n := len(text); {
	case n > 1 && text[n-2] == '=':
		return 2
	case n > 0 && text[n-1] == '=':
		return 1
	}
	return 0
}

// cursor is what of a line is still to be read.
type cursor []byte

// take takes text off the front, where it stands there.
func (c *cursor) take(text string) bool {
	if len(*c) < len(text) || string((*c)[:len(text)]) != text {
		return false
	}
	*c = (*c)[len(text):]
	return true
}

// text takes what stands before the next quote, and the quote.
func (c *cursor) text() ([]byte, bool) {
	i := bytes.IndexByte(*c, '"')
	if i < 0 {
		return nil, false
	}
	s := (*c)[:i]
	*c = (*c)[i+1:]
	return s, true
}

// plainASCII says whether s stands for itself in a JSON string.
func plainASCII(s []byte) bool {
	for _, b := range s {
		if b < ' ' || b == '\\' || b > '~' {
			return false
		}
	}
	return true
}

// number takes an integer of at most 18 digits.
func (c *cursor) number() (n int64, ok bool) {
	s := *c
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	i := 0
	for i < len(s) && i < 19 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int64(s[i]-'0')
		i++
	}
	if i == 0 || i == 19 || i > 1 && s[0] == '0' {
		return 0, false
	}
	if negative {
		n = -n
	}
	*c = s[i:]
	return n, true
}

// read takes one read.
func (c *cursor) read(room *readRoom) (r Read, ok bool) {
	if !c.take(`{"t_ns":`) {
		return r, false
	}
	if r.TNS, ok = c.number(); !ok || !c.take(`,"kernel_ns":`) {
		return r, false
	}
	if !c.take("null") {
		n, ok := c.number()
		if !ok {
			return r, false
		}
		room.kernel = append(room.kernel, n) // never beyond its capacity
		r.KernelNS = &room.kernel[len(room.kernel)-1]
	}
	if !c.take(`,"b64":"`) {
		return r, false
	}
	text, ok := c.text()
	if !ok || !c.take("}") {
		return r, false
	}
	r.B64, ok = room.decode(text)
	return r, ok
}

package frame

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// Errors of a cutter. They end the request in the harness that it follows.
var (
	ErrUTF8    = errors.New("invalid UTF-8")
	ErrTooLong = errors.New("frame is too long")
)

// MaxMessage is how many bytes Messages and Events hold for one frame, so that
// a stream without an end cannot fill the memory. Python's clients have no
// such limit.
const MaxMessage = 64 << 20

// Messages cuts a body as vLLM's handler does: text is added read by read, what
// stands before a blank line (LF LF) is a message, and so is a rest that starts
// with "data: " and is whole JSON or [DONE]. Anything else stays in the buffer
// and sticks to what follows.
type Messages struct {
	// Trim takes the white space off both ends of each read first, as the
	// caller did until November 2026; with it, most blank lines.
	Trim bool

	buf     []byte
	tail    []byte // an incomplete character
	scanned int    // no LF LF begins before
}

// Message is one message; valid until the next call.
type Message struct {
	Text []byte // trimmed, "data: " still on it
	Doc  *Doc   // its JSON where that has been read already, else nil
}

// Add takes one read and calls yield for each message, until yield returns
// false. doc is scratch space. After an error nothing more comes.
func (m *Messages) Add(read []byte, doc *Doc, yield func(Message) bool) error {
	if m.Trim {
		read = trimASCII(read)
	}
	if len(read) == 0 {
		return nil
	}
	if err := m.decode(read); err != nil {
		return err
	}
	at := 0 // what stands before has been given out
	defer func() { m.buf = append(m.buf[:0], m.buf[at:]...) }()
	for {
		i := bytes.Index(m.buf[max(at, m.scanned):], []byte("\n\n"))
		if i < 0 {
			break
		}
		i += max(at, m.scanned)
		text := trimUnicode(m.buf[at:i])
		at = i + 2
		if len(text) > 0 && !yield(Message{Text: text}) {
			return nil
		}
	}
	rest := m.buf[at:]
	switch whole(rest, doc) {
	case isText:
		doc = nil
		fallthrough
	case isJSON:
		at = len(m.buf)
		yield(Message{Text: trimUnicode(rest), Doc: doc})
	}
	m.scanned = max(0, len(m.buf)-at-1)
	return nil
}

// state is what a rest is.
type state int

const (
	unfinished state = iota
	isText           // a message whose text the caller parses
	isJSON
)

// whole says whether what is left behind the last blank line is a message all
// the same; if its text is JSON behind the prefix, it is in doc then. The handler
// strips white space that JSON does not know before it parses, and whoever takes the
// message does not: that text is no JSON to him.
func whole(rest []byte, doc *Doc) state {
	body, ok := bytes.CutPrefix(rest, []byte("data: "))
	if !ok {
		return unfinished
	}
	kind := isJSON
	if r, _ := utf8.DecodeRune(bytes.TrimLeft(body, " \t\n\r")); pythonSpace(r) {
		kind = isText
	}
	body = trimUnicode(body)
	switch {
	case len(body) == 0:
		return unfinished
	case string(body) == "[DONE]":
		return isText
	case body[0] == '{' && body[len(body)-1] != '}':
		return unfinished // do not read a long frame once a read
	case doc.Parse(body) != nil:
		return unfinished
	}
	return kind
}

// decode appends read, keeping back a character that is not whole.
func (m *Messages) decode(read []byte) error {
	if len(m.buf)+len(read) > MaxMessage {
		return ErrTooLong
	}
	if len(m.tail) > 0 {
		read = append(m.tail, read...)
		m.tail = nil
	}
	n := len(read)
	for i := 1; i < utf8.UTFMax && i <= n; i++ { // an unfinished character is at most 3 bytes
		if c := read[n-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(read[n-i:]) {
				n -= i
			}
			break
		}
	}
	if !utf8.Valid(read[:n]) {
		return ErrUTF8
	}
	m.buf = append(m.buf, read[:n]...)
	if n < len(read) {
		m.tail = append(make([]byte, 0, 128), read[n:]...)
	}
	return nil
}

// trimASCII is Python's bytes.strip().
func trimASCII(b []byte) []byte {
	for len(b) > 0 && asciiSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && asciiSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func asciiSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// trimUnicode is Python's str.strip() of valid UTF-8.
func trimUnicode(b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if !pythonSpace(r) {
			break
		}
		b = b[n:]
	}
	for len(b) > 0 {
		r, n := utf8.DecodeLastRune(b)
		if !pythonSpace(r) {
			break
		}
		b = b[:len(b)-n]
	}
	return b
}

// pythonSpace is Python's str.isspace of one character.
func pythonSpace(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r >= 0x1C && r <= ' ', r == 0x85, r == 0xA0, r == 0x1680,
		r >= 0x2000 && r <= 0x200A, r == 0x2028, r == 0x2029, r == 0x202F, r == 0x205F, r == 0x3000:
		return true
	}
	return false
}

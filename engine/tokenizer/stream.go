package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Stream turns ids into text one at a time. What it returns is always whole characters and is never taken back; all of
// it joined is what Decode gives for all ids. It is not safe for concurrent use.
//
//  1. A token is bytes. A control token is its name, or nothing with skipSpecial (bytes held back stay held back).
//  2. They join the bytes held back; every whole character is returned.
//  3. Bytes at the end that may still become a character are held back.
//  4. Bytes that cannot become one are replaced as Unicode recommends (The Unicode Standard, chapter 3, "U+FFFD
//     Substitution of Maximal Subparts"): one U+FFFD for each maximal subpart.
//  5. At the end an unfinished character gives one U+FFFD.
type Stream struct {
	v     *vocabulary
	skip  bool
	held  []byte // at most 3 bytes between calls
	strip int    // characters still to drop at the start of the text
	begun bool   // a token has been shown
}

// Stream starts a text. With skipSpecial, control tokens are left out of it.
func (v *vocabulary) Stream(skipSpecial bool) *Stream {
	return &Stream{v: v, skip: skipSpecial, held: make([]byte, 0, 64), strip: v.strip}
}

// Push appends one token and returns the text that became certain, which may be empty. An id that the tokenizer does
// not have adds nothing.
func (s *Stream) Push(id int32) string {
	s.add(id)
	out, n := whole(nil, s.held, false)
	s.held = s.held[:copy(s.held, s.held[n:])]
	return string(out)
}

// Finish ends the text and returns what is left of it: "" or one U+FFFD. The stream is then as new.
func (s *Stream) Finish() string {
	out, _ := whole(nil, s.held, true)
	s.held, s.strip, s.begun = s.held[:0], s.v.strip, false
	return string(out)
}

// Held is the number of bytes held back.
func (s *Stream) Held() int { return len(s.held) }

func (s *Stream) add(id int32) {
	if s.skip && s.v.Control(id) {
		return
	}
	if s.v.kind == kindPreset {
		b, _ := s.v.TokenBytes(id)
		s.held = append(s.held, b...)
		return
	}
	if id < 0 || int(id) >= len(s.v.tokens) || !s.v.tokens[id].present {
		return
	}
	t := &s.v.tokens[id]
	b := t.bytes
	if !s.begun && s.v.first && strings.Contains(t.text, s.v.blank) {
		b = strings.ReplaceAll(t.text, s.v.blank, "")
	}
	if s.begun && s.v.kind == kindJoined {
		s.held = append(s.held, ' ')
	}
	s.begun = true
	for s.strip > 0 && b != "" {
		rest, found := strings.CutPrefix(b, s.v.stripOf)
		if !found {
			s.strip = 0
			break
		}
		b, s.strip = rest, s.strip-1
	}
	s.held = append(s.held, b...)
}

// Decode is the text of all ids at once, by the rules of Stream.
func (v *vocabulary) Decode(ids []int32, skipSpecial bool) string {
	s := v.Stream(skipSpecial)
	s.held = make([]byte, 0, 4*len(ids)+8)
	for _, id := range ids {
		s.add(id)
	}
	out, _ := whole(make([]byte, 0, len(s.held)+8), s.held, true)
	return string(out)
}

// whole appends to dst the characters of src, with U+FFFD for what can be none, and returns how much of src it took:
// all of it if final, else all but an unfinished character at the end.
func whole(dst, src []byte, final bool) ([]byte, int) {
	at := 0
	for at < len(src) {
		n, ok := subpart(src[at:])
		switch {
		case ok:
			dst = append(dst, src[at:at+n]...)
		case !final && unfinished(src[at:], n):
			return dst, at
		default:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		}
		at += n
	}
	return dst, at
}

// toUTF8 is text with what is not UTF-8 replaced by rule 4.
func toUTF8(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	out, _ := whole(nil, []byte(text), true)
	return string(out)
}

// subpart is the length of the character at the start of b (true), or else of the maximal subpart there (false). b is
// not empty.
func subpart(b []byte) (int, bool) {
	need, low, high := lead(b[0])
	if need == 1 {
		return 1, b[0] < utf8.RuneSelf
	}
	for n := 1; n < need; n++ {
		if n == len(b) || b[n] < low || b[n] > high {
			return n, false
		}
		low, high = 0x80, 0xBF
	}
	return need, true
}

// unfinished reports whether b, which begins with a maximal subpart of n bytes and is all there is so far, may still
// become a character. Half a surrogate, ED A0 to ED BF, never can, but waits for its third byte too, as it does in the
// incremental decoder of CPython that made the golden streams; the text is the same.
func unfinished(b []byte, n int) bool {
	need, _, _ := lead(b[0])
	return n == len(b) && need > n || len(b) == 2 && b[0] == 0xED && b[1] >= 0xA0 && b[1] <= 0xBF
}

// lead gives the length of the character that b begins and the range of its second byte (The Unicode Standard, table
// 3-7, "Well-Formed UTF-8 Byte Sequences"); length 1 for ASCII and for bytes that begin nothing.
func lead(b byte) (need int, low, high byte) {
	switch {
	case b >= 0xC2 && b <= 0xDF:
		return 2, 0x80, 0xBF
	case b == 0xE0:
		return 3, 0xA0, 0xBF
	case b == 0xED:
		return 3, 0x80, 0x9F
	case b >= 0xE1 && b <= 0xEF:
		return 3, 0x80, 0xBF
	case b == 0xF0:
		return 4, 0x90, 0xBF
	case b >= 0xF1 && b <= 0xF3:
		return 4, 0x80, 0xBF
	case b == 0xF4:
		return 4, 0x80, 0x8F
	}
	return 1, 0, 0
}

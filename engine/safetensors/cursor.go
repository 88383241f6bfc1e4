package safetensors

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// cursor walks JSON token by token. A decoder into maps would lose what matters
// here: duplicate names, and whether a number was an integer. It never recurses,
// and it allocates only the strings it returns.
type cursor struct {
	b  []byte
	at int
}

// maxDepth bounds how deep a value that is only skipped may nest.
const maxDepth = 64

func (c *cursor) fail(format string, args ...any) error {
	return fmt.Errorf("%s (byte %d)", fmt.Sprintf(format, args...), c.at)
}

// peek returns the next byte that is no white space; 0 at the end.
func (c *cursor) peek() byte {
	for c.at < len(c.b) {
		switch ch := c.b[c.at]; ch {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return ch
		}
	}
	return 0
}

func (c *cursor) expect(ch byte) error {
	got := c.peek()
	if got == ch && c.at < len(c.b) {
		c.at++
		return nil
	}
	if c.at >= len(c.b) {
		return c.fail("ends where %q should stand", ch)
	}
	return c.fail("has %q where %q should stand", got, ch)
}

// more is called after a member: true after a comma, false after the closing
// byte, which it consumes. first is true before the first member.
func (c *cursor) more(closing byte, first bool) (bool, error) {
	if c.peek() == closing {
		c.at++
		return false, nil
	}
	if first {
		return true, nil
	}
	return true, c.expect(',')
}

// end checks that only white space is left.
func (c *cursor) end() error {
	if c.peek(); c.at < len(c.b) {
		return c.fail("has bytes after its end")
	}
	return nil
}

// key reads an object's key and the colon.
func (c *cursor) key() (string, error) {
	s, err := c.str()
	if err != nil {
		return "", err
	}
	return s, c.expect(':')
}

// str reads a string.
func (c *cursor) str() (string, error) {
	if err := c.expect('"'); err != nil {
		return "", err
	}
	start := c.at
	for c.at < len(c.b) {
		switch ch := c.b[c.at]; {
		case ch == '"':
			c.at++
			return string(c.b[start : c.at-1]), nil
		case ch == '\\':
			return c.escaped(start)
		case ch < ' ':
			return "", c.fail("has a control character in a string")
		}
		c.at++
	}
	return "", c.fail("ends inside a string")
}

// escaped finishes a string that has a backslash at the cursor.
func (c *cursor) escaped(start int) (string, error) {
	var out strings.Builder
	out.Write(c.b[start:c.at])
	for c.at < len(c.b) {
		ch := c.b[c.at]
		switch {
		case ch == '"':
			c.at++
			return out.String(), nil
		case ch < ' ':
			return "", c.fail("has a control character in a string")
		case ch != '\\':
			out.WriteByte(ch)
			c.at++
			continue
		}
		r, err := c.escape()
		if err != nil {
			return "", err
		}
		out.WriteRune(r)
	}
	return "", c.fail("ends inside a string")
}

// escape reads one backslash sequence; the cursor is at the backslash.
func (c *cursor) escape() (rune, error) {
	if c.at+1 >= len(c.b) {
		return 0, c.fail("ends inside a string")
	}
	ch := c.b[c.at+1]
	if i := strings.IndexByte(`"\/bfnrt`, ch); i >= 0 {
		c.at += 2
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if ch != 'u' {
		return 0, c.fail("has an unknown escape in a string")
	}
	r, ok := c.unit(c.at)
	if !ok {
		return 0, c.fail("has a broken \\u escape")
	}
	c.at += 6
	if utf16.IsSurrogate(r) {
		low, ok := c.unit(c.at)
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return 0, c.fail("has half a surrogate pair in a string")
		}
		c.at += 6
	}
	return r, nil
}

// unit reads the escape of four hexadecimal digits at i.
func (c *cursor) unit(i int) (rune, bool) {
	if i+6 > len(c.b) || c.b[i] != '\\' || c.b[i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(c.b[i+2:i+6]), 16, 16)
	return rune(n), err == nil
}

// number reads a number as it is written, checked against JSON's grammar.
func (c *cursor) number() (string, error) {
	c.peek()
	start := c.at
	digits := func() bool {
		from := c.at
		for c.at < len(c.b) && c.b[c.at] >= '0' && c.b[c.at] <= '9' {
			c.at++
		}
		return c.at > from
	}
	is := func(set string) bool {
		ok := c.at < len(c.b) && strings.IndexByte(set, c.b[c.at]) >= 0
		if ok {
			c.at++
		}
		return ok
	}
	is("-")
	zero := c.at < len(c.b) && c.b[c.at] == '0'
	from := c.at
	ok := digits() && (!zero || c.at == from+1)
	if ok && is(".") {
		ok = digits()
	}
	if ok && is("eE") {
		is("+-")
		ok = digits()
	}
	if !ok {
		return "", c.fail("has no number where one should stand")
	}
	return string(c.b[start:c.at]), nil
}

// literal consumes a word such as null.
func (c *cursor) literal(word string) bool {
	c.peek()
	if strings.HasPrefix(string(c.b[c.at:min(len(c.b), c.at+len(word))]), word) {
		c.at += len(word)
		return true
	}
	return false
}

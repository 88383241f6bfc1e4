package frame

import "errors"

// ErrNotJSON is the error of a body of JSON values that holds something else.
var ErrNotJSON = errors.New("not a JSON object or array")

// Objects cuts a body of bare JSON objects and arrays that follow each other
// with nothing, white space or commas between them, as some native endpoints
// stream them. It looks at brackets and strings only; the values have still to
// be read.
type Objects struct {
	buf    []byte
	depth  int
	str    bool
	escape bool
	at     int64 // offset of the next byte
	start  int64
}

// Add takes one read, stamped t, and calls yield for each value that it
// completes, until yield returns false.
func (o *Objects) Add(read []byte, t int64, yield func(Event) bool) error {
	for _, c := range read {
		o.at++
		if o.depth == 0 {
			switch c {
			case ' ', '\t', '\r', '\n', ',':
				continue
			case '{', '[':
				o.start = o.at - 1
			default:
				return ErrNotJSON
			}
		}
		if o.buf = append(o.buf, c); len(o.buf) > MaxMessage {
			return ErrTooLong
		}
		switch {
		case o.escape:
			o.escape = false
		case o.str:
			o.escape = c == '\\'
			o.str = c != '"'
		case c == '"':
			o.str = true
		case c == '{' || c == '[':
			o.depth++
		case c == '}' || c == ']':
			o.depth--
		}
		if o.depth > 0 {
			continue
		}
		ok := yield(Event{Data: o.buf, Offset: o.start, T: t})
		if o.buf = o.buf[:0]; !ok {
			return nil
		}
	}
	return nil
}

// Open says whether the body so far ends inside a value.
func (o *Objects) Open() bool { return o.depth > 0 }

package frame

import "bytes"

// Event is one event of an event stream; valid during the call.
type Event struct {
	Data   []byte // the data lines, joined by LF
	Type   []byte // of its event field; empty for the default
	Offset int64  // of its first byte in the body
	T      int64  // stamp of the read that completed its last data line
}

// Events cuts a body by the event-stream format of the HTML standard: lines end
// in LF, CR or CRLF, one byte order mark at the start is ignored, at most one
// space behind the colon is taken off, data lines are joined by LF, comments
// and unknown fields are skipped. It gives the same events however the body was
// cut into reads.
//
// An event that the body's end cuts off is not given out, as the standard says,
// but it is counted; a lone "data: [DONE]" is taken without its blank line. The
// stamp of an event is that of its data, not of the blank line behind it, which
// tells nothing of when the token came.
type Events struct {
	Comments     int // lines that start with a colon
	Heartbeats   int // events without data, or with nothing but white space in it
	Fields       int // lines that are a comment or a field of the standard
	Unterminated int // 1 where the body ended inside an event

	line   []byte // a line that is not whole
	data   []byte
	typ    []byte
	lines  int   // data lines in data
	at     int64 // offset of the next byte
	lineAt int64 // offset of the open line
	event  int64 // offset of the open event
	inside bool  // the open event has a line
	stamp  int64
	cr     bool // the last byte was CR: an LF belongs to it
	begun  bool
}

// Add takes one read, stamped t, and calls yield for each event that it
// completes, until yield returns false. Its error is ErrTooLong.
func (e *Events) Add(read []byte, t int64, yield func(Event) bool) error {
	for len(read) > 0 {
		if e.cr && read[0] == '\n' {
			read, e.at, e.lineAt = read[1:], e.at+1, e.at+1
		}
		e.cr = false
		i := lineEnd(read)
		if i < 0 {
			break
		}
		line := read[:i]
		if len(e.line) > 0 {
			e.line = append(e.line, line...)
			line = e.line
		}
		e.cr = read[i] == '\r'
		read = read[i+1:]
		e.at += int64(i + 1)
		e.line = e.line[:0]
		if len(line)+len(e.data) > MaxMessage {
			return ErrTooLong
		}
		ok := e.take(line, t, yield)
		e.lineAt = e.at
		if !ok {
			return nil
		}
	}
	e.line = append(e.line, read...)
	e.at += int64(len(read))
	if len(e.line)+len(e.data) > MaxMessage {
		e.line, e.data = nil, nil
		return ErrTooLong
	}
	return nil
}

func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if cr := bytes.IndexByte(b[:lf], '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// End takes the end of the body, stamped t.
func (e *Events) End(t int64, yield func(Event) bool) {
	if len(e.line) > 0 {
		e.take(e.line, t, yield)
	}
	e.line = nil
	if !e.inside {
		return
	}
	if string(e.data) == "[DONE]" {
		e.dispatch(yield)
		return
	}
	if len(bytes.TrimSpace(e.data)) > 0 {
		e.Unterminated = 1
	}
	e.inside = false
}

// take takes one line without its end.
func (e *Events) take(line []byte, t int64, yield func(Event) bool) bool {
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	if len(line) == 0 {
		return !e.inside || e.dispatch(yield)
	}
	if line[0] == ':' {
		e.Comments++
		e.Fields++
		return true
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if e.lines++; e.lines > 1 {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
		e.stamp = t
	case "event":
		e.typ = append(e.typ[:0], value...)
	case "id", "retry":
	default:
		return true
	}
	e.Fields++
	if !e.inside {
		e.inside, e.event = true, e.lineAt
	}
	return true
}

func (e *Events) dispatch(yield func(Event) bool) bool {
	event, lines := Event{Data: e.data, Type: e.typ, Offset: e.event, T: e.stamp}, e.lines
	e.inside, e.data, e.typ, e.lines = false, e.data[:0], e.typ[:0], 0
	if lines == 0 {
		return true // only an event, id or retry field
	}
	if len(bytes.TrimSpace(event.Data)) == 0 {
		e.Heartbeats++
		return true
	}
	return yield(event)
}

package bench

import (
	"bufio"
	"errors"
	"io"
)

// MaxLine is the longest line in bytes that a reader takes. The longest that
// Lathe writes is a request with all its reads, far below; what is longer is
// not a raw file, and is refused before it fills the memory.
const MaxLine = 64 << 20

// ErrLineTooLong is the error of a line above MaxLine.
var ErrLineTooLong = errors.New("line is longer than 64 MiB")

// lineReader reads lines without their line ends. A stream that was cut (a
// compressed one has no proper end) yields what can be read of it.
type lineReader struct {
	br   *bufio.Reader
	long []byte // a line longer than br's buffer
	max  int
	cut  bool  // the stream ended in io.ErrUnexpectedEOF
	open bool  // the line returned last had no line end
	err  error // met while reading ahead
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{br: bufio.NewReaderSize(r, 64<<10), max: MaxLine}
}

// next returns a line, valid until the next call, or io.EOF.
func (l *lineReader) next() ([]byte, error) {
	if l.cut {
		return nil, io.EOF
	}
	if l.err != nil {
		return nil, l.err
	}
	l.long = l.long[:0]
	for {
		part, err := l.br.ReadSlice('\n')
		if len(l.long)+len(part) > l.max {
			return nil, ErrLineTooLong
		}
		switch {
		case err == nil:
			part = part[:len(part)-1]
			if len(l.long) == 0 && l.br.Buffered() > 0 {
				return part, nil
			}
			l.long = append(l.long, part...) // safe from atEnd's reading ahead
			return l.long, nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.long = append(l.long, part...)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			l.cut = l.cut || errors.Is(err, io.ErrUnexpectedEOF)
			if len(l.long)+len(part) == 0 {
				return nil, io.EOF
			}
			l.open = true
			l.long = append(l.long, part...)
			return l.long, nil
		default:
			return nil, err
		}
	}
}

// atEnd says whether the line returned last is the last one. That line stays
// valid.
func (l *lineReader) atEnd() bool {
	if l.open || l.cut {
		return true
	}
	if l.br.Buffered() > 0 {
		return false
	}
	switch _, err := l.br.Peek(1); {
	case err == nil:
		return false
	case errors.Is(err, io.EOF):
		return true
	case errors.Is(err, io.ErrUnexpectedEOF):
		l.cut = true
		return true
	default:
		l.err = err
		return false
	}
}

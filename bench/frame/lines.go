package frame

import "bytes"

// MaxSGLangLine is the longest line that aiohttp gives out under SGLang's
// buffer of 10 MiB: twice as much.
const MaxSGLangLine = 20 << 20

// Lines cuts a body as SGLang's clients do: at LF, white space trimmed at both
// ends, blank lines left out.
type Lines struct {
	open []byte // a line that is not whole
}

// Add takes one read and calls yield for each line that it completes, until
// yield returns false. A line is valid during the call. Its error is
// ErrTooLong.
func (l *Lines) Add(read []byte, yield func(line []byte) bool) error {
	for {
		i := bytes.IndexByte(read, '\n')
		if i < 0 {
			break
		}
		line := read[:i]
		if len(l.open) > 0 {
			l.open = append(l.open, line...)
			line = l.open
		}
		read = read[i+1:]
		if len(line) >= MaxSGLangLine {
			return ErrTooLong
		}
		line = trimASCII(line)
		l.open = l.open[:0]
		if len(line) > 0 && !yield(line) {
			return nil
		}
	}
	l.open = append(l.open, read...)
	if len(l.open) > MaxSGLangLine {
		l.open = nil
		return ErrTooLong
	}
	return nil
}

// End completes a line without a line end, as the end of the body does.
func (l *Lines) End(yield func(line []byte) bool) {
	if line := trimASCII(l.open); len(line) > 0 {
		yield(line)
	}
	l.open = nil
}

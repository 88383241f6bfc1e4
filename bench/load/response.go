package load

import (
	"errors"
	"fmt"
)

// What an HTTP/1 answer must keep to. Chunk extensions and trailers count
// towards head bytes.
const (
	maxHeadBytes  = 64 << 10
	maxChunkLine  = 4 << 10
	maxChunkBytes = 1 << 40
)

type bodyState uint8

const (
	inHead bodyState = iota
	inLength
	untilClose
	inChunkSize
	inChunkExtension
	inChunk
	behindChunk
	inTrailer
	whole
)

// response reads one HTTP/1 answer from pieces of any size.
type response struct {
	state  bodyState
	chunky bool
	digits int8 // of the chunk size so far
	status int
	reason string
	head   []byte // the part of a head that came, while it is not whole
	seen   int    // bytes of heads and trailers
	remain int64  // of the body or the chunk
	line   int    // bytes of the chunk size line or the trailer line

	contentType string
	keepAlive   bool
	extra       bool // bytes behind the end: the connection is of no more use
}

func (r *response) reset() { *r = response{head: r.head[:0]} }

// headDone says whether the status is known.
func (r *response) headDone() bool { return r.state != inHead }

// reusable says whether the connection may carry another request.
func (r *response) reusable() bool { return r.state == whole && r.keepAlive && !r.extra }

// feed takes the next bytes of the connection and returns those of the body,
// moved to the front of p. An error is a *failure and final.
func (r *response) feed(p []byte) (body []byte, err error) {
	out, n := p, 0
	for len(p) > 0 && err == nil {
		switch r.state {
		case inHead:
			p, err = r.takeHead(p)
		case inLength, inChunk:
			k := int(min(r.remain, int64(len(p))))
			n += copy(out[n:], p[:k])
			p = p[k:]
			if r.remain -= int64(k); r.remain == 0 {
				r.state = r.afterData()
			}
		case untilClose:
			n += copy(out[n:], p)
			p = nil
		case whole:
			r.extra, p = true, nil
		default:
			p, err = r.takeFraming(p)
		}
	}
	return out[:n], err
}

func (r *response) afterData() bodyState {
	if r.state == inChunk {
		return behindChunk
	}
	return whole
}

// closed is told that the other side closed. It is nil where that ends the
// answer.
func (r *response) closed() error {
	switch r.state {
	case whole:
		return nil
	case untilClose:
		r.state = whole
		return nil
	case inHead:
		return fail(ClassNoResponse, errors.New("the server closed the connection before a response"))
	}
	return fail(ClassCut, errors.New("the server closed the connection inside the body"))
}

// takeFraming reads chunk sizes and what stands around chunks, a byte at a time:
// a chunk has a handful.
func (r *response) takeFraming(p []byte) ([]byte, error) {
	for i, c := range p {
		var err error
		switch r.state {
		case inChunkSize:
			err = r.chunkDigit(c)
		case inChunkExtension:
			if c == '\n' {
				r.startChunk()
			} else {
				err = r.count(maxChunkLine, "chunk extension")
			}
		case behindChunk:
			err = r.chunkEnd(c)
		case inTrailer:
			err = r.trailer(c)
		}
		if err != nil {
			return nil, err
		}
		if r.state == inChunk || r.state == whole {
			return p[i+1:], nil
		}
	}
	return nil, nil
}

func (r *response) chunkDigit(c byte) error {
	var d byte
	switch {
	case c >= '0' && c <= '9':
		d = c - '0'
	case c >= 'a' && c <= 'f':
		d = c - 'a' + 10
	case c >= 'A' && c <= 'F':
		d = c - 'A' + 10
	case r.digits > 0 && c == '\n':
		r.startChunk()
		return nil
	case r.digits > 0 && (c == '\r' || c == ';' || c == ' ' || c == '\t'):
		r.state = inChunkExtension
		return nil
	default:
		return fail(ClassBadResponse, fmt.Errorf("chunk size: byte %q", c))
	}
	r.digits++
	if r.remain = r.remain<<4 | int64(d); r.remain > maxChunkBytes || r.digits > 16 {
		return fail(ClassBadResponse, errors.New("chunk size above 2^40"))
	}
	return nil
}

func (r *response) startChunk() {
	r.line, r.digits = 0, 0
	if r.state = inChunk; r.remain == 0 {
		r.state = inTrailer
	}
}

func (r *response) chunkEnd(c byte) error {
	switch c {
	case '\r':
		return r.count(1, "line end behind a chunk")
	case '\n':
		r.state, r.remain, r.line = inChunkSize, 0, 0
		return nil
	}
	return fail(ClassBadResponse, fmt.Errorf("behind a chunk: byte %q", c))
}

// trailer ends the answer at an empty line.
func (r *response) trailer(c byte) error {
	switch {
	case c == '\n' && r.line == 0:
		r.state = whole
		return nil
	case c == '\n':
		r.line = 0
	case c != '\r':
		r.line++
	}
	if r.seen++; r.seen > maxHeadBytes {
		return fail(ClassHeadSize, fmt.Errorf("trailers above %d bytes", maxHeadBytes))
	}
	return nil
}

// count bounds the bytes of a line of framing.
func (r *response) count(limit int, what string) error {
	if r.line++; r.line > limit {
		return fail(ClassBadResponse, fmt.Errorf("%s above %d bytes", what, limit))
	}
	return nil
}

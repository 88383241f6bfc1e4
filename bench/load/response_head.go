package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// takeHead reads the head, or the next part of it, and returns what stands
// behind it.
func (r *response) takeHead(p []byte) (rest []byte, err error) {
	had := len(r.head)
	r.head = append(r.head, p[:min(len(p), maxHeadBytes+1-had)]...)
	if n := min(len(r.head), len("HTTP/1.")); string(r.head[:n]) != "HTTP/1."[:n] {
		return nil, fail(ClassBadResponse, fmt.Errorf("not an HTTP/1 response: it starts with %q", r.head[:min(len(r.head), 16)]))
	}
	end := headEnd(r.head, max(had-3, 0))
	if end < 0 {
		if r.seen+len(r.head) > maxHeadBytes {
			return nil, fail(ClassHeadSize, fmt.Errorf("response head above %d bytes", maxHeadBytes))
		}
		return nil, nil
	}
	if r.seen += end; r.seen > maxHeadBytes {
		return nil, fail(ClassHeadSize, fmt.Errorf("response heads above %d bytes", maxHeadBytes))
	}
	err = r.parseHead(r.head[:end])
	r.head = r.head[:0]
	return p[end-had:], err
}

// headEnd is the length of a head with its empty line, -1 where that has not
// come. Lines end with LF or CR LF. Nothing before from is looked at.
func headEnd(p []byte, from int) int {
	for i := from; i < len(p); {
		k := bytes.IndexByte(p[i:], '\n')
		if k < 0 {
			return -1
		}
		i += k + 1
		switch {
		case i < len(p) && p[i] == '\n':
			return i + 1
		case i+1 < len(p) && p[i] == '\r' && p[i+1] == '\n':
			return i + 2
		}
	}
	return -1
}

// framing is what the head says about the length of the body.
type framing struct {
	length     int64 // -1: not said
	chunked    bool
	encoded    string // content or transfer encoding other than none
	close      bool
	persistent bool // keep-alive said
}

func (r *response) parseHead(head []byte) error {
	lines := strings.Split(strings.TrimRight(string(head), "\r\n"), "\n")
	minor, err := r.statusLine(strings.TrimRight(lines[0], "\r"))
	if err != nil {
		return err
	}
	f := framing{length: -1}
	for _, line := range lines[1:] {
		if err := r.header(strings.TrimRight(line, "\r"), &f); err != nil {
			return err
		}
	}
	if r.status/100 == 1 {
		if r.status == 101 {
			return fail(ClassBadResponse, errors.New("the server switched protocols"))
		}
		return nil // an interim answer: the head to come is the one that counts
	}
	r.keepAlive = minor >= 1 && !f.close || minor == 0 && f.persistent && !f.close
	switch {
	case f.encoded != "":
		r.state = inLength
		return fail(ClassCompressed, fmt.Errorf("the body is encoded (%s), which was not asked for: frames inside it have no times", f.encoded))
	case r.status == 204 || r.status == 304:
		r.state = whole
	case f.chunked:
		r.state, r.remain = inChunkSize, 0
		r.keepAlive = r.keepAlive && f.length < 0 // both lengths: believe neither for longer than this answer
	case f.length == 0:
		r.state = whole
	case f.length > 0:
		r.state, r.remain = inLength, f.length
	default:
		r.state, r.keepAlive = untilClose, false
	}
	return nil
}

// statusLine reads "HTTP/1.1 200 OK" and returns the minor version.
func (r *response) statusLine(line string) (minor int, err error) {
	bad := func() (int, error) {
		return 0, fail(ClassBadResponse, fmt.Errorf("status line %.64q", line))
	}
	if len(line) < len("HTTP/1.1 200") || line[7] < '0' || line[7] > '9' || line[8] != ' ' {
		return bad()
	}
	status, err := strconv.ParseUint(line[9:12], 10, 16)
	if err != nil || status < 100 || len(line) > 12 && line[12] != ' ' {
		return bad()
	}
	r.status, r.reason = int(status), ""
	if len(line) > 13 {
		r.reason = line[13:]
	}
	return int(line[7] - '0'), nil
}

func (r *response) header(line string, f *framing) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsAny(name, " \t\r\x00") {
		return fail(ClassBadResponse, fmt.Errorf("header line %.64q", line))
	}
	value = strings.Trim(value, " \t")
	switch strings.ToLower(name) {
	case "content-length":
		n, err := strconv.ParseUint(value, 10, 62)
		if err != nil || f.length >= 0 && f.length != int64(n) {
			return fail(ClassBadResponse, fmt.Errorf("content length %.32q", value))
		}
		f.length = int64(n)
	case "transfer-encoding":
		for part := range strings.SplitSeq(value, ",") {
			switch part = strings.ToLower(strings.TrimSpace(part)); part {
			case "chunked":
				f.chunked = true
			case "identity", "":
			default:
				f.encoded = part
			}
		}
	case "content-encoding":
		if v := strings.ToLower(value); v != "identity" && v != "" {
			f.encoded = v
		}
	case "connection":
		for part := range strings.SplitSeq(value, ",") {
			switch strings.ToLower(strings.TrimSpace(part)) {
			case "close":
				f.close = true
			case "keep-alive":
				f.persistent = true
			}
		}
	case "content-type":
		r.contentType = value
	}
	return nil
}

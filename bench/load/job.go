package load

import (
	"fmt"
	"strconv"
	"strings"
)

// Header is one header field of a request.
type Header struct{ Name, Value string }

// Call is one HTTP request as a harness would send it.
type Call struct {
	Endpoint string // completions, chat, generate: which wire form the answer has
	Path     string // with its leading slash, behind the base URL's own
	Headers  []Header
	Body     []byte // JSON
	Stream   bool   // an event stream is asked for
}

// Job is one request of a run.
type Job struct {
	ID string // names it in the capture; unique there
	Call
	PromptLen          int
	TextPromptLen      *int
	VisionPromptLen    *int
	RequestedOutputLen int
	// Follow, where it is not nil, is handed the answer when it came to its end
	// with status 200, and may return the next request of the same conversation:
	// it is sent at once, under the same permit. The body is kept in memory for
	// it.
	Follow func(body []byte) (next Job, ok bool)
}

// wire is the job's request head.
func (j *Job) wire(t *target) ([]byte, error) {
	if !strings.HasPrefix(j.Path, "/") || strings.ContainsAny(j.Path, " \r\n\x00") {
		return nil, fmt.Errorf("request %s: path %q", j.ID, j.Path)
	}
	b := make([]byte, 0, 512)
	b = append(b, "POST "+t.requestTarget(j.Path)+" HTTP/1.1\r\nHost: "+t.host+"\r\n"...)
	field := func(name, value string) { b = append(b, name+": "+value+"\r\n"...) }
	if t.proxyAuth != "" && !t.secure {
		field("Proxy-Authorization", t.proxyAuth)
	}
	own := []Header{{"Accept", "*/*"}, {"Accept-Encoding", "identity"}, {"User-Agent", "lathe"}, {"Content-Type", "application/json"}, {"Authorization", t.auth}}
	for _, h := range own {
		if h.Value != "" && !hasHeader(j.Headers, h.Name) {
			field(h.Name, h.Value)
		}
	}
	for _, h := range j.Headers {
		if !validHeader(h) {
			return nil, fmt.Errorf("request %s: header %q cannot be sent", j.ID, h.Name)
		}
		field(h.Name, h.Value)
	}
	field("Content-Length", strconv.Itoa(len(j.Body)))
	return append(b, "\r\n"...), nil
}

func hasHeader(all []Header, name string) bool {
	for _, h := range all {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}

// validHeader also keeps out the fields that frame the request.
func validHeader(h Header) bool {
	if h.Name == "" || strings.ContainsAny(h.Value, "\r\n\x00") {
		return false
	}
	for _, c := range []byte(h.Name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	switch strings.ToLower(h.Name) {
	case "content-length", "transfer-encoding", "connection", "host":
		return false
	}
	return true
}

// setHeader replaces the field of that name, or appends it.
func setHeader(all []Header, name, value string) []Header {
	for i := range all {
		if strings.EqualFold(all[i].Name, name) {
			all[i] = Header{name, value}
			return all
		}
	}
	return append(all, Header{name, value})
}

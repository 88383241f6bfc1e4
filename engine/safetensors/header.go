package safetensors

import (
	"encoding/binary"
	"unicode/utf8"
)

// entry is one tensor of a header. begin and end count from the data's start.
type entry struct {
	name       string
	dtype      string
	shape      []int64
	begin, end int64
}

// headerLength checks the first 8 bytes against the file and the limit.
func headerLength(b []byte, name string) (int64, error) {
	if len(b) == 0 {
		return 0, fault(Truncated, "the file is empty")
	}
	if err := recognise(b, name); err != nil {
		return 0, err
	}
	if len(b) < 8 {
		return 0, fault(Truncated, "the file is too short: %d bytes, the header length alone takes 8", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	switch {
	case n > MaxHeader:
		return 0, fault(HeaderLength, "header length %d is over the limit of %d bytes; split such a checkpoint into shards", n, MaxHeader)
	case n > uint64(len(b)-8):
		return 0, fault(Truncated, "header of %d bytes, but only %d follow: the file is truncated", n, len(b)-8)
	}
	return int64(n), nil
}

// parseHeader reads the JSON. Ranges are checked by checkRanges.
func parseHeader(b []byte) ([]entry, error) {
	if len(b) == 0 {
		return nil, fault(HeaderJSON, "the header is empty (length 0)")
	}
	if !utf8.Valid(b) {
		return nil, fault(HeaderJSON, "the header is not valid UTF-8")
	}
	if b[0] != '{' {
		return nil, fault(HeaderJSON, "the header is not a JSON object: it starts with %q", rune(b[0]))
	}
	c := &cursor{b: b, at: 1}
	var entries []entry
	seen := map[string]struct{}{}
	for first := true; ; first = false {
		more, err := c.more('}', first)
		if err != nil {
			return nil, headerFault(err)
		}
		if !more {
			break
		}
		name, err := c.key()
		if err != nil {
			return nil, headerFault(err)
		}
		if _, dup := seen[name]; dup {
			return nil, fault(HeaderJSON, "duplicate key in the header: %s is listed twice", quote(name))
		}
		seen[name] = struct{}{}
		if name == "__metadata__" {
			if err := parseMetadata(c); err != nil {
				return nil, headerFault(err)
			}
			continue
		}
		e, err := parseEntry(c, name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	if err := c.end(); err != nil {
		return nil, headerFault(err)
	}
	return entries, nil
}

func headerFault(err error) *Error { return fault(HeaderJSON, "the header %v", err) }

// parseMetadata reads {"key": "text"} or null; the content is not kept.
func parseMetadata(c *cursor) error {
	if c.peek() == 'n' && c.literal("null") {
		return nil
	}
	if err := c.expect('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := c.more('}', first)
		if err != nil || !more {
			return err
		}
		if _, err := c.key(); err != nil {
			return err
		}
		if _, err := c.str(); err != nil {
			return err
		}
	}
}

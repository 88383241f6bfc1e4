package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf16"
)

// object is a JSON object whose keys keep their order, as a Python dict's do.
type object []member

type member struct {
	key   string
	value any // nil, bool, int, float64, string, json.Number, []any, []int, object
}

// set replaces the key's value where it stands, or appends it.
func (o *object) set(key string, value any) {
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{key, value})
}

func (o object) has(key string) bool {
	for _, m := range o {
		if m.key == key {
			return true
		}
	}
	return false
}

// update is Python's dict.update.
func (o *object) update(with object) {
	for _, m := range with {
		o.set(m.key, m.value)
	}
}

// parseObject reads a JSON object; nothing is an empty one.
func parseObject(text json.RawMessage) (object, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	v, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok {
		return nil, errors.New("it is no JSON object")
	}
	return o, nil
}

// parseJSON reads one JSON text and keeps the order of keys and the digits of
// integers.
func parseJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := parseValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something stands behind the JSON text")
	}
	return v, nil
}

func parseValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		o := object{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			o.set(k.(string), v)
		}
		_, err := d.Token()
		return o, err
	}
	return t, nil
}

// appendPython appends v as Python's json.dumps writes it by default: ", " and
// ": ", ASCII only, floats as repr gives them.
func appendPython(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case float64:
		return appendRepr(b, v), nil
	case string:
		return appendASCII(b, v), nil
	case json.Number:
		return appendNumber(b, string(v))
	case []int:
		return appendSequence(b, '[', ']', len(v), func(b []byte, i int) ([]byte, error) { return strconv.AppendInt(b, int64(v[i]), 10), nil })
	case []any:
		return appendSequence(b, '[', ']', len(v), func(b []byte, i int) ([]byte, error) { return appendPython(b, v[i]) })
	case object:
		return appendSequence(b, '{', '}', len(v), func(b []byte, i int) ([]byte, error) {
			return appendPython(append(appendASCII(b, v[i].key), ": "...), v[i].value)
		})
	}
	return nil, fmt.Errorf("a %T has no JSON form", v)
}

func appendSequence(b []byte, open, end byte, n int, one func(b []byte, i int) ([]byte, error)) ([]byte, error) {
	b = append(b, open)
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		var err error
		if b, err = one(b, i); err != nil {
			return nil, err
		}
	}
	return append(b, end), nil
}

// appendNumber writes a JSON number as Python does after reading it: an integer
// digit by digit, anything else as a float.
func appendNumber(b []byte, s string) ([]byte, error) {
	if !bytes.ContainsAny([]byte(s), ".eE") {
		if s == "-0" {
			s = "0"
		}
		return append(b, s...), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return nil, err
	}
	return appendRepr(b, f), nil
}

// appendRepr appends a float as Python's repr does: the shortest digits that
// read back, in exponent form below 1e-4 and from 1e16 on.
func appendRepr(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if bytes.IndexByte(b[n:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// appendASCII appends a string with everything outside printable ASCII escaped.
func appendASCII(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	unit := func(u rune) {
		b = append(b, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
	}
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r >= ' ' && r <= '~':
			b = append(b, byte(r))
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			unit(hi)
			unit(lo)
		default:
			unit(r)
		}
	}
	return append(b, '"')
}

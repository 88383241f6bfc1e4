package llama

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// object is a JSON object whose keys are checked one by one. The first wrong
// value is kept in err; later reads return zero.
type object struct {
	raw   map[string]json.RawMessage
	where string // prefix of key names in messages: "" or "rope_scaling."
	err   error
}

// parseObject reads an object and refuses a key that stands twice.
func parseObject(data []byte, where string) (*object, error) {
	if !utf8.Valid(data) {
		return nil, fault(ConfigJSON, "not valid UTF-8")
	}
	if !json.Valid(data) {
		var v json.RawMessage
		return nil, fault(ConfigJSON, "not JSON: %v", json.Unmarshal(data, &v))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fault(ConfigJSON, "not a JSON object: it starts with %.20q", bytes.TrimSpace(data))
	}
	o := &object{raw: map[string]json.RawMessage{}, where: where}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fault(ConfigJSON, "not JSON: %v", err)
		}
		key := t.(string)
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, fault(ConfigJSON, "not JSON: %v", err)
		}
		if _, dup := o.raw[key]; dup {
			return nil, fault(ConfigJSON, "duplicate key: %.80q stands twice", where+key)
		}
		o.raw[key] = v
	}
	return o, nil
}

// has reports a key that is there and not null.
func (o *object) has(key string) bool {
	v, ok := o.raw[key]
	return ok && string(v) != "null"
}

func (o *object) fail(class Class, format string, args ...any) {
	if o.err == nil {
		o.err = fault(class, format, args...)
	}
}

// text prints a value for a message, cut short.
func (o *object) text(key string) string {
	const most = 80
	v := string(o.raw[key])
	if len(v) > most {
		v = v[:most] + "..."
	}
	return v
}

// size reads a required integer in [1, most].
func (o *object) size(key string, most int) int {
	if !o.has(key) {
		o.fail(ConfigValue, "%s%s is missing", o.where, key)
		return 0
	}
	n, err := strconv.ParseInt(string(o.raw[key]), 10, 64)
	switch {
	case err != nil && !isInteger(o.raw[key]):
		o.fail(ConfigValue, "%s%s is %s, not an integer", o.where, key, o.text(key))
	case err == nil && n < 1:
		o.fail(ConfigValue, "%s%s is %s, it must be at least 1", o.where, key, o.text(key))
	case err != nil && o.raw[key][0] == '-':
		o.fail(ConfigValue, "%s%s is %s, it must be at least 1", o.where, key, o.text(key))
	case err != nil || n > int64(most):
		o.fail(ConfigValue, "%s%s is %s, the largest accepted is %d", o.where, key, o.text(key), most)
	default:
		return int(n)
	}
	return 0
}

// sizeOr is size with a default for an absent key.
func (o *object) sizeOr(key string, most, absent int) int {
	if !o.has(key) {
		return absent
	}
	return o.size(key, most)
}

// isInteger tells 16 from 16.0, "16" and true.
func isInteger(v json.RawMessage) bool {
	v = bytes.TrimPrefix(v, []byte("-"))
	return len(v) > 0 && len(bytes.Trim(v, "0123456789")) == 0
}

// number reads a required finite number, at least least and, where positive is
// set, above 0. It must survive float32.
func (o *object) number(key string, least float64, positive bool) float64 {
	if !o.has(key) {
		o.fail(ConfigValue, "%s%s is missing", o.where, key)
		return 0
	}
	var f float64
	if c := o.raw[key][0]; c != '-' && (c < '0' || c > '9') || json.Unmarshal(o.raw[key], &f) != nil || float32(f) > math.MaxFloat32 {
		o.fail(ConfigValue, "%s%s is %s, not a finite number", o.where, key, o.text(key))
		return 0
	}
	if f < least || positive && float32(f) <= 0 {
		bound := "above 0"
		if !positive || f > 0 {
			bound = "at least " + strconv.FormatFloat(least, 'g', -1, 64)
		}
		o.fail(ConfigValue, "%s%s is %s, it must be %s", o.where, key, o.text(key), bound)
		return 0
	}
	return f
}

// flag reads a boolean; absent is false.
func (o *object) flag(key string) bool {
	if !o.has(key) {
		return false
	}
	if v := string(o.raw[key]); v != "true" && v != "false" {
		o.fail(ConfigValue, "%s%s is %s, not true or false", o.where, key, o.text(key))
	}
	return string(o.raw[key]) == "true"
}

// str reads a string; absent is "".
func (o *object) str(key string) string {
	if !o.has(key) {
		return ""
	}
	var s string
	if json.Unmarshal(o.raw[key], &s) != nil {
		o.fail(ConfigValue, "%s%s is %s, not a string", o.where, key, o.text(key))
	}
	return s
}

// tokens reads one token id or a list of them, each below vocab; null is none.
func (o *object) tokens(key string, vocab int, absent []int) []int {
	v, ok := o.raw[key]
	if !ok {
		return absent
	}
	if string(v) == "null" {
		return nil
	}
	items := []json.RawMessage{v}
	if v[0] == '[' {
		if err := json.Unmarshal(v, &items); err != nil {
			o.fail(ConfigValue, "%s%s is %s, not a list of token ids", o.where, key, o.text(key))
			return nil
		}
	}
	ids := make([]int, 0, len(items))
	for _, item := range items {
		n, err := strconv.Atoi(string(item))
		if err != nil || n < 0 || n >= vocab {
			o.fail(ConfigValue, "%s%s is %s: %.40s is no token id below vocab_size %d", o.where, key, o.text(key), item, vocab)
			return nil
		}
		ids = append(ids, n)
	}
	return ids
}

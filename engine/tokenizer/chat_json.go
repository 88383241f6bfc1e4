package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// orderedJSON reads a JSON value into what templates work on; objects keep the order of their keys.
func orderedJSON(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, errors.New("no value")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := nextValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// maxDepth bounds the nesting of a value from outside.
const maxDepth = 200

func nextValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch t := token.(type) {
	case json.Number:
		if n, err := strconv.Atoi(t.String()); err == nil {
			return n, nil
		}
		return t.Float64()
	case json.Delim:
		if t == '[' {
			return nextList(d, depth)
		}
		return nextObject(d, depth)
	}
	return token, nil
}

func nextList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := nextValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func nextObject(d *json.Decoder, depth int) (any, error) {
	dict := exec.NewDict()
	at := map[string]int{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := nextValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder allows no other key
		if i, again := at[name]; again {
			dict.Pairs[i].Value = exec.AsValue(v)
			continue
		}
		at[name] = len(dict.Pairs)
		dict.Pairs = append(dict.Pairs, &exec.Pair{Key: exec.AsValue(name), Value: exec.AsValue(v)})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if len(dict.Pairs) == 0 {
		return map[string]any{}, nil // the library's Dict is true even when empty
	}
	return dict, nil
}

// toJSON is the filter as transformers defines it: json.dumps without escaping of what is not ASCII.
func toJSON(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	w := &pythonJSON{item: ", ", key: ": ", indent: -1}
	names := []string{"ensure_ascii", "indent", "separators", "sort_keys"}
	args := map[string]*exec.Value{}
	for i, v := range params.Args {
		if i < len(names) {
			args[names[i]] = v
		}
	}
	for name, v := range params.KwArgs {
		args[name] = v
	}
	if v := args["indent"]; v != nil && v.IsInteger() {
		w.indent, w.item = v.Integer(), ","
	}
	if v := args["separators"]; v != nil && v.IsList() && v.Len() == 2 {
		w.item, w.key = v.Index(0).String(), v.Index(1).String()
	}
	w.ascii = args["ensure_ascii"] != nil && args["ensure_ascii"].IsTrue()
	w.sort = args["sort_keys"] != nil && args["sort_keys"].IsTrue()
	if err := w.value(in, 0); err != nil {
		return exec.AsValue(fmt.Errorf("tojson: %w", err))
	}
	return exec.AsSafeValue(w.out.String())
}

// pythonJSON writes values as Python's json module does.
type pythonJSON struct {
	out         strings.Builder
	item, key   string
	indent      int // -1: on one line
	ascii, sort bool
}

func (w *pythonJSON) value(v *exec.Value, depth int) error {
	switch {
	case depth > maxDepth:
		return fmt.Errorf("nested deeper than %d", maxDepth)
	case v == nil || v.IsNil():
		w.out.WriteString("null")
	case v.IsError():
		return errors.New(v.Error())
	case v.IsBool():
		w.out.WriteString(strconv.FormatBool(v.Bool()))
	case v.IsInteger():
		w.out.WriteString(strconv.Itoa(v.Integer()))
	case v.IsFloat():
		w.out.WriteString(pythonFloat(v.Float()))
	case v.IsString():
		w.text(v.String())
	case v.IsDict():
		return w.dict(v, depth)
	case v.IsList():
		n := v.Len()
		return w.list('[', ']', n, depth, func(i int) error { return w.value(element(v, i), depth+1) })
	default:
		return fmt.Errorf("no JSON for %T", v.Interface())
	}
	return nil
}

// element is list item i, which the library may keep wrapped.
func element(list *exec.Value, i int) *exec.Value {
	v := list.Index(i)
	if inner, ok := v.Interface().(*exec.Value); ok {
		return inner
	}
	return exec.ToValue(v.Interface())
}

func (w *pythonJSON) dict(v *exec.Value, depth int) error {
	keys := v.Keys()
	if w.sort {
		keys = sortedKeys(keys)
	}
	return w.list('{', '}', len(keys), depth, func(i int) error {
		w.text(keys[i].String())
		w.out.WriteString(w.key)
		item, _ := v.GetItem(keys[i].Interface())
		return w.value(item, depth+1)
	})
}

func sortedKeys(keys exec.ValuesList) exec.ValuesList {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b *exec.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

func (w *pythonJSON) list(open, end byte, n, depth int, item func(int) error) error {
	w.out.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.out.WriteString(w.item)
		}
		w.newline(depth + 1)
		if err := item(i); err != nil {
			return err
		}
	}
	if n > 0 {
		w.newline(depth)
	}
	w.out.WriteByte(end)
	return nil
}

func (w *pythonJSON) newline(depth int) {
	if w.indent >= 0 {
		w.out.WriteString("\n" + strings.Repeat(" ", w.indent*depth))
	}
}

func (w *pythonJSON) text(s string) {
	w.out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			w.out.WriteByte('\\')
			w.out.WriteRune(r)
		case r == '\n':
			w.out.WriteString(`\n`)
		case r == '\r':
			w.out.WriteString(`\r`)
		case r == '\t':
			w.out.WriteString(`\t`)
		case r == '\b':
			w.out.WriteString(`\b`)
		case r == '\f':
			w.out.WriteString(`\f`)
		case r < ' ' || w.ascii && r > '~' && r <= 0xFFFF:
			fmt.Fprintf(&w.out, `\u%04x`, r)
		case w.ascii && r > 0xFFFF:
			fmt.Fprintf(&w.out, `\u%04x\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		default:
			w.out.WriteRune(r)
		}
	}
	w.out.WriteByte('"')
}

// pythonFloat is repr(float).
func pythonFloat(v float64) string {
	if a := math.Abs(v); v != 0 && (a < 1e-4 || a >= 1e16) && !math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, 64)+"inity", "+")
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

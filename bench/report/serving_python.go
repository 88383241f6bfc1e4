package report

import (
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"lathe/bench/frame"
)

// pyJSON writes JSON as Python's json.dumps does by default: ", " and ": ",
// ASCII only, floats as repr gives them, bare Infinity and NaN.
type pyJSON struct {
	b    []byte
	open []bool    // a container a level: something stands in it already
	out  io.Writer // where to flush to as it grows; nil keeps all
	err  error
}

// flushAt is how much is held before it is flushed.
const flushAt = 64 << 10

func (w *pyJSON) flush() {
	if w.out != nil && w.err == nil {
		_, w.err = w.out.Write(w.b)
		w.b = w.b[:0]
	}
}

func (w *pyJSON) sep() {
	if len(w.b) >= flushAt {
		w.flush()
	}
	if n := len(w.open); n > 0 {
		if w.open[n-1] {
			w.b = append(w.b, ", "...)
		}
		w.open[n-1] = true
	}
}

func (w *pyJSON) key(name string) *pyJSON {
	w.sep()
	w.str(name)
	w.b = append(w.b, ": "...)
	w.open = append(w.open, false) // the value does not separate
	return w
}

// done closes the value of a key.
func (w *pyJSON) done() {
	if n := len(w.open); n > 0 {
		w.open = w.open[:n-1]
	}
}

func (w *pyJSON) object(body func()) { w.nest('{', '}', body) }
func (w *pyJSON) array(body func())  { w.nest('[', ']', body) }

func (w *pyJSON) nest(from, to byte, body func()) {
	w.sep()
	w.b = append(w.b, from)
	w.open = append(w.open, false)
	body()
	w.open = w.open[:len(w.open)-1]
	w.b = append(w.b, to)
}

// set is a member with a value of one of the plain kinds; nil pointers and nil
// are null.
func (w *pyJSON) set(name string, value any) {
	w.key(name).value(value)
	w.done()
}

// with is a member whose value body writes.
func (w *pyJSON) with(name string, body func()) {
	w.key(name)
	body()
	w.done()
}

func (w *pyJSON) value(value any) {
	w.sep()
	switch v := value.(type) {
	case nil:
		w.b = append(w.b, "null"...)
	case bool:
		w.b = strconv.AppendBool(w.b, v)
	case int:
		w.b = strconv.AppendInt(w.b, int64(v), 10)
	case int64:
		w.b = strconv.AppendInt(w.b, v, 10)
	case float64:
		w.b = append(w.b, pyFloat(v)...)
	case *int64:
		w.opt(v != nil, func() { w.b = strconv.AppendInt(w.b, *v, 10) })
	case *int:
		w.opt(v != nil, func() { w.b = strconv.AppendInt(w.b, int64(*v), 10) })
	case *float64:
		w.opt(v != nil, func() { w.b = append(w.b, pyFloat(*v)...) })
	case *string:
		w.opt(v != nil, func() { w.str(*v) })
	case string:
		w.str(v)
	case []string:
		w.list(len(v), func(i int) { w.value(v[i]) })
	case []float64:
		w.list(len(v), func(i int) { w.value(v[i]) })
	case []int64:
		w.list(len(v), func(i int) { w.value(v[i]) })
	}
}

func (w *pyJSON) opt(there bool, write func()) {
	if there {
		write()
		return
	}
	w.b = append(w.b, "null"...)
}

func (w *pyJSON) list(n int, item func(i int)) {
	w.b = append(w.b, '[')
	w.open = append(w.open, false)
	for i := range n {
		item(i)
	}
	w.open = w.open[:len(w.open)-1]
	w.b = append(w.b, ']')
}

// pyFloat is Python's repr, with json's names for what is no number.
func pyFloat(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	case math.IsNaN(x):
		return "NaN"
	}
	return python(x)
}

const hexDigits = "0123456789abcdef"

// str writes a string; half surrogate pairs (three bytes of WTF-8) become
// themselves again, what is no UTF-8 the replacement character.
func (w *pyJSON) str(s string) {
	w.b = append(w.b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			w.ascii(c)
			continue
		}
		r, n := frame.DecodeRune(s[i:])
		i += n
		if r > 0xFFFF {
			r -= 0x10000
			w.unit(0xD800 + r>>10)
			r = 0xDC00 + r&0x3FF
		}
		w.unit(r)
	}
	w.b = append(w.b, '"')
}

func (w *pyJSON) ascii(c byte) {
	switch c {
	case '"', '\\':
		w.b = append(w.b, '\\', c)
	case '\n':
		w.b = append(w.b, `\n`...)
	case '\r':
		w.b = append(w.b, `\r`...)
	case '\t':
		w.b = append(w.b, `\t`...)
	case '\b':
		w.b = append(w.b, `\b`...)
	case '\f':
		w.b = append(w.b, `\f`...)
	default:
		if c < ' ' {
			w.unit(rune(c))
			return
		}
		w.b = append(w.b, c)
	}
}

// unit writes one UTF-16 unit as an escape.
func (w *pyJSON) unit(r rune) {
	w.b = append(w.b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// copy writes a JSON value that was read, as Python would after reading it.
func (w *pyJSON) copy(v frame.Value) {
	switch v.Kind() {
	case frame.Object:
		w.object(func() {
			seen := map[string]bool{}
			for name := range v.Members() {
				if !seen[name] { // a key's first place, its last value
					seen[name] = true
					w.with(name, func() { w.copy(v.Get(name)) })
				}
			}
		})
	case frame.Array:
		w.array(func() {
			for item := range v.All() {
				w.copy(item)
			}
		})
	case frame.String:
		w.value(v.Text())
	case frame.Float:
		f, _ := v.Float()
		w.value(f)
	case frame.Missing:
		w.value(nil)
	default:
		w.sep()
		w.b = append(w.b, v.Raw()...)
	}
}

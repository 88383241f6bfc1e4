package report

import (
	"fmt"
	"strings"
)

// block is a printed report of the two harnesses: titles centred in 50
// characters, labels left in 40, values left in 10.
type block struct{ b strings.Builder }

const (
	blockWidth = 50
	labelWidth = 40
	valueWidth = 10
)

func (k *block) title(s string, fill byte) {
	n := max(0, blockWidth-len(s))
	k.b.WriteString(strings.Repeat(string(fill), n/2) + s + strings.Repeat(string(fill), n-n/2) + "\n")
}

func (k *block) line(label string, value any) {
	text := fmt.Sprint(value)
	if f, ok := value.(float64); ok {
		text = fmt.Sprintf("%.2f", f)
	}
	fmt.Fprintf(&k.b, "%-*s %-*s\n", labelWidth, label, valueWidth, text)
}

func (k *block) close() string {
	k.b.WriteString(strings.Repeat("=", blockWidth) + "\n")
	return k.b.String()
}

// percentileName is a percentile as both harnesses write it: 99, 99.9.
func percentileName(p float64) string {
	if p == float64(int64(p)) {
		return sig0(p)
	}
	return python(p)
}

// members is an ordered JSON object in which a key that comes again keeps its
// place and takes the new value, as in a Python dict.
type members struct {
	names  []string
	values map[string]func(*pyJSON)
}

func (m *members) put(name string, write func(*pyJSON)) {
	if m.values == nil {
		m.values = map[string]func(*pyJSON){}
	}
	if m.values[name] == nil {
		m.names = append(m.names, name)
	}
	m.values[name] = write
}

func (m *members) set(name string, value any) { m.put(name, func(w *pyJSON) { w.value(value) }) }

func (m *members) json() []byte {
	w := &pyJSON{}
	w.object(func() {
		for _, name := range m.names {
			w.with(name, func() { m.values[name](w) })
		}
	})
	return w.b
}

package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// cuts takes body apart by the sizes in plan, over and over; a plan of nothing
// leaves it whole. Empty reads are among them.
func cuts(body, plan []byte) [][]byte {
	var reads [][]byte
	for i := 0; len(body) > 0; i++ {
		n := len(body)
		if len(plan) > 0 {
			n = min(n, int(plan[i%len(plan)]))
			if n == 0 && i%len(plan) == len(plan)-1 && !slices.ContainsFunc(plan, func(b byte) bool { return b > 0 }) {
				n = 1
			}
		}
		reads = append(reads, body[:n])
		body = body[n:]
	}
	return reads
}

type tally struct {
	events                                     []string
	comments, heartbeats, fields, unterminated int
}

func runEvents(t *testing.T, reads [][]byte) tally {
	t.Helper()
	var e Events
	var got tally
	take := func(x Event) bool {
		got.events = append(got.events, fmt.Sprintf("%d %q %q", x.Offset, x.Type, x.Data))
		return true
	}
	for i, r := range reads {
		if err := e.Add(slices.Clone(r), int64(i), take); err != nil {
			t.Fatal(err)
		}
	}
	e.End(int64(len(reads)), take)
	got.comments, got.heartbeats, got.fields, got.unterminated = e.Comments, e.Heartbeats, e.Fields, e.Unterminated
	return got
}

// plainEvents is the standard's algorithm over a whole body, written for
// clearness.
func plainEvents(body string) tally {
	var got tally
	offset, start, inside := 0, 0, false
	var data []string
	typ := ""
	line := func(s string) {
		if offset == 0 {
			s = strings.TrimPrefix(s, "\uFEFF")
		}
		switch name, value, _ := strings.Cut(s, ":"); {
		case s == "":
			switch text := strings.Join(data, "\n"); {
			case inside && len(data) > 0 && len(bytes.TrimSpace([]byte(text))) == 0:
				got.heartbeats++
			case inside && len(data) > 0:
				got.events = append(got.events, fmt.Sprintf("%d %q %q", start, typ, text))
			}
			inside, data, typ = false, nil, ""
		case s[0] == ':':
			got.comments++
			got.fields++
		case name == "data" || name == "event" || name == "id" || name == "retry":
			value = strings.TrimPrefix(value, " ")
			if name == "data" {
				data = append(data, value)
			} else if name == "event" {
				typ = value
			}
			got.fields++
			if !inside {
				inside, start = true, offset
			}
		}
	}
	for {
		i := strings.IndexAny(body[offset:], "\r\n")
		if i < 0 {
			break
		}
		s := body[offset : offset+i]
		line(s)
		if offset += i + 1; body[offset-1] == '\r' && offset < len(body) && body[offset] == '\n' {
			offset++
		}
	}
	if rest := body[offset:]; rest != "" {
		line(rest)
	}
	switch text := strings.Join(data, "\n"); {
	case inside && text == "[DONE]":
		got.events = append(got.events, fmt.Sprintf("%d %q %q", start, typ, text))
	case inside && len(bytes.TrimSpace([]byte(text))) > 0:
		got.unterminated = 1
	}
	return got
}

// FuzzEvents: however the body was cut, the events are those of the whole body
// and those of the plain algorithm.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: {\"a\":1}\n\ndata: [DONE]\n\n"), []byte{1})
	f.Add([]byte("\xEF\xBB\xBFdata:a\r\ndata: b\r\n\r\n: c\rid: 3\r\revent: x\ndata\n\ndata: [DONE]"), []byte{3, 0, 7})
	f.Add([]byte("data: \n\n:\n\nretry: 5\n\ndata: x"), []byte{2})
	f.Fuzz(func(t *testing.T, body, plan []byte) {
		whole := runEvents(t, [][]byte{body})
		cut := runEvents(t, cuts(body, plan))
		if fmt.Sprint(whole) != fmt.Sprint(cut) {
			t.Errorf("cut %v of %q:\n%v, whole\n%v", plan, body, cut, whole)
		}
		if want := plainEvents(string(body)); fmt.Sprint(whole) != fmt.Sprint(want) {
			t.Errorf("%q:\n%v, plain\n%v", body, whole, want)
		}
	})
}

// FuzzLines: however the body was cut, the lines are those of a split.
func FuzzLines(f *testing.F) {
	f.Add([]byte("data: a\r\n\n  b \ndata: c"), []byte{1, 5})
	f.Fuzz(func(t *testing.T, body, plan []byte) {
		var l Lines
		var got, want []string
		take := func(b []byte) bool { got = append(got, string(b)); return true }
		for _, r := range cuts(body, plan) {
			if err := l.Add(slices.Clone(r), take); err != nil {
				t.Fatal(err)
			}
		}
		l.End(take)
		for line := range bytes.SplitSeq(body, []byte("\n")) {
			if line = bytes.Trim(line, " \t\n\v\f\r"); len(line) > 0 {
				want = append(want, string(line))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("cut %v of %q: %q, want %q", plan, body, got, want)
		}
	})
}

// plainMessages is vLLM's handler as the notes describe it, on strings.
func plainMessages(reads [][]byte, trim bool) (all []string, bad bool) {
	var buf, pending string
	for _, r := range reads {
		s := string(r)
		if trim {
			s = strings.Trim(s, " \t\n\v\f\r")
		}
		if s == "" {
			continue
		}
		s, pending = pending+s, ""
		for n := 1; n <= 3 && n <= len(s); n++ {
			if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRuneInString(tail) {
					s, pending = s[:len(s)-n], tail
				}
				break
			}
		}
		if !utf8.ValidString(s) {
			return all, true
		}
		buf += s
		for strings.Contains(buf, "\n\n") {
			m, rest, _ := strings.Cut(buf, "\n\n")
			buf = rest
			if m = strip(m); m != "" {
				all = append(all, m)
			}
		}
		if body, ok := strings.CutPrefix(buf, "data: "); ok {
			var d Doc
			if body = strip(body); body == "[DONE]" || body != "" && d.Parse([]byte(body)) == nil {
				all = append(all, strip(buf))
				buf = ""
			}
		}
	}
	return all, false
}

func strip(s string) string { return strings.TrimFunc(s, pythonSpace) }

// FuzzMessages: the handler gives the messages of its plain description for any
// reads, trimmed or not.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("data: {\"a\":1}\n\n: ping\n\ndata: {\"b\":2}\n\ndata: [DONE]\n\n"), []byte{16, 8}, true)
	f.Add([]byte("data:  [DONE]\r\n\r\ndata: {\"t\":\"\xe4\xb8\xad\"}"), []byte{3, 1}, false)
	f.Fuzz(func(t *testing.T, body, plan []byte, trim bool) {
		reads := cuts(body, plan)
		m := Messages{Trim: trim}
		var d Doc
		var got []string
		bad := false
		for _, r := range reads {
			err := m.Add(slices.Clone(r), &d, func(x Message) bool {
				got = append(got, string(x.Text))
				if body, ok := bytes.CutPrefix(x.Text, []byte("data: ")); x.Doc != nil && (!ok || new(Doc).Parse(body) != nil) {
					t.Errorf("a document for %q", x.Text)
				}
				return true
			})
			if bad = err != nil; bad {
				break
			}
		}
		want, wantBad := plainMessages(reads, trim)
		if !slices.Equal(got, want) || bad != wantBad {
			t.Errorf("%q: %q %v, want %q %v", reads, got, bad, want, wantBad)
		}
	})
}

// FuzzObjects: however the body was cut, the values are the same, and those of
// a body of JSON objects are what a decoder finds.
func FuzzObjects(f *testing.F) {
	f.Add([]byte(`{"text":"a"}{"text":"}\"{"} , [1,{"b":[]}]`), []byte{4, 1})
	f.Fuzz(func(t *testing.T, body, plan []byte) {
		run := func(reads [][]byte) (all []string) {
			var o Objects
			for _, r := range reads {
				if err := o.Add(r, 0, func(e Event) bool { all = append(all, fmt.Sprint(e.Offset, string(e.Data))); return true }); err != nil {
					return append(all, err.Error())
				}
			}
			return all
		}
		if whole, cut := run([][]byte{body}), run(cuts(body, plan)); !slices.Equal(whole, cut) {
			t.Errorf("cut %v of %q: %q, whole %q", plan, body, cut, whole)
		}
		if body = bytes.TrimSpace(body); json.Valid(body) && len(body) > 0 && body[0] == '{' {
			if got := run([][]byte{body}); len(got) != 1 || got[0] != "0"+string(body) && got[0] != "0 "+string(body) {
				t.Errorf("%q: %q", body, got)
			}
		}
	})
}

// FuzzDoc: what Go's parser takes, Doc takes, and nothing else but Python's
// names for what is no number; strings are those that Go reads.
func FuzzDoc(f *testing.F) {
	f.Add([]byte(`{"a":[1,-0.5e+3,"\u00e9\ud83d\ude42\n"],"a":null,"b":{"c":true}}`))
	f.Add([]byte(`[NaN,Infinity,-Infinity]`))
	f.Add([]byte(`"\ud800"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) || bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) >= maxDepth {
			return
		}
		var d Doc
		err := d.Parse(text)
		if bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Infinity")) {
			return
		}
		if (err == nil) != json.Valid(text) {
			t.Fatalf("%q: %v, Go says %v", text, err, json.Valid(text))
		}
		if err != nil {
			return
		}
		var want any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Skip(err)
		}
		if got := tree(d.Root()); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}

// tree is a value as encoding/json would give it.
func tree(v Value) any {
	switch v.Kind() {
	case Null:
		return nil
	case True:
		return true
	case False:
		return false
	case Int, Float:
		return json.Number(v.Raw())
	case String:
		s := v.Text()
		var b strings.Builder
		for len(s) > 0 {
			r, n := DecodeRune(s)
			b.WriteRune(r)
			s = s[n:]
		}
		return b.String()
	case Array:
		all := []any{}
		for x := range v.All() {
			all = append(all, tree(x))
		}
		return all
	}
	m := map[string]any{}
	for k := range v.Members() {
		m[strings.ToValidUTF8(k, "\uFFFD")] = tree(v.Get(k))
	}
	return m
}

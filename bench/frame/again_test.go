package frame

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// sameAsFresh parses text in a Doc that has read others before.
func sameAsFresh(t *testing.T, d *Doc, text []byte) {
	t.Helper()
	if !utf8.Valid(text) {
		return
	}
	var fresh Doc
	want, got := fresh.Parse(bytes.Clone(text)), d.Parse(text)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%q: %v, a fresh Doc says %v", text, got, want)
	}
	if got, want := described(d.Root()), described(fresh.Root()); got != want {
		t.Fatalf("%q:\n%s, a fresh Doc has\n%s", text, got, want)
	}
}

// described is all that can be asked of a value.
func described(v Value) string {
	var b strings.Builder
	n, whole := v.Int()
	f, number := v.Float()
	fmt.Fprintf(&b, "%d %d %v %d %v %v %v %q %q", v.Kind(), v.Len(), v.Truthy(), n, whole, f, number, v.Raw(), v.Text())
	for x := range v.All() {
		b.WriteString("[" + described(x) + "]")
	}
	for k, x := range v.Members() {
		fmt.Fprintf(&b, "{%q: %s %s}", k, described(x), v.Get(k).Raw())
	}
	return b.String()
}

// FuzzDocAgain: what a Doc has read before is not seen in what it reads next.
func FuzzDocAgain(f *testing.F) {
	frames := [][]byte{
		[]byte(`{"id":"c1","choices":[{"index":0,"text":" a","finish_reason":null}],"usage":null}`),
		[]byte(`{"id":"c1","choices":[{"index":0,"text":" word","finish_reason":null}],"usage":null}`),
		[]byte(`{"id":"c1","choices":[{"index":0,"text":" \"","finish_reason":null}],"usage":null}`),
		[]byte(`{"id":"c1","choices":[{"index":0,"text":"","finish_reason":null}],"usage":null}`),
		[]byte(`{"id":"c1","choices":[{"index":0,"text":"a","text":"b","te\u0078t":"c"}]}`),
		[]byte(`"a"`), []byte(`"ab"`), []byte(`{"a":"b"`), []byte(`{"a":"b","a":12}`), []byte(`{"a":"b","a":1}`), []byte(`["é","\ud800",{"":""}]`),
	}
	for i, a := range frames {
		f.Add(a, frames[(i+1)%len(frames)])
		f.Add(frames[(i+1)%len(frames)], a)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var d Doc
		for _, text := range [][]byte{a, b, b, a, b} {
			sameAsFresh(t, &d, text)
		}
	})
}

// Frames that follow each other, bent: what is taken over from the one before is
// what a fresh Doc reads.
func TestDocOfBentFrames(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const letters = "{}[]\",:\\ \ta0n"
	frames := []string{
		`{"id":"c1","choices":[{"index":0,"text":" a","more":{"a":"b","a":[1,"x"]}}],"usage":null}`,
		`{"a":"","b":"","":""}`, `["a","b",{"c":"d"}]`, `"text"`,
	}
	var d Doc
	for range 30_000 {
		text := []byte(frames[random.IntN(len(frames))])
		for range random.IntN(3) {
			i, c := random.IntN(len(text)), letters[random.IntN(len(letters))]
			switch random.IntN(3) {
			case 0:
				text[i] = c
			case 1:
				text = slices.Insert(text, i, c)
			default:
				text = slices.Delete(text, i, i+1)
			}
		}
		sameAsFresh(t, &d, text)
	}
}

// A text in the same memory as the one before, and one after a long one.
func TestDocKeepsItsText(t *testing.T) {
	var d Doc
	buf := []byte(`{"a":[1,2],"b":"x"}`)
	if err := d.Parse(buf); err != nil {
		t.Fatal(err)
	}
	b := d.Root().Get("b")
	copy(buf, `{"a":[1,3],"b":"y"}`)
	if b.Text() != "x" {
		t.Errorf("a short text changes under its values: %q", b.Text())
	}
	sameAsFresh(t, &d, buf)
	long := []byte(`"` + strings.Repeat("a", maxKept) + `"`)
	sameAsFresh(t, &d, long)
	long[5] = 'b'
	sameAsFresh(t, &d, long)
	sameAsFresh(t, &d, buf)
	sameAsFresh(t, &d, nil)
	sameAsFresh(t, &d, buf)
}

// An error is the same the second time.
func TestDocFailsAgain(t *testing.T) {
	var d Doc
	for range 3 {
		var wrong *SyntaxError
		if err := d.Parse([]byte(`{"a":1,}`)); !errors.As(err, &wrong) || wrong.Offset != 7 || !d.Root().Is(Missing) {
			t.Errorf("%v, %v", err, d.Root().Kind())
		}
	}
}

// The common members of frames are told apart by their bits, so that a key that a
// frame lacks is not looked for.
func TestKeyBits(t *testing.T) {
	for _, object := range []string{
		`{"id":1,"object":1,"created":1,"model":1,"choices":1,"usage":1}`,
		`{"index":1,"text":1,"delta":1,"logprobs":1,"finish_reason":1,"stop_reason":1,"token_ids":1}`,
	} {
		var d Doc
		if err := d.Parse([]byte(object)); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"error", "type", "meta_info", "metrics", "", "iD", "choice"} {
			if v := d.Root().Get(key); !v.Is(Missing) {
				t.Errorf("%s has %q", object, key)
			}
		}
		for key := range d.Root().Members() {
			if v := d.Root().Get(key); v.Raw() != "1" {
				t.Errorf("%s: %q is %q", object, key, v.Raw())
			}
		}
	}
}

func TestSays(t *testing.T) {
	var d Doc
	if err := d.Parse([]byte(`{"a":"error","b":"\u0065rror","c":"","d":["error"],"e":null}`)); err != nil {
		t.Fatal(err)
	}
	root := d.Root()
	for key, want := range map[string]bool{"a": true, "b": true, "c": false, "d": false, "e": false, "f": false} {
		if got := root.Get(key).Says("error"); got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
	if !root.Get("c").Says("") || root.Get("e").Says("") || root.Get("f").Says("") {
		t.Error("only a string is a text, the empty one too")
	}
}

package tokenizer

import (
	"os"
	"strings"
	"testing"

	"github.com/nikolalohinski/gonja/v2/config"
)

// FuzzVocabulary: a tokenizer.json from anywhere gives a table or an error, and every id of the table can be asked for.
func FuzzVocabulary(f *testing.F) {
	tiny, err := os.ReadFile("testdata/tiny/tokenizer.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tiny)
	f.Add([]byte(`{"model":{"vocab":[["a",-1.5],["b",-2]]},"decoder":{"type":"Metaspace","replacement":"\u2581"}}`))
	f.Add([]byte(`{"model":{"vocab":{"a":0,"<0x0A>":7}},"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"_"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}}`))
	f.Add([]byte(`{"added_tokens":[{"id":3,"content":"x","special":true}],"model":{"vocab":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseVocabulary(data)
		if err != nil {
			return
		}
		if v.VocabSize() < 1 || v.VocabSize() > maxID {
			t.Fatalf("a vocabulary of %d", v.VocabSize())
		}
		ids := make([]int32, 0, 64)
		for id := range int32(min(v.VocabSize(), 64)) {
			ids = append(ids, id)
		}
		s := v.Stream(false)
		var out strings.Builder
		for _, id := range ids {
			out.WriteString(s.Push(id))
		}
		out.WriteString(s.Finish())
		if got := v.Decode(ids, false); got != out.String() {
			t.Fatalf("decoded %q, streamed %q", got, out.String())
		}
	})
}

// FuzzMarkConcat: the rewriting of ~ never panics and only adds to the source, in order.
func FuzzMarkConcat(f *testing.F) {
	for _, s := range []string{
		"{{ 'a' ~ none ~ b.c['d'] ~ f(x)|upper }}", "{% set x = (a ~ b)[1] ~ 'q' %}", "{{ ~ }}", "{{ a ~", "~", "{{ a[b ~ c].d ~ -1 }}",
		"{% if a ~ b == 'c' %}{% endif %}", "{{ 'it\\'s' ~ \"x\" }}", "{{ [a ~ b, {'k': c ~ d}] ~ e[1:2] }}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if strings.Contains(source, concatFilter) || strings.Contains(source, "\r") {
			return
		}
		got, err := markConcat(source, config.New())
		if err != nil {
			return
		}
		if !strings.Contains(source, "~") && got != source {
			t.Fatalf("%q became %q", source, got)
		}
		rest := source
		for i := 0; i < len(got) && rest != ""; i++ {
			if got[i] == rest[0] {
				rest = rest[1:]
			}
		}
		if rest != "" {
			t.Fatalf("%q became %q, which lacks %q", source, got, rest)
		}
	})
}

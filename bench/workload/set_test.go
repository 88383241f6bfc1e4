package workload

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestStandIns(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"name:chars", "été 🙂\n", 6},
		{"name:bytes", "été 🙂\n", 11},
		{"name:words", "  été 🙂\n  x ", 3},
		{"name:words", "", 0},
		{"name:words", "a\tb", 1},
	} {
		tok, ok := StandIn(c.name)
		if !ok {
			t.Fatalf("%s: unknown", c.name)
		}
		for _, special := range []bool{false, true} {
			if ids, err := tok.Encode(c.text, special); err != nil || len(ids) != c.want {
				t.Errorf("%s of %q: %d %v, want %d", c.name, c.text, len(ids), err, c.want)
			}
		}
	}
	if tok, ok := StandIn("none"); !ok || tok != nil {
		t.Error("none is no tokenizer")
	}
	if _, ok := StandIn("name:tokens"); ok {
		t.Error("name:tokens is not a stand-in")
	}
}

// Random prompts of a stand-in have the length asked, so that a whole run needs
// no tokenizer file.
func TestStandInsDrawExactPrompts(t *testing.T) {
	for _, name := range []string{"name:chars", "name:bytes", "name:words"} {
		tok, _ := StandIn(name)
		for _, d := range []Dataset{
			VLLMRandom{N: 4, InputLen: 50, OutputLen: 3, PrefixLen: 5},
			Fixed{N: 4, InputLen: 55, OutputLen: 3},
		} {
			set := sample(t, d, 1, tok)
			for i, r := range set.Requests {
				if ids, _ := tok.Encode(r.Prompt, false); len(ids) != 55 || r.PromptLen != 55 {
					t.Errorf("%s: request %d has %d tokens, stated %d: %q", name, i, len(ids), r.PromptLen, r.Head())
				}
				if strings.ContainsFunc(r.Prompt, func(c rune) bool { return c < ' ' || c == 0x7f }) {
					t.Errorf("%s: request %d holds a control character: %q", name, i, r.Head())
				}
			}
			if len(set.Warnings) != 0 {
				t.Errorf("%s: %v", name, set.Warnings)
			}
		}
	}
}

func TestRequestText(t *testing.T) {
	long := strings.Repeat("é", 70)
	for _, c := range []struct {
		r          Request
		text, head string
	}{
		{Request{Prompt: "a b"}, "a b", "a b"},
		{Request{IDs: []int32{5, 60, 7}}, "5 60 7", "5 60 7"},
		{Request{Turns: []string{"a", "b"}}, "a\nb", "a\nb"},
		{Request{Prompt: long}, long, long[:120]},
		{Request{}, "", ""},
	} {
		if c.r.Text() != c.text || c.r.Head() != c.head {
			t.Errorf("%+v: %q, %q", c.r, c.r.Text(), c.r.Head())
		}
	}
	if got := (Request{Prompt: "abc"}).SHA256(); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("sha256 %s", got)
	}
	if in, out := (Set{}).Lengths(); in != (Spread{}) || out != (Spread{}) {
		t.Errorf("an empty set: %+v %+v", in, out)
	}
}

func TestVersions(t *testing.T) {
	tok := spelled{vocab: 100}
	template := func(s string) (string, error) { return s, nil }
	d := VLLMSonnet{N: 1, Lines: []string{"a b\n"}, InputLen: 30, Template: template, Version: November2026}
	if _, err := d.Sample(streams(t, 0), tok); !errors.Is(err, ErrVersion) {
		t.Errorf("sonnet in November: %v", err)
	}
	g := SGLangSharedPrefix{Groups: 1, PerGroup: 1, SystemLen: 2, QuestLen: 2, OutputLen: 2, Ratio: 1, Turns: 1, SendIDs: true, Version: August2026}
	if _, err := g.Sample(streams(t, 0), tok); !errors.Is(err, ErrVersion) {
		t.Errorf("shared prefix as ids in August: %v", err)
	}
	g.Version, g.Turns = November2026, 2
	if _, err := g.Sample(streams(t, 0), tok); !errors.Is(err, ErrLengths) {
		t.Errorf("a conversation as ids: %v", err)
	}
	g.Turns, g.SendIDs, g.RoutingKey = 1, false, "run"
	if set := sample(t, g, 0, tok); set.Requests[0].RoutingKey != "run_0" {
		t.Errorf("routing key %q", set.Requests[0].RoutingKey)
	}
}

// Every dataset that counts or draws tokens says that it needs a tokenizer.
func TestNoTokenizer(t *testing.T) {
	rows := []Conversation{{First: "a", Second: "b", Plural: true}}
	template := func(s string) (string, error) { return s, nil }
	for _, d := range []Dataset{
		VLLMRandom{N: 1, InputLen: 5, OutputLen: 1}, SGLangRandom{N: 1, InputLen: 5, OutputLen: 1},
		VLLMShareGPT{N: 1, Conversations: rows}, SGLangShareGPT{N: 1, Conversations: rows},
		VLLMSonnet{N: 1, Lines: []string{"a\n"}, InputLen: 30, Template: template, Version: August2026},
		VLLMPrefixRepetition{N: 1, Prefixes: 1, PrefixLen: 2, SuffixLen: 2},
		SGLangSharedPrefix{Groups: 1, PerGroup: 1, SystemLen: 2, QuestLen: 2, OutputLen: 2, Ratio: 1, Turns: 1},
		VLLMBurstGPT{N: 1, Rows: []BurstRow{{3, 4}}}, Fixed{N: 1, InputLen: 3},
	} {
		if _, err := d.Sample(streams(t, 0), nil); !errors.Is(err, ErrTokenizer) {
			t.Errorf("%T: %v", d, err)
		}
	}
	set := sample(t, VLLMCustom{N: 1, Rows: []CustomRow{{Prompt: "what"}}, OutputLen: 9, Shortage: Fail}, 0, nil)
	if r := set.Requests[0]; r.Prompt != "what" || r.PromptLen != 1 || r.OutputLen != 1 {
		t.Errorf("vllm custom without a tokenizer: %+v", r)
	}
}

func TestSonnetGivesUp(t *testing.T) {
	d := VLLMSonnet{N: 1, Lines: []string{"a b c\n", "d e f\n", "g h i\n"}, InputLen: 14, PrefixLen: 100, Version: August2026,
		Template: func(s string) (string, error) { return s, nil }}
	if _, err := d.Sample(streams(t, 0), spelled{vocab: 10}); !errors.Is(err, ErrLengths) {
		t.Errorf("a prefix longer than the prompt: %v", err)
	}
	d.Template = nil
	if _, err := d.Sample(streams(t, 0), spelled{vocab: 10}); !errors.Is(err, ErrRow) {
		t.Errorf("no chat template: %v", err)
	}
}

func TestReaders(t *testing.T) {
	for name, read := range map[string]func(string) error{
		`{}`:                                   conversations,
		`[{"conversations":5}]`:                conversations,
		`[{"conversations":[{},{}]}]`:          conversations,
		`[{"conversations":[{"value":1},{}]}]`: conversations,
		`[{"conversations":null}]`:             conversations,
		`[null]`:                               conversations,
		`[{"id":"1"}`:                          conversations,
		`[] []`:                                conversations,
		``:                                     conversations,
		"{\"prompt\":1}\n":                     custom,
		"{\"output_tokens\":1}\n":              custom,
		"{\"prompt\":\"a\"}\n{":                custom,
		"[1]\n":                                customConversations,
		"a,b\n":                                burst,
		"T,Model,Request tokens,Response tokens\n0,GPT-4,x,1\n": burst,
		"T,Model,Request tokens,Response tokens\n0,GPT-4\n":     burst,
		"\xff\n": lines,
	} {
		if read(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	got, err := ReadLines(strings.NewReader("a\r\nb\rc"))
	if err != nil || !slices.Equal(got, []string{"a\n", "b\n", "c"}) {
		t.Errorf("lines %q %v", got, err)
	}
	rows, err := ReadCustom(strings.NewReader("\n{\"prompt\":\"a\",\"output_tokens\":\"7\"}\n\n{\"prompt\":\"b\",\"output_tokens\":0}\n{\"prompt\":\"c\"}"))
	if err != nil || len(rows) != 3 || rows[2].Line != 5 {
		t.Fatalf("%v %v", rows, err)
	}
	if n, err := rows[0].OutputTokens(); n != 7 || err != nil {
		t.Errorf("output_tokens in a text: %d %v", n, err)
	}
	for _, r := range rows[1:] {
		if _, err := r.OutputTokens(); !errors.Is(err, ErrRow) {
			t.Errorf("line %d: %v", r.Line, err)
		}
	}
}

func conversations(text string) error {
	_, err := ReadConversations(strings.NewReader(text))
	return err
}

func custom(text string) error {
	_, err := ReadCustom(strings.NewReader(text))
	return err
}

func customConversations(text string) error {
	_, _, err := ReadCustomConversations(strings.NewReader(text))
	return err
}

func burst(text string) error {
	_, err := ReadBurstGPT(strings.NewReader(text))
	return err
}

func lines(text string) error {
	_, err := ReadLines(strings.NewReader(text))
	return err
}

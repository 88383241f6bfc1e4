package workload

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// P073: a length that the special tokens use up is refused with the arithmetic.
func TestP073_InputLengthOne(t *testing.T) {
	bos := spelled{vocab: 100, around: 1}
	_, err := VLLMRandom{N: 1, InputLen: 1, OutputLen: 1}.Sample(nil, bos)
	if !errors.Is(err, ErrLengths) || !strings.Contains(err.Error(), "1 − 1 special = 0") {
		t.Errorf("vllm: %v", err)
	}
	if _, err := (VLLMRandom{N: 1, InputLen: 2, OutputLen: 1, InputRatio: 0.9}).Sample(nil, bos); !errors.Is(err, ErrLengths) {
		t.Errorf("vllm, a ratio that can draw 0: %v", err)
	}
	set := sample(t, VLLMRandom{N: 3, InputLen: 2, OutputLen: 1}, 0, bos)
	for _, r := range set.Requests {
		if r.Prompt == "" || r.PromptLen != 1 {
			t.Errorf("vllm, one token of its own: %+v", r)
		}
	}
	set = sample(t, SGLangRandom{N: 5, InputLen: 1, OutputLen: 1, Ratio: 1}, 0, bos)
	for _, r := range set.Requests {
		if r.Prompt == "" || r.PromptLen != 1 {
			t.Errorf("sglang: %+v", r)
		}
	}
	set = sample(t, Fixed{N: 2, InputLen: 1, OutputLen: 1, SendIDs: true}, 0, bos)
	for _, r := range set.Requests {
		if len(r.IDs) != 1 {
			t.Errorf("fixed sends exactly the ids asked: %+v", r)
		}
	}
	if _, err := (SGLangRandom{N: 1, OutputLen: 1, SendIDs: true}).Sample(streams(t, 0), bos); !errors.Is(err, ErrRow) {
		t.Errorf("sglang, no id at all: %v", err)
	}
	if _, err := (Fixed{N: 1}).Sample(nil, bos); !errors.Is(err, ErrLengths) {
		t.Errorf("fixed, no token at all: %v", err)
	}
}

// endings is a tokenizer with something before and behind a single sequence.
type endings struct {
	spelled
	before, behind []int32
}

func (e endings) Encode(text string, special bool) ([]int32, error) {
	ids, err := e.spelled.Encode(text, false)
	if special {
		ids = slices.Concat(e.before, ids, e.behind)
	}
	return ids, err
}

// P076: the number of special tokens comes from encoding the empty text, for a
// post-processor with BOS and EOS, one with none, and one with a template of its
// own for pairs, of which the single sequence counts.
func TestP076_SpecialTokensCounted(t *testing.T) {
	for name, c := range map[string]struct {
		t    Tokenizer
		want int
	}{
		"bos and eos": {endings{spelled{vocab: 9}, []int32{1}, []int32{2}}, 2},
		"none":        {spelled{vocab: 9}, 0},
		"pairs only":  {endings{spelled{vocab: 9}, []int32{1}, nil}, 1},
	} {
		if got, err := SpecialCount(c.t); err != nil || got != c.want {
			t.Errorf("%s: %d %v, want %d", name, got, err, c.want)
		}
	}
	if _, err := SpecialCount(nil); !errors.Is(err, ErrTokenizer) {
		t.Errorf("no tokenizer: %v", err)
	}
}

// P077: what the same ratio means in the two harnesses, as the set tells it.
func TestP077_RangeRatio(t *testing.T) {
	tok := spelled{vocab: 32000}
	vllm := func(ratio float64) Spread {
		input, _ := sample(t, VLLMRandom{N: 1000, InputLen: 1024, OutputLen: 16, InputRatio: ratio, Seed: 1}, 1, tok).Lengths()
		return input
	}
	sglang := func(ratio float64) Spread {
		input, _ := sample(t, SGLangRandom{N: 1000, InputLen: 1024, OutputLen: 16, Ratio: ratio}, 1, tok).Lengths()
		return input
	}
	if got := vllm(0); got != (Spread{1024, 1024, 1024}) {
		t.Errorf("vllm 0: %+v", got)
	}
	if got := sglang(0); got.Min < 1 || got.Max > 1024 || math.Abs(got.Mean-512) > 30 {
		t.Errorf("sglang 0: %+v", got)
	}
	if got := vllm(0.5); got.Min < 512 || got.Min > 530 || got.Max > 1536 || got.Max < 1518 {
		t.Errorf("vllm 0.5: %+v", got)
	}
	if got := sglang(0.5); got.Min < 512 || got.Min > 520 || got.Max > 1024 || got.Max < 1016 {
		t.Errorf("sglang 0.5: %+v", got)
	}
	if got := sglang(1); got != (Spread{1024, 1024, 1024}) {
		t.Errorf("sglang 1: %+v", got)
	}
	if _, err := (VLLMRandom{N: 1, InputLen: 1024, OutputLen: 16, InputRatio: 1}).Sample(nil, tok); !errors.Is(err, ErrLengths) {
		t.Errorf("vllm 1: %v", err)
	}
	if _, err := (SGLangRandom{N: 1, InputLen: 1024, OutputLen: 16, Ratio: math.NaN()}).Sample(streams(t, 0), tok); !errors.Is(err, ErrLengths) {
		t.Errorf("sglang NaN: %v", err)
	}
}

// P080: the set says where the harness sends ignore_eos by itself.
func TestP080_IgnoreEOS(t *testing.T) {
	tok := spelled{vocab: 1000}
	rows := []Conversation{{First: "a b c d e", Second: "a b c d e", Plural: true}}
	for name, c := range map[string]struct {
		d    Dataset
		want bool
	}{
		"vllm random":            {VLLMRandom{N: 1, InputLen: 5, OutputLen: 1}, true},
		"vllm sharegpt":          {VLLMShareGPT{N: 1, Conversations: rows, Shortage: Fail}, false},
		"vllm prefix repetition": {VLLMPrefixRepetition{N: 1, Prefixes: 1, PrefixLen: 2, SuffixLen: 2}, false},
		"sglang random":          {SGLangRandom{N: 1, InputLen: 5, OutputLen: 1}, true},
		"sglang sharegpt":        {SGLangShareGPT{N: 1, Conversations: rows}, true},
		"sglang shared prefix":   {SGLangSharedPrefix{Groups: 1, PerGroup: 1, SystemLen: 2, QuestLen: 2, OutputLen: 2, Ratio: 1, Turns: 1}, true},
	} {
		if got := sample(t, c.d, 1, tok); got.IgnoreEOS != c.want {
			t.Errorf("%s: ignore_eos %v, want %v", name, got.IgnoreEOS, c.want)
		}
	}
}

// P082: an endpoint that does not honour the output length is found out.
func TestP082_OutputLengthNotHonoured(t *testing.T) {
	r, err := CompareOutputs([]int{5000, 5000}, []int{382, 382})
	if err != nil || !r.Mismatch || r.String() != "output length: requested 5000, produced mean 382 (7.6 %)" {
		t.Errorf("%+v %q %v", r, r, err)
	}
	if r, err := CompareOutputs([]int{5, 7}, []int{5, 7}); err != nil || r.Mismatch || r.Percent != 100 {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := CompareOutputs([]int{4, 6}, []int{6, 4}); err != nil || !r.Mismatch {
		t.Errorf("equal means hide a mismatch: %+v %v", r, err)
	}
	if _, err := CompareOutputs([]int{1}, nil); err == nil {
		t.Error("lengths differ")
	}
}

// P083: a file with fewer usable rows than asked.
func TestP083_DatasetTooSmall(t *testing.T) {
	long := strings.Repeat("x ", 1100)
	var rows []Conversation
	for i, first := range []string{"a b c d", "e f g h", long, "i j k l", long} {
		rows = append(rows, Conversation{Row: i, First: first, Second: "o k o k", Plural: true})
	}
	d := VLLMShareGPT{N: 8, Conversations: rows, Shortage: Fail, IDPrefix: "r"}
	tok := spelled{vocab: 100}
	_, err := d.Sample(streams(t, 0), tok)
	if !errors.Is(err, ErrShort) || !strings.Contains(err.Error(), "3 usable < 8") {
		t.Errorf("fail: %v", err)
	}
	d.Shortage = Repeat
	set := sample(t, d, 0, tok)
	if len(set.Requests) != 8 || set.Unique() != 3 || len(set.Warnings) != 1 || !strings.Contains(set.Warnings[0], "cache") {
		t.Errorf("repeat: %d requests, %d unique, %v", len(set.Requests), set.Unique(), set.Warnings)
	}
	ids := map[string]bool{}
	for _, r := range set.Requests {
		ids[r.ID] = true
	}
	if len(ids) != 8 {
		t.Errorf("repeat: request ids %v", ids)
	}
	d.Shortage = Truncate
	if set := sample(t, d, 0, tok); len(set.Requests) != 3 || len(set.Warnings) != 1 {
		t.Errorf("truncate: %d requests, %v", len(set.Requests), set.Warnings)
	}
	d.Conversations, d.Shortage = nil, Repeat
	if _, err := d.Sample(streams(t, 0), tok); !errors.Is(err, ErrShort) {
		t.Errorf("nothing to repeat: %v", err)
	}
}

// P086: a run with another salt shares no beginning with the one before.
func TestP086_SaltedPrompts(t *testing.T) {
	tok := spelled{vocab: 32000, special: []int32{0, 1, 2}}
	for name, d := range map[string]Dataset{
		"text":         VLLMRandom{N: 20, InputLen: 32, OutputLen: 1, PrefixLen: 8},
		"ids":          Fixed{N: 20, InputLen: 32, OutputLen: 1, SendIDs: true},
		"conversation": SGLangSharedPrefix{Groups: 2, PerGroup: 3, SystemLen: 9, QuestLen: 3, OutputLen: 2, Ratio: 1, Turns: 2},
	} {
		plain := sample(t, d, 1, tok)
		salt := func(v uint64) Set {
			set, err := Salt(plain, v, tok)
			if err != nil {
				t.Fatal(err)
			}
			return set
		}
		first, second, again := salt(1), salt(2), salt(1)
		for i := range plain.Requests {
			a, b := first.Requests[i], second.Requests[i]
			if strings.Fields(a.Text())[0] == strings.Fields(b.Text())[0] {
				t.Fatalf("%s: request %d begins alike under two salts: %q, %q", name, i, a.Head(), b.Head())
			}
			if a.Text() != again.Requests[i].Text() {
				t.Fatalf("%s: request %d: the same salt gives another prompt", name, i)
			}
			if ids, _ := tok.Encode(a.Text(), true); a.Turns == nil && len(ids) != a.PromptLen {
				t.Fatalf("%s: request %d: %d tokens, stated %d", name, i, len(ids), a.PromptLen)
			}
		}
		if plain.Unique() != first.Unique() {
			t.Errorf("%s: salting merged prompts", name)
		}
	}
}

// P087: no warm-up prompt equals a measured one or shares more than 16 tokens
// with it.
func TestP087_WarmUpDisjoint(t *testing.T) {
	tok := spelled{vocab: 32000}
	set := sample(t, VLLMRandom{N: 20, InputLen: 200, OutputLen: 9, Seed: 3}, 3, tok)
	warm, err := WarmUp(set, 5, 3, tok)
	if err != nil || len(warm.Requests) != 5 {
		t.Fatalf("%d prompts, %v", len(warm.Requests), err)
	}
	for i, w := range warm.Requests {
		if w.PromptLen != 200 || w.OutputLen != 9 {
			t.Errorf("warm-up %d has %d and %d tokens", i, w.PromptLen, w.OutputLen)
		}
		for k, r := range set.Requests {
			a, b := strings.Fields(w.Text()), strings.Fields(r.Text())
			for x := range a[:len(a)-16] {
				if strings.Contains(" "+strings.Join(b, " ")+" ", " "+strings.Join(a[x:x+17], " ")+" ") {
					t.Fatalf("warm-up %d shares 17 tokens with request %d", i, k)
				}
			}
		}
	}
	// A vocabulary of one id cannot give a prompt of its own.
	one := spelled{vocab: 1}
	if _, err := WarmUp(sample(t, Fixed{N: 1, InputLen: 30, OutputLen: 1}, 0, one), 1, 0, one); !errors.Is(err, ErrLengths) {
		t.Errorf("a vocabulary of one id: %v", err)
	}
	// Short prompts are compared whole.
	two := spelled{vocab: 2}
	set = Set{Requests: []Request{{Prompt: "0 0", PromptLen: 2}, {Prompt: "1 1", PromptLen: 2}}}
	warm, err = WarmUp(set, 4, 0, two)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warm.Requests {
		if w.Prompt == "0 0" || w.Prompt == "1 1" {
			t.Errorf("a short warm-up prompt is a measured one: %q", w.Prompt)
		}
	}
}

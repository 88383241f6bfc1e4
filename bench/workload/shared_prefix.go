package workload

import (
	"fmt"
	"math"
	"strconv"

	"lathe/bench/pyrand"
)

// SGLangSharedPrefix is SGLang's generated-shared-prefix dataset: groups of
// questions behind one system prompt each. SGLang keeps what it drew in a cache
// keyed by too little (two models of one tokenizer class share it); here every
// set is drawn.
type SGLangSharedPrefix struct {
	Groups    int
	PerGroup  int     // questions a group; Groups*PerGroup is the number of requests, whatever --num-prompts says
	SystemLen int     // tokens
	QuestLen  int     // tokens of a question
	OutputLen int     // tokens
	Ratio     float64 // SGLangRandom's law; SGLang's default here is 1, which fixes the lengths
	Turns     int     // questions a conversation, at least 1
	Ordered   bool    // do not shuffle
	Fast      bool    // state 1 as prompt length instead of encoding
	SendIDs   bool    // --tokenize-prompt, SGLang 0.5.23 only: ids, nothing between system prompt and question
	ZipfAlpha float64 // above 0: a request's group is drawn with weight 1/rank^alpha
	Seed      uint64  // of the generator that draws those groups
	// RoutingKey is the beginning of the routing key, which ends in "_" and the
	// number of the group; "" sends none.
	RoutingKey string
	Version    Version
}

func (o SGLangSharedPrefix) check() error {
	switch {
	case o.Groups <= 0 || o.PerGroup <= 0 || o.Turns <= 0:
		return fmt.Errorf("%d groups of %d prompts and %d turns: %w", o.Groups, o.PerGroup, o.Turns, ErrLengths)
	case o.ZipfAlpha < 0 || math.IsNaN(o.ZipfAlpha) || math.IsInf(o.ZipfAlpha, 0):
		return fmt.Errorf("zipf alpha %v: a finite number above 0: %w", o.ZipfAlpha, ErrLengths)
	case o.SendIDs && o.Version != November2026:
		return fmt.Errorf("prompts as ids: %q: %w", o.Version, ErrVersion)
	case o.SendIDs && o.Turns > 1:
		return fmt.Errorf("prompts as ids: %d turns: a conversation is text: %w", o.Turns, ErrLengths)
	}
	return nil
}

// sharedParts is what is drawn before prompts are put together.
type sharedParts struct {
	systems   [][]int32   // a group
	questions [][][]int32 // a request, a turn
	outputs   []int       // a request
}

// Sample draws from numpy's stream the lengths of system prompts, questions and
// outputs, and from Python's the ids of all system prompts and then of all
// questions, over the whole vocabulary, special ids included.
func (o SGLangSharedPrefix) Sample(s *pyrand.Streams, t Tokenizer) (Set, error) {
	if err := o.check(); err != nil {
		return Set{}, fmt.Errorf("shared prefix dataset: %w", err)
	}
	if err := needTokenizer(t); err != nil {
		return Set{}, fmt.Errorf("shared prefix dataset: %w", err)
	}
	parts, err := o.draw(s, t.Vocabulary())
	if err != nil {
		return Set{}, fmt.Errorf("shared prefix dataset: %w", err)
	}
	set := Set{IgnoreEOS: true}
	for i, group := range o.groups() {
		r, err := o.request(t, parts.systems[group], parts.questions[i])
		if err != nil {
			return Set{}, fmt.Errorf("shared prefix dataset: request %d: %w", i, err)
		}
		r.OutputLen = parts.outputs[i]
		if o.RoutingKey != "" {
			r.RoutingKey = o.RoutingKey + "_" + strconv.Itoa(group)
		}
		set.Requests = append(set.Requests, r)
	}
	if !o.Ordered {
		set.Requests = shuffled(s.Python, set.Requests)
	}
	return set, set.checkNonEmpty("shared prefix")
}

func (o SGLangSharedPrefix) draw(s *pyrand.Streams, vocabulary []int32) (p sharedParts, err error) {
	requests := o.Groups * o.PerGroup
	systemLens, err := sglangLengths(s.NumPy, o.SystemLen, o.Ratio, o.Groups)
	if err != nil {
		return p, fmt.Errorf("system prompt length: %w", err)
	}
	questionLens, err := sglangLengths(s.NumPy, o.QuestLen, o.Ratio, requests*o.Turns)
	if err != nil {
		return p, fmt.Errorf("question length: %w", err)
	}
	if p.outputs, err = sglangLengths(s.NumPy, o.OutputLen, o.Ratio, requests); err != nil {
		return p, fmt.Errorf("output length: %w", err)
	}
	draw := func(n int) ([]int32, error) {
		picks, err := s.Python.Choices(len(vocabulary), n)
		ids := make([]int32, len(picks))
		for i, k := range picks {
			ids[i] = vocabulary[k]
		}
		return ids, err
	}
	p.systems = make([][]int32, o.Groups)
	for i, n := range systemLens {
		if p.systems[i], err = draw(n); err != nil {
			return p, err
		}
	}
	p.questions = make([][][]int32, requests)
	for i, n := range questionLens {
		ids, err := draw(n)
		if err != nil {
			return p, err
		}
		p.questions[i/o.Turns] = append(p.questions[i/o.Turns], ids)
	}
	return p, nil
}

// groups is the group of every request: in order, or drawn by rank from a
// generator of its own, so that the text does not depend on it.
func (o SGLangSharedPrefix) groups() []int {
	groups := make([]int, o.Groups*o.PerGroup)
	if o.ZipfAlpha == 0 {
		for i := range groups {
			groups[i] = i / o.PerGroup
		}
		return groups
	}
	weights := make([]float64, o.Groups)
	sum := 0.0
	for i := range weights {
		weights[i] = 1 / math.Pow(float64(i+1), o.ZipfAlpha)
		sum += weights[i]
	}
	for i := range weights {
		weights[i] /= sum
	}
	return pyrand.NewGenerator(o.Seed).Weighted(weights, len(groups))
}

func (o SGLangSharedPrefix) request(t Tokenizer, system []int32, questions [][]int32) (r Request, err error) {
	if o.SendIDs {
		r.IDs = append(append([]int32{}, system...), questions[0]...)
		r.PromptLen = len(r.IDs)
		return r, nil
	}
	first := t.Decode(system) + "\n\n" + t.Decode(questions[0])
	r.Prompt, r.PromptLen = first, 1
	if !o.Fast {
		if r.PromptLen, err = countTokens(t, first); err != nil {
			return Request{}, err
		}
	}
	if o.Turns > 1 {
		r.Prompt, r.Turns = "", []string{first}
		for _, ids := range questions[1:] {
			r.Turns = append(r.Turns, t.Decode(ids))
		}
	}
	return r, nil
}

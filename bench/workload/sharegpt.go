package workload

import (
	"fmt"
	"strconv"
	"strings"

	"lathe/bench/pyrand"
)

// VLLMShareGPT is vLLM's sharegpt dataset.
type VLLMShareGPT struct {
	N             int
	Conversations []Conversation
	OutputLen     int // fixed output length; 0: as long as the answer of the row
	Seed          uint64
	NoShuffle     bool
	Shortage      Shortage // vLLM's default is Repeat
	IDPrefix      string
}

// Sample takes the rows that spell "conversations", shuffles them with Python's
// stream seeded anew, and keeps those with a prompt of 4 .. 1024 tokens, an
// answer of at least 4 (not asked of a fixed length) and at most 2048 together,
// special tokens counted.
func (o VLLMShareGPT) Sample(s *pyrand.Streams, t Tokenizer) (Set, error) {
	var rows []Conversation
	for _, c := range o.Conversations {
		if c.Plural {
			rows = append(rows, c)
		}
	}
	s.Python = pyrand.NewPython(o.Seed)
	if !o.NoShuffle {
		rows = shuffled(s.Python, rows)
	}
	var set Set
	media := 0
	for _, c := range rows {
		if len(set.Requests) >= o.N {
			break
		}
		prompt, output, err := conversationLengths(t, c.First, c.Second, o.OutputLen)
		if err != nil {
			return Set{}, fmt.Errorf("sharegpt dataset: row %d: %w", c.Row, err)
		}
		if prompt < 4 || prompt > 1024 || prompt+output > 2048 || output < 4 && o.OutputLen == 0 {
			continue
		}
		if c.Media {
			media++
		}
		id := o.IDPrefix + strconv.Itoa(len(set.Requests))
		set.Requests = append(set.Requests, Request{ID: id, Prompt: c.First, PromptLen: prompt, OutputLen: output})
	}
	if media > 0 {
		set.Warnings = append(set.Warnings, fmt.Sprintf("sharegpt dataset: %d rows name an image or a video: only their text is sent", media))
	}
	if err := set.fillUp("sharegpt", o.N, o.Shortage, s, o.Seed, o.IDPrefix); err != nil {
		return Set{}, err
	}
	return set, set.checkNonEmpty("sharegpt")
}

// conversationLengths counts a prompt and its answer; fixed replaces the latter.
func conversationLengths(t Tokenizer, prompt, answer string, fixed int) (promptLen, outputLen int, err error) {
	if promptLen, err = countTokens(t, prompt); err != nil {
		return 0, 0, err
	}
	if fixed > 0 {
		return promptLen, fixed, nil
	}
	outputLen, err = countTokens(t, answer)
	return promptLen, outputLen, err
}

// SGLangShareGPT is SGLang's sharegpt dataset, and its custom one, which differs
// in how the file is read (ReadCustomConversations).
type SGLangShareGPT struct {
	N             int
	Conversations []Conversation
	OutputLen     int          // fixed output length, at least 4; 0: as long as the answer of the row
	ContextLen    int          // longest prompt and answer together; 0: no bound
	PromptSuffix  string       // put behind the prompt, before "Assistant:"
	Template      ChatTemplate // --apply-chat-template; nil: as it is
	BOS           string       // spelling of the BOS token, taken out of templated prompts
}

// Sample shuffles the rows with Python's stream as it stands and keeps those
// whose prompt and answer have at least 2 tokens each, special ones counted.
func (o SGLangShareGPT) Sample(s *pyrand.Streams, t Tokenizer) (Set, error) {
	if o.OutputLen != 0 && o.OutputLen < 4 {
		return Set{}, fmt.Errorf("sharegpt dataset: output length %d: at least 4: %w", o.OutputLen, ErrLengths)
	}
	set := Set{IgnoreEOS: true}
	for _, c := range shuffled(s.Python, o.Conversations) {
		if len(set.Requests) == o.N {
			break
		}
		prompt, err := o.prompt(c.First)
		if err != nil {
			return Set{}, fmt.Errorf("sharegpt dataset: row %d: %w", c.Row, err)
		}
		promptLen, outputLen, err := conversationLengths(t, prompt, c.Second, o.OutputLen)
		if err != nil {
			return Set{}, fmt.Errorf("sharegpt dataset: row %d: %w", c.Row, err)
		}
		if promptLen < 2 || outputLen < 2 || o.ContextLen > 0 && promptLen+outputLen > o.ContextLen {
			continue
		}
		set.Requests = append(set.Requests, Request{Prompt: prompt, PromptLen: promptLen, OutputLen: outputLen})
	}
	if err := set.fillUp("sharegpt", o.N, Truncate, s, 0, ""); err != nil {
		return Set{}, err
	}
	return set, set.checkNonEmpty("sharegpt")
}

func (o SGLangShareGPT) prompt(text string) (string, error) {
	const ending = "Assistant:"
	if o.PromptSuffix != "" {
		text = strings.TrimSuffix(text, ending) + o.PromptSuffix + ending
	}
	if o.Template == nil {
		return text, nil
	}
	text, err := o.Template(text)
	if err != nil {
		return "", fmt.Errorf("apply the chat template: %w", err)
	}
	if o.BOS != "" {
		text = strings.ReplaceAll(text, o.BOS, "")
	}
	return text, nil
}

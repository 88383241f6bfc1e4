package workload

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"lathe/bench/pyrand"
)

// VLLMSonnet is vLLM's sonnet dataset: an instruction and lines of a poem until
// the prompt is about as long as asked. vLLM 0.33.0 no longer has it.
type VLLMSonnet struct {
	N         int
	Lines     []string // of ReadLines, line feeds kept
	InputLen  int      // vLLM's default 550
	OutputLen int      // 150
	PrefixLen int      // 200: tokens of the prompt that all requests share
	Template  ChatTemplate
	Templated bool // send the templated text, as completions backends do
	Version   Version
	IDPrefix  string
}

// sonnetTries bounds how many prompts in a row may come out too long; vLLM
// would go on for ever.
const sonnetTries = 10000

// ReadLines reads a text file as Python does: lines keep their ending, and every
// ending becomes a line feed.
func ReadLines(r io.Reader) ([]string, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read lines: %w", err)
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
	if err := validText(text); err != nil {
		return nil, fmt.Errorf("read lines: %w", err)
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, nil
}

// Sample counts lines by their mean length a and the templated instruction's
// length o: round((InputLen-o)/a) lines, at least one, of which the first
// round((PrefixLen-o)/a) are the poem's first ones and the rest are drawn with
// Python's stream. A prompt longer than InputLen is drawn again.
func (o VLLMSonnet) Sample(s *pyrand.Streams, t Tokenizer) (Set, error) {
	if o.Version != August2026 {
		return Set{}, fmt.Errorf("sonnet dataset: %q: %w", o.Version, ErrVersion)
	}
	shared, drawn, err := o.lineCounts(t)
	if err != nil {
		return Set{}, fmt.Errorf("sonnet dataset: %w", err)
	}
	prefix := sonnetInstruction + strings.Join(o.Lines[:min(shared, len(o.Lines))], "")
	var set Set
	for tries := 0; len(set.Requests) < o.N; tries++ {
		if tries == sonnetTries {
			return Set{}, fmt.Errorf("sonnet dataset: %d prompts in a row are longer than %d tokens: %w", tries, o.InputLen, ErrLengths)
		}
		picks, err := s.Python.Choices(len(o.Lines), drawn)
		if err != nil {
			return Set{}, fmt.Errorf("sonnet dataset: %w", err)
		}
		var b strings.Builder
		b.WriteString(prefix)
		for _, k := range picks {
			b.WriteString(o.Lines[k])
		}
		templated, n, err := o.measure(t, b.String())
		if err != nil {
			return Set{}, fmt.Errorf("sonnet dataset: %w", err)
		}
		if n > o.InputLen {
			continue
		}
		r := Request{ID: o.IDPrefix + strconv.Itoa(len(set.Requests)), Prompt: b.String(), PromptLen: n, OutputLen: o.OutputLen}
		if o.Templated {
			r.Prompt = templated
		}
		set.Requests = append(set.Requests, r)
		tries = -1
	}
	return set, nil
}

// sonnetInstruction is the line that vLLM's prompts open with.
const sonnetInstruction = "Pick as many lines as you can from these poem lines:\n"

func (o VLLMSonnet) lineCounts(t Tokenizer) (shared, drawn int, err error) {
	if len(o.Lines) == 0 {
		return 0, 0, fmt.Errorf("the poem has no line: %w", ErrShort)
	}
	if o.Template == nil {
		return 0, 0, fmt.Errorf("the tokenizer has no chat template, which the prompts are measured with: %w", ErrRow)
	}
	total := 0
	for i, line := range o.Lines {
		n, err := countTokens(t, line)
		if err != nil {
			return 0, 0, fmt.Errorf("line %d: %w", i+1, err)
		}
		total += n
	}
	mean := float64(total) / float64(len(o.Lines))
	if mean == 0 {
		return 0, 0, fmt.Errorf("the poem has no token: %w", ErrRow)
	}
	_, base, err := o.measure(t, sonnetInstruction)
	if err != nil {
		return 0, 0, err
	}
	if o.InputLen <= base {
		return 0, 0, fmt.Errorf("input length %d: the instruction alone has %d tokens: %w", o.InputLen, base, ErrLengths)
	}
	lines := max(1, int(math.RoundToEven(float64(o.InputLen-base)/mean)))
	shared = max(0, int(math.RoundToEven(float64(o.PrefixLen-base)/mean)))
	return shared, lines - shared, nil
}

func (o VLLMSonnet) measure(t Tokenizer, user string) (templated string, n int, err error) {
	if templated, err = o.Template(user); err != nil {
		return "", 0, fmt.Errorf("apply the chat template: %w", err)
	}
	n, err = countTokens(t, templated)
	return templated, n, err
}

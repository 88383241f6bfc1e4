package workload

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"lathe/bench/pyrand"
)

// CustomRow is a line of a custom file.
type CustomRow struct {
	Line   int // from 1
	Prompt string
	output json.RawMessage // "output_tokens", looked at only where it is asked for; nil: absent
}

// ReadCustom reads vLLM's custom file: JSON lines with a "prompt" and perhaps an
// "output_tokens". vLLM reads them through pandas, which makes numbers of a
// column of digits; here a text stays a text.
func ReadCustom(r io.Reader) ([]CustomRow, error) {
	var rows []CustomRow
	err := eachLine(r, func(number int, line []byte) error {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(line, &object); err != nil {
			return fmt.Errorf("line %d: %w", number, badJSON(err, "an object"))
		}
		row := CustomRow{Line: number}
		var prompt *string
		if err := json.Unmarshal(object["prompt"], &prompt); err != nil || prompt == nil {
			return fmt.Errorf("line %d: no \"prompt\" that is a text: %w", number, ErrRow)
		}
		row.Prompt = *prompt
		row.output = object["output_tokens"]
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read custom dataset: %w", err)
	}
	return rows, nil
}

// OutputTokens is the output length that the line asks for. Like Python's int()
// it cuts a fraction off and reads digits in a text.
func (r CustomRow) OutputTokens() (int, error) {
	if r.output == nil {
		return 0, fmt.Errorf("no \"output_tokens\", which an output length of -1 takes: %w", ErrRow)
	}
	var v any
	n := 0
	if err := json.Unmarshal(r.output, &v); err != nil {
		return 0, fmt.Errorf("\"output_tokens\": %w", badJSON(err, "a number"))
	}
	switch v := v.(type) {
	case float64:
		if v < 1<<31 {
			n = int(v)
		}
	case string:
		n, _ = strconv.Atoi(v)
	}
	if n <= 0 || n > MaxTokens {
		return 0, fmt.Errorf("\"output_tokens\" is %s: not a count from 1 to %d: %w", r.output, MaxTokens, ErrRow)
	}
	return n, nil
}

// OutputOfRow as OutputLen takes each row's own output length.
const OutputOfRow = -1

// VLLMCustom is vLLM's custom dataset.
type VLLMCustom struct {
	N         int // 0 or less: every row
	Rows      []CustomRow
	OutputLen int          // vLLM's default 256; OutputOfRow
	Template  ChatTemplate // nil: --skip-chat-template
	Seed      uint64
	NoShuffle bool
	Shortage  Shortage // vLLM's default is Repeat
	IDPrefix  string
}

// Sample shuffles the rows with Python's stream seeded anew; prompts are counted
// with special tokens, after the chat template. Without a tokenizer vLLM states
// 1 for both lengths, asks for one token, and applies no template.
func (o VLLMCustom) Sample(s *pyrand.Streams, t Tokenizer) (Set, error) {
	n := o.N
	if n <= 0 {
		n = len(o.Rows)
	}
	s.Python = pyrand.NewPython(o.Seed)
	rows := o.Rows
	if !o.NoShuffle {
		rows = shuffled(s.Python, rows)
	}
	var set Set
	for i, row := range rows[:min(n, len(rows))] {
		r, err := o.request(t, row)
		if err != nil {
			return Set{}, fmt.Errorf("custom dataset: line %d: %w", row.Line, err)
		}
		r.ID = o.IDPrefix + strconv.Itoa(i)
		set.Requests = append(set.Requests, r)
	}
	if err := set.fillUp("custom", n, o.Shortage, s, o.Seed, o.IDPrefix); err != nil {
		return Set{}, err
	}
	return set, set.checkNonEmpty("custom")
}

func (o VLLMCustom) request(t Tokenizer, row CustomRow) (r Request, err error) {
	r = Request{Prompt: row.Prompt, OutputLen: o.OutputLen}
	if t == nil {
		return Request{Prompt: row.Prompt, PromptLen: 1, OutputLen: 1}, nil
	}
	if o.OutputLen == OutputOfRow {
		if r.OutputLen, err = row.OutputTokens(); err != nil {
			return Request{}, err
		}
	}
	if o.Template != nil {
		if r.Prompt, err = o.Template(row.Prompt); err != nil {
			return Request{}, fmt.Errorf("apply the chat template: %w", err)
		}
	}
	r.PromptLen, err = countTokens(t, r.Prompt)
	return r, err
}

// ReadCustomConversations reads SGLang's custom file: JSON lines of
// conversations whose turns have a "content" or a "value" (neither: an empty
// turn). A line that is not JSON is left out, as SGLang does; skipped counts them.
func ReadCustomConversations(r io.Reader) (rows []Conversation, skipped int, err error) {
	err = eachLine(r, func(number int, line []byte) error {
		if !json.Valid(line) {
			skipped++
			return nil
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(line, &object); err != nil || object == nil {
			return fmt.Errorf("line %d: not an object: %w", number, ErrRow)
		}
		c, ok, err := conversation(object, "content", "value", "")
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if ok {
			c.Row = number
			rows = append(rows, c)
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read custom dataset: %w", err)
	}
	return rows, skipped, nil
}

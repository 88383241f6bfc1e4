package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"lathe/bench/pyrand"
)

// Conversation is the first two turns of a row that has at least two.
type Conversation struct {
	Row           int    // index in the file
	First, Second string // the user's turn and the answer
	// Plural says that the row spells its turns "conversations"; vLLM takes no
	// other, SGLang takes "conversation" too.
	Plural bool
	Media  bool // the row names an image or a video, which is not sent
}

// ReadConversations reads a ShareGPT file: a JSON array of objects whose
// "conversations" or "conversation" is a list of turns with a "value". Rows with
// fewer than two turns are left out, as both harnesses do.
func ReadConversations(r io.Reader) ([]Conversation, error) {
	d := json.NewDecoder(r)
	if tok, err := d.Token(); err != nil {
		return nil, fmt.Errorf("read conversations: %w", unexpectedEnd(err))
	} else if tok != json.Delim('[') {
		return nil, fmt.Errorf("read conversations: the file is not a JSON array: %w", ErrRow)
	}
	var out []Conversation
	for row := 0; d.More(); row++ {
		var object map[string]json.RawMessage
		if err := d.Decode(&object); err != nil {
			return nil, fmt.Errorf("read conversations: row %d: %w", row, badJSON(unexpectedEnd(err), "an object"))
		}
		if object == nil {
			return nil, fmt.Errorf("read conversations: row %d: it is null: %w", row, ErrRow)
		}
		c, ok, err := conversation(object, "value")
		if err != nil {
			return nil, fmt.Errorf("read conversations: row %d: %w", row, err)
		}
		if ok {
			c.Row = row
			out = append(out, c)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("read conversations: %w", unexpectedEnd(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read conversations: something follows the array: %w", ErrRow)
	}
	return out, nil
}

func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// badJSON says what is wrong with a row in JSON's words: err is of decoding what
// should be wanted.
func badJSON(err error, wanted string) error {
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return fmt.Errorf("a JSON %s where %s is needed: %w", other.Value, wanted, ErrRow)
	}
	return fmt.Errorf("no JSON: %w", err)
}

// MaxTokens bounds what a row of a file may ask for, in tokens.
const MaxTokens = 1 << 24

// conversation takes a row apart; the text of a turn stands under the first of
// keys that it has, and may be missing if the last key is "". ok is false for
// fewer than two turns.
func conversation(object map[string]json.RawMessage, keys ...string) (c Conversation, ok bool, err error) {
	raw, plural := object["conversations"]
	if !plural {
		if raw, ok = object["conversation"]; !ok {
			return Conversation{}, false, nil
		}
	}
	var turns []json.RawMessage
	if err := json.Unmarshal(raw, &turns); err != nil || turns == nil {
		return Conversation{}, false, fmt.Errorf("its turns are not a list: %w", ErrRow)
	}
	if len(turns) < 2 {
		return Conversation{}, false, nil
	}
	c.Plural, c.Media = plural, truthy(object["image"]) || truthy(object["video"])
	for i, text := range []*string{&c.First, &c.Second} {
		if *text, err = turnText(turns[i], keys); err != nil {
			return Conversation{}, false, fmt.Errorf("turn %d: %w", i, err)
		}
	}
	return c, true, nil
}

func turnText(raw json.RawMessage, keys []string) (string, error) {
	var turn map[string]json.RawMessage
	if err := json.Unmarshal(raw, &turn); err != nil {
		return "", fmt.Errorf("not an object: %w", ErrRow)
	}
	for _, key := range keys {
		value, ok := turn[key]
		if !ok || key == "" {
			continue
		}
		var text *string
		if err := json.Unmarshal(value, &text); err != nil || text == nil {
			return "", fmt.Errorf("its %q is not a text: %w", key, ErrRow)
		}
		return *text, nil
	}
	last := keys[len(keys)-1]
	if last == "" { // a turn may go without its text
		return "", nil
	}
	return "", fmt.Errorf("it has no %q: %w", last, ErrRow)
}

// truthy is Python's truth of a JSON value.
func truthy(raw json.RawMessage) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// shuffled is a shuffled copy of rows.
func shuffled[T any](r *pyrand.Python, rows []T) []T {
	out := append([]T{}, rows...)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// maxLine bounds one line of a JSONL file.
const maxLine = 64 << 20

// eachLine hands out the lines that hold more than white space, with their
// number from 1.
func eachLine(r io.Reader, use func(number int, line []byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	number := 0
	for s.Scan() {
		number++
		line := bytes.TrimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := use(number, line); err != nil {
			return err
		}
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d: longer than %d bytes: %w", number+1, maxLine, ErrRow)
	} else if err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	return nil
}

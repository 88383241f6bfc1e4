package load

import (
	"encoding/json"
	"fmt"
)

// Row is what a dataset asks for in one request.
type Row struct {
	Text      string
	TokenIDs  []int           // the prompt as ids, where it is not nil
	Messages  json.RawMessage // a chat that the row brings whole: a list of messages
	Parts     json.RawMessage // media of a chat message: one content part, or a list
	Images    []string        // URLs of images (SGLang's rows)
	OutputLen int
	RequestID string          // "" where the row has none
	Extra     json.RawMessage // the row's own body fields: they win over those of the run
}

// prompt is the row's prompt as a body's value.
func (r Row) prompt() any {
	if r.TokenIDs != nil {
		return r.TokenIDs
	}
	return r.Text
}

// messages is the row's own chat, nil where it has none.
func (r Row) messages() (any, error) {
	if len(r.Messages) == 0 {
		return nil, nil
	}
	v, err := parseJSON(r.Messages)
	if err != nil {
		return nil, fmt.Errorf("messages of a row: %w", err)
	}
	return v, nil
}

// extra is the run's body fields with the row's over them.
func (r Row) extra(run json.RawMessage) (object, error) {
	o, err := parseObject(run)
	if err != nil {
		return nil, fmt.Errorf("extra body: %w", err)
	}
	own, err := parseObject(r.Extra)
	if err != nil {
		return nil, fmt.Errorf("extra body of a row: %w", err)
	}
	o.update(own)
	return o, nil
}

// MergeBody is two sets of body fields as one, over winning: sampling flags
// below --extra-body.
func MergeBody(under, over json.RawMessage) (json.RawMessage, error) {
	o, err := Row{Extra: over}.extra(under)
	if err != nil || o == nil {
		return nil, err
	}
	return appendPython(nil, o)
}

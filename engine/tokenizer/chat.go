package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// ErrNoChatTemplate is what ReadChatTemplate returns for a model that has none.
var ErrNoChatTemplate = errors.New("the model has no chat template")

// RaisedError is a template's own refusal: it called raise_exception(Message).
type RaisedError struct{ Message string }

func (e *RaisedError) Error() string { return "the chat template refuses: " + e.Message }

// ChatTemplate renders conversations as one model wants them. It is safe for concurrent use.
type ChatTemplate struct {
	path     string
	byName   map[string]*exec.Template
	specials map[string]any // bos_token, eos_token and the others of tokenizer_config.json
}

// Message is a turn of plain text, the usual case of what Conversation.Messages lists.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Conversation is what a template is given. Messages and Tools are JSON lists, as in an OpenAI request, and keep the
// order of their keys.
type Conversation struct {
	Messages            json.RawMessage
	Tools               json.RawMessage            // nil: none
	AddGenerationPrompt bool                       // end with the opening of the assistant's turn
	Variables           map[string]json.RawMessage // more variables, by name; they win over the model's tokens
	Now                 time.Time                  // what strftime_now tells; zero: the clock
	Name                string                     // a named template; "": tool_use if there are tools and one is so named, else default
}

// PlainMessages is the JSON list of messages.
func PlainMessages(messages ...Message) json.RawMessage {
	if messages == nil {
		messages = []Message{}
	}
	data, err := json.Marshal(messages)
	if err != nil {
		return nil // strings cannot fail
	}
	return data
}

// ReadChatTemplate finds the template of the model in dir: chat_template.jinja, else chat_template in
// tokenizer_config.json, which may be a text or a list of named ones. The special tokens that a template may write
// come from the same file. Errors wrap ErrNoChatTemplate, or are *Error.
func ReadChatTemplate(dir string) (*ChatTemplate, error) {
	configPath := filepath.Join(dir, "tokenizer_config.json")
	settings := map[string]json.RawMessage{}
	data, err := os.ReadFile(configPath)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, &Error{"tokenizer", configPath, err}
	}
	if err == nil {
		if err := json.Unmarshal(data, &settings); err != nil {
			return nil, &Error{"tokenizer", configPath, describeJSON(data, err)}
		}
	}
	path := filepath.Join(dir, "chat_template.jinja")
	sources := map[string]string{}
	switch source, err := os.ReadFile(path); {
	case err == nil:
		sources["default"] = string(source)
	case !errors.Is(err, os.ErrNotExist):
		return nil, &Error{"tokenizer", path, err}
	default:
		path = configPath
		if sources, err = namedTemplates(settings["chat_template"]); err != nil {
			return nil, &Error{"tokenizer", path, err}
		}
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("read chat template: %s: %w", dir, ErrNoChatTemplate)
	}
	t := &ChatTemplate{path: path, byName: map[string]*exec.Template{}, specials: specialTokens(settings)}
	for name, source := range sources {
		if t.byName[name], err = compile(source); err != nil {
			return nil, &Error{"tokenizer", path, fmt.Errorf("chat template %q: %w", name, err)}
		}
	}
	return t, nil
}

// ParseChatTemplate compiles the source of one template. specials are the texts of special tokens by role, such as
// "bos_token"; may be nil.
func ParseChatTemplate(source string, specials map[string]string) (*ChatTemplate, error) {
	compiled, err := compile(source)
	if err != nil {
		return nil, fmt.Errorf("parse chat template: %w", err)
	}
	t := &ChatTemplate{byName: map[string]*exec.Template{"default": compiled}, specials: map[string]any{}}
	for role, text := range specials {
		t.specials[role] = text
	}
	return t, nil
}

func namedTemplates(raw json.RawMessage) (map[string]string, error) {
	var one string
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if json.Unmarshal(raw, &one) == nil {
		return map[string]string{"default": one}, nil
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("chat_template is neither text nor a list of named templates: %w", err)
	}
	sources := map[string]string{}
	for _, named := range list {
		sources[named.Name] = named.Template
	}
	return sources, nil
}

// specialTokens reads bos_token and its like: a text, or an object with "content", or a list of either.
func specialTokens(settings map[string]json.RawMessage) map[string]any {
	text := func(raw json.RawMessage) (string, bool) {
		var s string
		var o struct{ Content *string }
		if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
			return s, true
		}
		if json.Unmarshal(raw, &o) == nil && o.Content != nil {
			return *o.Content, true
		}
		return "", false
	}
	specials := map[string]any{}
	for _, role := range []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"} {
		if s, ok := text(settings[role]); ok {
			specials[role] = s
		}
	}
	var list []json.RawMessage
	if json.Unmarshal(settings["additional_special_tokens"], &list) == nil && len(list) > 0 {
		var texts []any
		for _, raw := range list {
			if s, ok := text(raw); ok {
				texts = append(texts, s)
			}
		}
		specials["additional_special_tokens"] = texts
	}
	return specials
}

// Path is the file that the template came from; "" for ParseChatTemplate.
func (t *ChatTemplate) Path() string { return t.path }

// Special is the text of a special token by role, such as "eos_token"; "" if the model names none.
func (t *ChatTemplate) Special(role string) string {
	s, _ := t.specials[role].(string)
	return s
}

// Render gives the prompt text of c, to be encoded with control tokens recognised. A template's own refusal is a
// *RaisedError.
func (t *ChatTemplate) Render(c Conversation) (text string, err error) {
	template, err := t.choose(c)
	if err != nil {
		return "", fmt.Errorf("render chat template: %w", err)
	}
	raised := &raisedText{}
	data := map[string]any{"add_generation_prompt": c.AddGenerationPrompt, "tools": nil, "documents": nil}
	for role, token := range t.specials {
		data[role] = token
	}
	parts := map[string]json.RawMessage{"messages": c.Messages}
	if len(c.Tools) > 0 {
		parts["tools"] = c.Tools
	}
	for name, raw := range c.Variables {
		parts[name] = raw
	}
	for name, raw := range parts {
		if data[name], err = orderedJSON(raw); err != nil {
			return "", fmt.Errorf("render chat template: %s: %w", name, err)
		}
	}
	data["raise_exception"] = raised.raise
	data["strftime_now"] = strftimeNow(c.Now)
	text, err = execute(template, exec.NewContext(data))
	if message, ok := raised.get(); ok {
		return "", fmt.Errorf("render chat template: %w", &RaisedError{message})
	}
	if err != nil {
		return "", fmt.Errorf("render chat template: %w", err)
	}
	return text, nil
}

func (t *ChatTemplate) choose(c Conversation) (*exec.Template, error) {
	name := c.Name
	if name == "" {
		name = "default"
		if t.byName["tool_use"] != nil && len(c.Tools) > 0 && string(c.Tools) != "null" {
			name = "tool_use"
		}
	}
	template := t.byName[name]
	if template == nil {
		return nil, fmt.Errorf("there is no template named %q", name)
	}
	return template, nil
}

// compile parses source with the settings that transformers uses: trim_blocks and lstrip_blocks.
func compile(source string) (t *exec.Template, err error) {
	defer recovered(&err)
	settings := config.New()
	settings.TrimBlocks, settings.LeftStripBlocks = true, true
	source, err = markConcat(source, settings)
	if err != nil {
		return nil, err
	}
	t, err = exec.NewTemplate(templateName, settings, onlyTemplate(source), environment())
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // the outer text repeats the whole source
	}
	return t, err
}

func execute(t *exec.Template, data *exec.Context) (text string, err error) {
	defer recovered(&err)
	return t.ExecuteToString(data)
}

// recovered turns a panic of the template engine into an error: a template comes with a model, from anywhere.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the template engine failed: %v", p)
	}
}

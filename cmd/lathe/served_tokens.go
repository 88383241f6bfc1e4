package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"lathe/bench/serving"
	"lathe/bench/workload"
	"lathe/engine/llama"
	"lathe/engine/tokenizer"
)

// servedTokens is the tokenizer of a serving run, or none.
type servedTokens struct {
	workload.Tokenizer        // nil without one
	name               string // as openTokens opens it again
	dir                string // of a model that may have a chat template; ""
	close              func()
}

// modelTokenizer is a tokenizer of ours as the datasets ask for one.
type modelTokenizer struct{ *tokenizer.Tokenizer }

func (m modelTokenizer) Encode(text string, special bool) ([]int32, error) {
	if special {
		return m.EncodeFramed(text, true)
	}
	return m.Tokenizer.Encode(text, true)
}

func (m modelTokenizer) Decode(ids []int32) string { return m.Tokenizer.Decode(ids, false) }
func (m modelTokenizer) VocabSize() int            { return m.ModelVocabSize() }

// presetTokenizer is the byte tokenizer of a preset. Bytes that are no printable ASCII are kept out of
// made-up prompts: alone they are no text, and a text with them is longer than it was drawn.
type presetTokenizer struct{ modelTokenizer }

func (presetTokenizer) Special() []int32 {
	var ids []int32
	for b := range int32(256) {
		if b < ' ' || b > '~' {
			ids = append(ids, b)
		}
	}
	return ids
}

// openTokens opens a tokenizer by what a user may call it: none, name:chars, name:words, name:bytes,
// preset:NAME, a directory or a tokenizer.json.
func openTokens(name string) (servedTokens, error) {
	nothing := func() {}
	if name == "" {
		name = workload.NoTokenizer
	}
	if stand, ok := workload.StandIn(name); ok {
		return servedTokens{Tokenizer: stand, name: name, close: nothing}, nil
	}
	if preset, ok := strings.CutPrefix(name, presetPrefix); ok {
		cfg, err := llama.Preset(preset)
		if err != nil {
			return servedTokens{}, usageError("presets: "+strings.Join(presetNames(), ", "), "open tokenizer: %s: no such preset", name)
		}
		return servedTokens{Tokenizer: presetTokenizer{modelTokenizer{tokenizer.Bytes(cfg.Vocab)}}, name: name, close: nothing}, nil
	}
	if strings.HasPrefix(name, "name:") {
		return servedTokens{}, usageError("", "open tokenizer: %s: the counting ones are name:chars, name:words and name:bytes", name)
	}
	tok, err := tokenizer.Open(name)
	if err != nil {
		return servedTokens{}, usageError("name:chars, name:words and name:bytes count without one", "open tokenizer: %w", err)
	}
	dir := name
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		dir = filepath.Dir(name)
	}
	return servedTokens{Tokenizer: modelTokenizer{tok}, name: name, dir: dir, close: tok.Close}, nil
}

// tokenizerOfModel names the tokenizer that a model brings. A model that is only the server's name has
// none here: what then counts tokens is said in warning.
func tokenizerOfModel(model string) (name, warning string, err error) {
	if strings.HasPrefix(model, presetPrefix) {
		return model, "", nil
	}
	info, statErr := os.Stat(model)
	switch {
	case statErr == nil && info.IsDir():
		return model, "", nil
	case strings.HasPrefix(model, ".") || strings.HasPrefix(model, "/") || strings.HasPrefix(model, "~"):
		return "", "", usageError("--tokenizer DIR names the tokenizer apart from what the server calls the model", "open tokenizer: %s: no such directory", model)
	}
	const better = "; --tokenizer DIR names the real one"
	if preset, known := llama.HubPreset(model); known {
		return presetPrefix + preset, "--model " + model + ": no tokenizer of it here: prompts are made and counted with the byte tokenizer of " + presetPrefix + preset + better, nil
	}
	return "name:words", "--model " + model + ": no tokenizer of it here: words are counted as tokens" + better, nil
}

// counter counts the tokens of a text; nil without a tokenizer.
func (t servedTokens) counter() serving.Counter {
	if t.Tokenizer == nil {
		return nil
	}
	return func(text string) int {
		ids, err := t.Encode(text, false)
		if err != nil {
			return 0 // no token: the readings then differ visibly
		}
		return len(ids)
	}
}

// template renders one user message with the model's chat template; an error where it has none.
func (t servedTokens) template(kwargs string) (workload.ChatTemplate, error) {
	if t.dir == "" {
		return nil, usageError("--skip-chat-template sends prompts as they are", "chat template: the tokenizer %s has none", t.name)
	}
	chat, err := tokenizer.ReadChatTemplate(t.dir)
	if errors.Is(err, tokenizer.ErrNoChatTemplate) {
		return nil, usageError("--skip-chat-template sends prompts as they are", "%w", err)
	}
	if err != nil {
		return nil, usageError("", "%w", err)
	}
	variables := map[string]json.RawMessage{}
	if kwargs != "" {
		if err := json.Unmarshal([]byte(kwargs), &variables); err != nil {
			return nil, usageError("", "--chat-template-kwargs: %w", err)
		}
	}
	return func(user string) (string, error) {
		return chat.Render(tokenizer.Conversation{Messages: tokenizer.PlainMessages(tokenizer.Message{Role: "user", Content: user}),
			AddGenerationPrompt: true, Variables: variables})
	}, nil
}

// bos is how the model spells its begin-of-text token, "" where it does not say.
func (t servedTokens) bos() string {
	if t.dir == "" {
		return ""
	}
	chat, err := tokenizer.ReadChatTemplate(t.dir)
	if err != nil {
		return ""
	}
	return chat.Special("bos_token")
}

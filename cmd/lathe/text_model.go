package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"strings"

	"lathe/engine/tokenizer"
)

// openTokenizer is the tokenizer of a model: --tokenizer, else beside the weights, else the presets'
// byte tokenizer. Its ids must all have an embedding.
func openTokenizer(o engineOptions, m modelSource) (*tokenizer.Tokenizer, error) {
	path := o.Tokenizer
	switch {
	case path == "" && m.dir == "":
		return tokenizer.Bytes(m.config.Vocab), nil
	case path == "":
		path = m.dir
	}
	tok, err := tokenizer.Open(path)
	if errors.Is(err, tokenizer.ErrNoRust) {
		return nil, usageError("build without the tag notokenizer (make build), or give token ids", "open tokenizer: %w", err)
	}
	if err != nil {
		return nil, usageError("--tokenizer names another; token ids need none", "open tokenizer: %w", err)
	}
	if err := tok.CheckVocab(m.config.Vocab); err != nil {
		tok.Close()
		return nil, usageError("--tokenizer names the one that the model was trained with", "open tokenizer: %w", err)
	}
	return tok, nil
}

// encodeText is the ids of a text, control tokens recognised as the harnesses have them.
func encodeText(tok *tokenizer.Tokenizer, text string) ([]int32, error) {
	ids, err := tok.Encode(text, true)
	if err != nil {
		return nil, usageError("", "encode the prompt: %w", err)
	}
	if len(ids) == 0 {
		return nil, usageError("", "encode the prompt: %q has no tokens", text)
	}
	return ids, nil
}

// readPromptFile encodes the prompts of a file, one a line; empty lines are passed over.
func readPromptFile(path string, tok *tokenizer.Tokenizer) ([][]int32, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("without --prompt-filename the prompts are random token ids", "read prompts: %s: no such file", path)
	}
	if err != nil {
		return nil, usageError("", "read prompts: %w", err)
	}
	var prompts [][]int32
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		ids, err := encodeText(tok, lines.Text())
		if err != nil {
			return nil, err
		}
		prompts = append(prompts, ids)
	}
	if len(prompts) == 0 {
		return nil, usageError("one prompt a line", "read prompts: %s: no prompt in it", path)
	}
	return prompts, nil
}

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
		return nil, usageError("build without the tag notokenizer (make build), or give token ids", "%w", err)
	}
	if err != nil {
		return nil, usageError("--tokenizer names another; token ids need none", "%w", err)
	}
	if err := tok.CheckVocab(m.config.Vocab); err != nil {
		tok.Close()
		return nil, usageError("--tokenizer names the one that the model was trained with", "%w", err)
	}
	return tok, nil
}

// encodeText is the ids of a text, control tokens recognised as the harnesses have them; framed adds
// what the model's tokenizer puts around a text, such as BOS.
func encodeText(tok *tokenizer.Tokenizer, text string, framed bool) ([]int32, error) {
	encode := tok.Encode
	if framed {
		encode = tok.EncodeFramed
	}
	ids, err := encode(text, true)
	if err != nil {
		return nil, usageError("", "encode the prompt: %w", err)
	}
	if len(ids) == 0 {
		return nil, usageError("", "encode the prompt: %q has no tokens", text)
	}
	return ids, nil
}

// fileIdentity is the sha256 of a prompt file; "" for no file.
func fileIdentity(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	data, err := readBounded(path)
	if err != nil {
		return "", noPrompts(path, err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// maxPromptFile bounds what is read of a file of prompts or ids, in bytes.
const maxPromptFile = 64 << 20

// readBounded reads a file of at most maxPromptFile bytes, whatever it is.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPromptFile+1))
	if err == nil && len(data) > maxPromptFile {
		err = fmt.Errorf("%s: is over %d MiB", path, maxPromptFile>>20)
	}
	return data, err
}

func noPrompts(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usageError("without --prompt-filename the prompts are random token ids", "read prompts: %s: no such file", path)
	}
	return usageError("", "read prompts: %w", err)
}

// readPromptFile encodes the prompts of a file, one a line; empty lines are passed over.
func readPromptFile(path string, tok *tokenizer.Tokenizer) ([][]int32, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, noPrompts(path, err)
	}
	var prompts [][]int32
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		ids, err := encodeText(tok, lines.Text(), true)
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

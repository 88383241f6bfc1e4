package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

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

// invalidUTF8 is where text stops being UTF-8, in bytes; -1 where it does not.
func invalidUTF8(text string) int {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

// promptFile is the file of --prompt-filename: one prompt a line, empty lines passed over.
type promptFile struct {
	path     string
	identity string // sha256 of its bytes
	prompts  []string
}

// readPromptFile reads it once, since it may be a pipe; nil for no file.
func readPromptFile(ctx context.Context, path string) (*promptFile, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readBounded(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("without --prompt-filename the prompts are random token ids", "read prompts: %s: no such file", path)
	}
	if err != nil {
		return nil, usageError("", "read prompts: %w", err)
	}
	if at := invalidUTF8(string(data)); at >= 0 {
		return nil, usageError("", "read prompts: %s: byte %d: not UTF-8", path, at)
	}
	sum := sha256.Sum256(data)
	f := &promptFile{path: path, identity: "sha256:" + hex.EncodeToString(sum[:])}
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) != "" {
			f.prompts = append(f.prompts, lines.Text())
		}
	}
	if len(f.prompts) == 0 {
		return nil, usageError("one prompt a line", "read prompts: %s: no prompt in it", path)
	}
	return f, nil
}

// encode gives the prompts as ids.
func (f *promptFile) encode(tok *tokenizer.Tokenizer) ([][]int32, error) {
	var all [][]int32
	for _, text := range f.prompts {
		ids, err := encodeText(tok, text, true)
		if err != nil {
			return nil, err
		}
		all = append(all, ids)
	}
	return all, nil
}

// maxPromptFile bounds what is read of a file of prompts or ids, in bytes.
const maxPromptFile = 64 << 20

// readBounded reads a file of at most maxPromptFile bytes, whatever it is.
func readBounded(ctx context.Context, path string) ([]byte, error) {
	return whileNotInterrupted(ctx, func() ([]byte, error) {
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
	})
}

// whileNotInterrupted is read's result, or the interrupt where that comes first: opening and reading
// a pipe waits for its writer, for ever if need be. What read does afterwards is lost.
func whileNotInterrupted[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

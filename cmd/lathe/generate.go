package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"lathe/engine"
	"lathe/engine/tokenizer"
)

// generated is one element of generate's JSON.
type generated struct {
	PromptIDs []int32         `json:"prompt_ids"`
	IDs       []int32         `json:"ids"`
	Text      *string         `json:"text"`          // null without a tokenizer
	Cut       string          `json:"cut,omitempty"` // why it ended before its length or its end token
	Steps     []generatedStep `json:"steps,omitempty"`
}

type generatedStep struct {
	Top []rankedLogit `json:"top"` // five, best first
}

// rankedLogit is [id, logit].
type rankedLogit struct {
	id    int32
	logit float32
}

// MarshalJSON writes [id, logit].
func (r rankedLogit) MarshalJSON() ([]byte, error) { return json.Marshal([]any{r.id, r.logit}) }

// runGenerate does the command: each prompt on its own, greedily.
func runGenerate(ctx context.Context, app *application, o generateOptions) error {
	source, err := resolveModel(o.Engine.Model, o.Engine.LoadFormat, app.dryRun)
	if err != nil {
		return err
	}
	if app.dryRun {
		fmt.Fprintf(app.term.out, "model: %s (%s), backend %s, at most %d tokens a prompt; nothing is run\n", source.name, source.identity, o.Engine.Backend, o.MaxTokens)
		return nil
	}
	tok, prompts, err := o.read(ctx, source)
	if err != nil {
		return err
	}
	if tok != nil {
		defer tok.Close()
	}
	longest := 0
	for i, ids := range prompts {
		if err := checkIDs(ids, source.config.Vocab, i); err != nil {
			return err
		}
		longest = max(longest, len(ids))
	}
	if err := o.fits(source, longest); err != nil {
		return err
	}
	l, err := app.loadModel(ctx, o.Engine, source)
	if err != nil {
		return err
	}
	defer l.Close()
	for _, w := range l.warnings {
		app.term.warn("%s", w)
	}
	e, err := l.model.NewEngine(l.engineOptions(1, longest+o.MaxTokens))
	if err != nil {
		return usageError("", "%w", err)
	}
	defer e.Close()
	return app.generateAll(ctx, o, l, e, tok, prompts)
}

// fits checks the longest sequence against the model and --max-model-len.
func (o *generateOptions) fits(m modelSource, longest int) error {
	const hint = "a shorter prompt or a smaller --max-tokens"
	if limit := o.Engine.MaxModelLen; limit > 0 && o.MaxTokens > limit-longest { // no sum: it may overflow
		return usageError(hint, "generate: prompt of %d and %d new tokens: over --max-model-len %d", longest, o.MaxTokens, limit)
	}
	if limit := m.config.MaxPosition; o.MaxTokens > limit-longest {
		return usageError(hint, "generate: prompt of %d and %d new tokens: the model has %d positions", longest, o.MaxTokens, limit)
	}
	return nil
}

// read gives the prompts as ids, and the tokenizer where there is one: text needs it, ids do not.
func (o *generateOptions) read(ctx context.Context, m modelSource) (*tokenizer.Tokenizer, [][]int32, error) {
	tok, err := openTokenizer(o.Engine, m)
	if err != nil && (o.PromptIDs == "" || !noTokenizer(err)) {
		return nil, nil, err
	}
	if o.PromptIDs != "" {
		prompts, failed := readPromptIDs(ctx, o.PromptIDs)
		return tok, prompts, failed
	}
	text := o.Prompt
	if at := invalidUTF8(text); at >= 0 {
		tok.Close()
		return nil, nil, usageError("", "generate: prompt: byte %d: not UTF-8", at)
	}
	if o.Chat {
		if text, err = chatText(m, o.Prompt); err != nil {
			tok.Close()
			return nil, nil, err
		}
	}
	ids, err := encodeText(tok, text, !o.Chat) // a rendered conversation has its own BOS
	if err != nil {
		tok.Close()
		return nil, nil, err
	}
	return tok, [][]int32{ids}, nil
}

// noTokenizer says that there is none to open, which ids can do without; a damaged one is an error.
func noTokenizer(err error) bool {
	var t *tokenizer.Error
	return errors.Is(err, tokenizer.ErrNoRust) || (errors.As(err, &t) && t.Class == "missing_file")
}

// chatText renders the prompt as the user's turn of the model's chat template.
func chatText(m modelSource, prompt string) (string, error) {
	if m.dir == "" {
		return "", usageError("a model directory may have one", "--chat: %s has no chat template", m.name)
	}
	t, err := tokenizer.ReadChatTemplate(m.dir)
	if err != nil {
		return "", usageError("leave out --chat to continue the text as it is", "--chat: %w", err)
	}
	text, err := t.Render(tokenizer.Conversation{Messages: tokenizer.PlainMessages(tokenizer.Message{Role: "user", Content: prompt}), AddGenerationPrompt: true})
	if err != nil {
		return "", usageError("", "--chat: %w", err)
	}
	return text, nil
}

// readPromptIDs reads a JSON list of lists of ids, or one list.
func readPromptIDs(ctx context.Context, path string) ([][]int32, error) {
	data, err := readBounded(ctx, path)
	if err != nil {
		return nil, usageError("", "--prompt-ids: %w", err)
	}
	if bytes.Contains(data, []byte("null")) {
		return nil, usageError("", "--prompt-ids: %s: null is no token id", path)
	}
	var many [][]int32
	if err := json.Unmarshal(data, &many); err != nil {
		var one []int32
		if json.Unmarshal(data, &one) != nil {
			if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) { // its own text names Go types
				err = fmt.Errorf("%s at byte %d", wrong.Value, wrong.Offset)
			}
			return nil, usageError("write [[1,2,3],[4,5]] or [1,2,3]", "--prompt-ids: %s: not a JSON list of lists of token ids: %w", path, err)
		}
		many = [][]int32{one}
	}
	if len(many) == 0 {
		return nil, usageError("", "--prompt-ids: %s: no prompt in it", path)
	}
	return many, nil
}

func checkIDs(ids []int32, vocab, prompt int) error {
	if len(ids) == 0 {
		return usageError("", "generate: prompt %d is empty", prompt)
	}
	for i, id := range ids {
		if id < 0 || int(id) >= vocab {
			return usageError("", "generate: prompt %d: token %d at place %d is not in the vocabulary of %d", prompt, id, i, vocab)
		}
	}
	return nil
}

// generateAll runs the prompts one by one and prints each. An interrupt ends the one that is running
// and prints what there is.
func (app *application) generateAll(ctx context.Context, o generateOptions, l *loadedModel, e *engine.Engine, tok *tokenizer.Tokenizer, prompts [][]int32) error {
	out := []generated{}
	var failed error
	for _, ids := range prompts {
		g, err := app.generateOne(ctx, o, l, e, tok, ids)
		if g != nil {
			if err != nil {
				g.Cut = err.Error()
			}
			if tok != nil {
				text := tok.Decode(g.IDs, true)
				g.Text = &text
			}
			out = append(out, *g)
		}
		if failed = err; err != nil {
			break
		}
	}
	if o.Format != "json" {
		return failed
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return errors.Join(failed, fmt.Errorf("write the result: %w", err))
	}
	fmt.Fprint(app.term.out, buf.String())
	return failed
}

func (app *application) generateOne(ctx context.Context, o generateOptions, l *loadedModel, e *engine.Engine, tok *tokenizer.Tokenizer, ids []int32) (*generated, error) {
	if err := e.Begin([][]int32{ids}, o.MaxTokens); err != nil {
		return nil, usageError("", "%w", err)
	}
	g := &generated{PromptIDs: ids, IDs: []int32{}}
	show := app.textPrinter(o, tok, ids)
	defer show.finish()
	for i := range o.MaxTokens {
		if ctx.Err() != nil {
			return g, context.Cause(ctx)
		}
		step := e.Decode
		if i == 0 {
			step = e.Prefill
		}
		if err := errors.Join(step(), e.Wait()); err != nil {
			return g, usageError("", "generate: step %d: %w", i, err)
		}
		id := e.Tokens()[0]
		if o.TopLogits {
			top, err := topLogits(e, l.source.config.Vocab)
			if err != nil {
				return g, usageError("", "generate: step %d: %w", i, err)
			}
			g.Steps = append(g.Steps, generatedStep{top})
		}
		g.IDs = append(g.IDs, id)
		if !o.IgnoreEOS && l.source.config.Stop(int(id)) {
			break
		}
		show.push(id)
	}
	return g, nil
}

// topLogits is the five largest, best first; of equal ones the lower id first.
func topLogits(e *engine.Engine, vocab int) ([]rankedLogit, error) {
	logits := make([]float32, vocab)
	if err := e.Logits(0, logits); err != nil {
		return nil, err
	}
	top := make([]rankedLogit, 0, 6)
	for id, v := range logits {
		if len(top) == 5 && v <= top[4].logit {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, v, func(r rankedLogit, v float32) int {
			return cmp.Or(-cmp.Compare(r.logit, v), -1)
		})
		top = slices.Insert(top, at, rankedLogit{int32(id), v})
		top = top[:min(len(top), 5)]
	}
	return top, nil
}

// textPrinter writes a text as its tokens come, whole characters only.
type textPrinter struct {
	app    *application
	stream *tokenizer.Stream
	ids    bool // no tokenizer: ids are printed
}

func (app *application) textPrinter(o generateOptions, tok *tokenizer.Tokenizer, prompt []int32) textPrinter {
	if o.Format != "text" {
		return textPrinter{}
	}
	if tok == nil {
		return textPrinter{app: app, ids: true}
	}
	if o.PromptIDs != "" || !o.Chat {
		fmt.Fprint(app.term.out, tok.Decode(prompt, true))
	}
	return textPrinter{app: app, stream: tok.Stream(true)}
}

func (p textPrinter) push(id int32) {
	switch {
	case p.stream != nil:
		fmt.Fprint(p.app.term.out, p.stream.Push(id))
	case p.ids:
		fmt.Fprintf(p.app.term.out, "%d ", id)
	}
}

func (p textPrinter) finish() {
	switch {
	case p.stream != nil:
		fmt.Fprintln(p.app.term.out, p.stream.Finish())
	case p.ids:
		fmt.Fprintln(p.app.term.out)
	}
}

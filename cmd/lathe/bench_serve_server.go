package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"lathe/bench/load"
	"lathe/bench/workload"
)

// sideCalls are the plain requests around a run. The harnesses give them different header fields:
// vLLM's client sends its key with requests only, SGLang's with nearly everything.
type sideCalls struct {
	models   *load.Side // /v1/models
	plain    *load.Side // /tokenize, /detokenize, /metrics
	own      *load.Side // with the run's headers and key: vLLM's ready check and profile
	bare     *load.Side // with nothing: SGLang's profile
	timeouts struct{ quick, slow time.Duration }
}

// newSideCalls prepares them; they connect when they are used.
func (o *benchServeOptions) newSideCalls(opt load.Options, keys credentials) (*sideCalls, error) {
	var auth, headers []load.Header
	switch {
	case keys.openAI != "":
		auth = []load.Header{{Name: "Authorization", Value: "Bearer " + keys.openAI}}
	case keys.raw != "":
		auth = []load.Header{{Name: "Authorization", Value: keys.raw}}
	}
	if o.Harness == harnessSGLang {
		headers = load.SGLangHeaders(o.Server.Headers)
	} else {
		headers, _ = load.VLLMHeaders(o.Server.Headers) // checked by Validate
	}
	s := &sideCalls{}
	s.timeouts.quick, s.timeouts.slow = 5*time.Second, 2*time.Minute
	everything := append(append([]load.Header{}, auth...), headers...)
	forModels, forPlain := everything, everything // exact
	switch o.Harness {
	case harnessVLLM:
		forModels, forPlain = headers, nil
	case harnessSGLang:
		forModels, forPlain = auth, auth
	}
	var err error
	for _, one := range []struct {
		to     **load.Side
		fields []load.Header
	}{{&s.models, forModels}, {&s.plain, forPlain}, {&s.own, everything}, {&s.bare, nil}} {
		if *one.to, err = load.NewSide(opt, one.fields); err != nil {
			return nil, usageError("", "%w", err)
		}
	}
	return s, nil
}

func (s *sideCalls) close() {
	for _, side := range []*load.Side{s.models, s.plain, s.own, s.bare} {
		side.Close()
	}
}

// get is a GET bounded in time.
func get(ctx context.Context, s *load.Side, path string, limit time.Duration) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.Get(ctx, path)
}

func post(ctx context.Context, s *load.Side, path string, body any, limit time.Duration) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	return s.Post(ctx, path, text)
}

// noSuccess is the end of a load test in which nothing succeeded.
func noSuccess(hint, format string, args ...any) error {
	return &exitError{code: exitRegression, err: fmt.Errorf(format, args...), hint: hint}
}

// waitForModels is SGLang's ready check, and ours: /v1/models must answer.
func (s *sideCalls) waitForModels(ctx context.Context, seconds int, say func(format string, args ...any)) error {
	if seconds == 0 {
		return nil
	}
	err := load.WaitReady(ctx, load.Readiness{Within: time.Duration(seconds) * time.Second, Every: time.Second, Each: s.timeouts.quick, Try: s.models.Models, Waiting: saysWaiting(seconds, say)})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, load.ErrUnauthorised):
		return noSuccess(envOpenAIKey+" holds the key", "%w", err)
	}
	return noSuccess(readyHint(err, "--base-url names the server; --ready-check-timeout-sec 0 does not wait"), "%w", err)
}

// saysWaiting says once that a server is waited for: else a wrong port looks like a hang.
func saysWaiting(seconds int, say func(format string, args ...any)) func(err error) {
	return func(err error) { say("waiting up to %d s for the server: %v", seconds, err) }
}

// readyHint is what helps against the end of a ready check.
func readyHint(err error, otherwise string) string {
	if errors.Is(err, load.ErrCertificate) {
		return "--insecure does not verify the server's certificate"
	}
	return otherwise
}

// servedModels are the ids of /v1/models, with the place that each was loaded from.
func (s *sideCalls) servedModels(ctx context.Context) (ids, roots []string, err error) {
	status, body, err := get(ctx, s.models, "/v1/models", s.timeouts.slow)
	if err != nil {
		return nil, nil, err
	}
	var list struct {
		Data []struct{ ID, Root string }
	}
	if status != 200 {
		return nil, nil, fmt.Errorf("GET /v1/models: status %d", status)
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list.Data) == 0 {
		return nil, nil, fmt.Errorf("GET /v1/models: no model in the answer")
	}
	for _, m := range list.Data {
		ids, roots = append(ids, m.ID), append(roots, m.Root)
	}
	return ids, roots, nil
}

// resolveNames decides the model's names and the tokenizer, asking the server where the flags do not
// say.
func (o *benchServeOptions) resolveNames(ctx context.Context, app *application, s *sideCalls) error {
	u := &o.Used
	u.ModelID, u.ModelName = o.Server.Model, o.Server.ServedModelName
	if o.Server.Model == "" {
		if app.dryRun {
			return usageError("--model NAME", "--model: a dry run asks no server for its model")
		}
		ids, roots, err := s.servedModels(ctx)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return noSuccess("--model names it, --base-url the server", "ask the server for its model: %w", err)
		}
		u.ModelID, u.ModelName = ids[0], ids[0]
		if o.Harness == harnessVLLM && roots[0] != "" {
			u.ModelID = roots[0]
		}
	}
	if u.ModelName == "" {
		u.ModelName = u.ModelID
	}
	return o.resolveTokenizer(ctx, app, s)
}

func (o *benchServeOptions) resolveTokenizer(ctx context.Context, app *application, s *sideCalls) error {
	u := &o.Used
	switch {
	case o.Server.SkipTokenizer:
		u.Tokenizer = workload.NoTokenizer
		return nil
	case o.Server.Tokenizer != "":
		u.Tokenizer = o.Server.Tokenizer
		return nil
	}
	model := u.ModelID
	if o.Harness == harnessSGLang && !app.dryRun {
		if path := s.tokenizerPath(ctx); path != "" {
			model = path
		}
	}
	name, warning, err := tokenizerOfModel(model)
	if err != nil {
		return err
	}
	if warning != "" {
		app.term.warn("%s", warning)
	}
	u.Tokenizer = name
	return nil
}

// tokenizerPath is what SGLang's server says of its tokenizer, where that is on this machine.
func (s *sideCalls) tokenizerPath(ctx context.Context) string {
	status, body, err := get(ctx, s.models, "/model_info", s.timeouts.quick)
	var info struct {
		Tokenizer string `json:"tokenizer_path"`
		Model     string `json:"model_path"`
	}
	if err != nil || status != 200 || json.Unmarshal(body, &info) != nil {
		return ""
	}
	path := info.Tokenizer
	if path == "" {
		path = info.Model
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// alignPrompts is what vLLM's client does with made-up prompts: where the server counts the first one
// differently, prompts that are too long for it are cut there. It returns what to warn of.
func (s *sideCalls) alignPrompts(ctx context.Context, model string, set workload.Set) (warning string) {
	if len(set.Requests) == 0 || set.Requests[0].IDs != nil {
		return ""
	}
	first, err := s.tokenize(ctx, model, set.Requests[0].Prompt)
	if err != nil {
		return alignmentSkipped(err)
	}
	want := set.Requests[0].PromptLen
	if len(first) == want {
		return ""
	}
	const atOnce = 64
	permits := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range set.Requests {
		r := &set.Requests[i]
		permits <- struct{}{}
		all.Go(func() {
			defer func() { <-permits }()
			ids, err := s.tokenize(ctx, model, r.Prompt)
			if err != nil || len(ids) <= r.PromptLen {
				return
			}
			if text, err := s.detokenize(ctx, model, ids[:r.PromptLen]); err == nil {
				r.Prompt = text
			}
		})
	}
	all.Wait()
	return fmt.Sprintf("the server counts %d tokens in the first prompt where %d were made: prompts that are too long were cut by its tokenizer", len(first), want)
}

func alignmentSkipped(err error) string {
	return fmt.Sprintf("prompts were not aligned with the server's tokenizer: %v", err)
}

func (s *sideCalls) tokenize(ctx context.Context, model, prompt string) ([]int, error) {
	status, body, err := post(ctx, s.plain, "/tokenize", map[string]any{"model": model, "prompt": prompt, "add_special_tokens": false}, s.timeouts.slow)
	if err != nil {
		return nil, err
	}
	var answer struct{ Tokens []int }
	switch {
	case status == 404:
		return nil, errors.New("POST /tokenize: status 404: the server has no such path")
	case status != 200:
		return nil, fmt.Errorf("POST /tokenize: status %d", status)
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Tokens == nil {
		return nil, errors.New("POST /tokenize: no tokens in the answer")
	}
	return answer.Tokens, nil
}

func (s *sideCalls) detokenize(ctx context.Context, model string, ids []int) (string, error) {
	status, body, err := post(ctx, s.plain, "/detokenize", map[string]any{"model": model, "tokens": ids}, s.timeouts.slow)
	if err != nil {
		return "", err
	}
	var answer struct{ Prompt *string }
	if status != 200 || json.Unmarshal(body, &answer) != nil || answer.Prompt == nil {
		return "", fmt.Errorf("POST /detokenize: status %d", status)
	}
	return *answer.Prompt, nil
}

// answerHint helps where a server refused everything: a name that it does not know is the usual reason.
func (s *sideCalls) answerHint(ctx context.Context, name string) string {
	ids, _, err := s.servedModels(ctx)
	if err != nil {
		return ""
	}
	for _, id := range ids {
		if id == name {
			return ""
		}
	}
	return "the server has " + strings.Join(ids, ", ") + "; --served-model-name names one"
}

package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"lathe/bench/pyrand"
	"lathe/bench/workload"
)

// drawn is a dataset that was drawn, and the generators as it left them: the arrivals go on with them.
type drawn struct {
	set     workload.Set
	streams *pyrand.Streams
}

// drawDataset draws the prompts of a run. As in the harnesses, the generators are seeded first.
func (o *benchServeOptions) drawDataset(tok servedTokens, idPrefix string) (drawn, error) {
	seed := uint64(o.Dataset.Seed)
	streams, err := pyrand.NewStreams(seed)
	if err != nil {
		return drawn{}, usageError("", "--seed: %w", err)
	}
	if err := o.fitsPrompts(thisMachine().memoryLimit()); err != nil {
		return drawn{}, err
	}
	dataset, warnings, err := o.dataset(tok, idPrefix)
	if err != nil {
		return drawn{}, err
	}
	set, err := dataset.Sample(streams, tok.Tokenizer)
	if errors.Is(err, workload.ErrRow) && o.Dataset.Path != "" {
		err = fmt.Errorf("%s: %w", o.Dataset.Path, err)
	}
	if err != nil {
		return drawn{}, usageError(datasetHint(err), "%w", err)
	}
	set.Warnings = append(warnings, set.Warnings...)
	set, err = o.salted(set, tok)
	return drawn{set: set, streams: streams}, err
}

// madeUp is how many prompts the flags ask for, and of how many tokens each can be where they are
// made up; 0 where they come from a file.
func (o *benchServeOptions) madeUp() (prompts, tokens float64) {
	d := o.Dataset
	prompts = float64(d.NumPrompts)
	switch {
	case d.Name == "random" && o.Harness == harnessVLLM:
		ratio, _, _ := o.rangeRatio()
		return prompts, float64(orElse(d.InputLen, d.RandomInputLen))*(1+max(ratio, 0)) + float64(d.RandomPrefixLen)
	case d.Name == "random" || d.Name == "random-ids":
		return prompts, float64(d.RandomInputLen)
	case d.Name == "prefix_repetition":
		return prompts, float64(d.Prefix.PrefixLen) + float64(d.Prefix.SuffixLen)
	case d.Name == "generated-shared-prefix":
		g := d.Shared
		return float64(g.Groups) * float64(g.PerGroup), float64(g.SystemLen) + float64(g.QuestionLen)*float64(max(g.Turns, 1))
	case d.Name == "fixed":
		return prompts, float64(orElse(d.InputLen, 1024))
	}
	return prompts, 0
}

// What a prompt and a token of one take in memory, in bytes; measured with a million prompts of 100
// words.
const (
	promptBytes = 512
	tokenBytes  = 16
)

// fitsPrompts refuses a run whose prompts this machine cannot hold: all are made before the first is
// sent, so that making one never delays another.
func (o *benchServeOptions) fitsPrompts(limit uint64, known bool) error {
	prompts, tokens := o.madeUp()
	need := prompts * (promptBytes + tokenBytes*tokens)
	if !known || need <= 0.8*float64(limit) {
		return nil
	}
	return usageError("--num-prompts asks for fewer", "--num-prompts: %.0f prompts of up to %.0f tokens take about %s, and %s of memory are allowed here",
		prompts, tokens, sized(need), sized(0.8*float64(limit)))
}

func datasetHint(err error) string {
	switch {
	case errors.Is(err, workload.ErrTokenizer):
		return "--tokenizer DIR, or name:chars"
	case errors.Is(err, workload.ErrShort):
		return "--num-prompts asks for fewer, --oversample repeats rows, --no-oversample sends what there is"
	case errors.Is(err, workload.ErrVersion):
		return "--harness-version names another state of the harnesses"
	}
	return ""
}

// dataset is the dataset that the flags name, its file read.
func (o *benchServeOptions) dataset(tok servedTokens, idPrefix string) (workload.Dataset, []string, error) {
	switch o.Harness {
	case harnessSGLang:
		return o.sglangDataset(tok)
	case harnessExact:
		return o.exactDataset(tok, idPrefix)
	}
	return o.vllmDataset(tok, idPrefix)
}

// orElse is the flag's value, or what stands where it was not given.
func orElse(flag *int, otherwise int) int {
	if flag != nil {
		return *flag
	}
	return otherwise
}

func (o *benchServeOptions) vllmDataset(tok servedTokens, idPrefix string) (workload.Dataset, []string, error) {
	d, seed := o.Dataset, uint64(o.Dataset.Seed)
	n := d.NumPrompts
	shortage := workload.Repeat
	if d.NoOversample {
		shortage = workload.Truncate
	}
	switch d.Name {
	case "random":
		input, output, err := o.rangeRatio()
		return workload.VLLMRandom{N: n, InputLen: orElse(d.InputLen, d.RandomInputLen), OutputLen: orElse(d.OutputLen, d.RandomOutputLen),
			PrefixLen: d.RandomPrefixLen, InputRatio: input, OutputRatio: output, Seed: seed, IDPrefix: idPrefix}, nil, err
	case "prefix_repetition":
		return workload.VLLMPrefixRepetition{N: n, PrefixLen: d.Prefix.PrefixLen, SuffixLen: d.Prefix.SuffixLen, Prefixes: d.Prefix.NumPrefixes,
			OutputLen: orElse(d.OutputLen, d.Prefix.OutputLen), Seed: seed, NoShuffle: d.DisableShuffle}, nil, nil
	case "sharegpt":
		rows, err := readDataset(d.Path, workload.ReadConversations)
		fixed := orElse(d.OutputLen, orElse(d.ShareGPTOutputLen, 0))
		return workload.VLLMShareGPT{N: n, Conversations: rows, OutputLen: fixed, Seed: seed, NoShuffle: d.DisableShuffle, Shortage: shortage, IDPrefix: idPrefix}, nil, err
	case "burstgpt":
		rows, err := readDataset(d.Path, workload.ReadBurstGPT)
		return workload.VLLMBurstGPT{N: n, Rows: rows, Seed: seed, IDPrefix: idPrefix}, nil, err
	case "sonnet":
		return o.sonnet(tok, idPrefix)
	case "custom":
		return o.custom(tok, orElse(d.OutputLen, d.CustomOutputLen), shortage, idPrefix)
	}
	return o.timedTrace(idPrefix)
}

func (o *benchServeOptions) custom(tok servedTokens, outputLen int, shortage workload.Shortage, idPrefix string) (workload.Dataset, []string, error) {
	d := o.Dataset
	rows, err := readDataset(d.Path, workload.ReadCustom)
	if err != nil {
		return nil, nil, err
	}
	c := workload.VLLMCustom{N: d.NumPrompts, Rows: rows, OutputLen: outputLen, Seed: uint64(d.Seed), NoShuffle: d.DisableShuffle, Shortage: shortage, IDPrefix: idPrefix}
	if !d.SkipChatTemplate && tok.Tokenizer != nil {
		if c.Template, err = tok.template(d.ChatTemplateKwargs); err != nil {
			return nil, nil, err
		}
	}
	return c, nil, nil
}

func (o *benchServeOptions) sonnet(tok servedTokens, idPrefix string) (workload.Dataset, []string, error) {
	d := o.Dataset
	if o.HarnessVersion != string(workload.August2026) {
		return nil, nil, usageError("--harness-version 2026-08", "--dataset-name sonnet: vLLM 0.33.0 no longer has it")
	}
	lines, err := readDataset(d.Path, workload.ReadLines)
	if err != nil {
		return nil, nil, err
	}
	template, err := tok.template(d.ChatTemplateKwargs)
	if err != nil {
		return nil, nil, err
	}
	return workload.VLLMSonnet{N: d.NumPrompts, Lines: lines, InputLen: orElse(d.InputLen, d.Sonnet.InputLen), OutputLen: orElse(d.OutputLen, d.Sonnet.OutputLen),
		PrefixLen: d.Sonnet.PrefixLen, Template: template, Templated: o.Server.Backend != "openai-chat", Version: workload.Version(o.HarnessVersion), IDPrefix: idPrefix}, nil, nil
}

func (o *benchServeOptions) timedTrace(idPrefix string) (workload.Dataset, []string, error) {
	d, t := o.Dataset, o.Dataset.Trace
	labels := workload.TraceLabels{Timestamp: t.TimestampLabel, InputLength: t.InputLabel, OutputLength: t.OutputLabel, HashIDs: t.HashLabel}
	rows, err := readDataset(d.Path, func(r io.Reader) ([]workload.TraceRow, error) { return workload.ReadTrace(r, labels) })
	return workload.VLLMTimedTrace{N: d.NumPrompts, Rows: rows, ChunkTokens: t.ChunkTokens, SecondsPerTic: t.SecMultiplier, Seed: uint64(d.Seed), IDPrefix: idPrefix}, nil, err
}

func (o *benchServeOptions) sglangDataset(tok servedTokens) (workload.Dataset, []string, error) {
	d := o.Dataset
	switch d.Name {
	case "random", "random-ids":
		ratio, _, err := o.rangeRatio()
		if err != nil {
			return nil, nil, err
		}
		r := workload.SGLangRandom{N: d.NumPrompts, InputLen: d.RandomInputLen, OutputLen: d.RandomOutputLen, Ratio: ratio, SendIDs: d.SendIDs, FromSharegpt: d.Name == "random"}
		if d.Name == "random-ids" {
			return r, nil, nil
		}
		rows, warnings, err := o.conversations()
		r.Conversations = rows
		return r, warnings, err
	case "generated-shared-prefix":
		g := d.Shared
		alpha, key := 0.0, ""
		if g.ZipfAlpha != nil {
			alpha = *g.ZipfAlpha
		}
		if g.RoutingKey {
			key = fmt.Sprintf("lathe-%d", d.Seed)
		}
		return workload.SGLangSharedPrefix{Groups: g.Groups, PerGroup: g.PerGroup, SystemLen: g.SystemLen, QuestLen: g.QuestionLen, OutputLen: g.OutputLen,
			Ratio: g.Ratio, Turns: g.Turns, Ordered: g.Ordered, Fast: g.FastPrepare, SendIDs: d.SendIDs, ZipfAlpha: alpha, Seed: uint64(d.Seed), RoutingKey: key,
			Version: workload.Version(o.HarnessVersion)}, nil, nil
	}
	s := workload.SGLangShareGPT{N: d.NumPrompts, OutputLen: orElse(d.ShareGPTOutputLen, 0), ContextLen: orElse(d.ShareGPTContextLen, 0), PromptSuffix: d.PromptSuffix}
	if d.ApplyChatTemplate {
		template, err := tok.template("")
		if err != nil {
			return nil, nil, err
		}
		s.Template, s.BOS = template, tok.bos()
	}
	var warnings []string
	var err error
	if d.Name == "custom" {
		skipped := 0
		s.Conversations, err = readDataset(d.Path, func(r io.Reader) ([]workload.Conversation, error) {
			rows, n, err := workload.ReadCustomConversations(r)
			skipped = n
			return rows, err
		})
		if skipped > 0 {
			warnings = append(warnings, fmt.Sprintf("custom dataset: %d lines are no JSON and were left out, as SGLang does", skipped))
		}
		return s, warnings, err
	}
	s.Conversations, err = readDataset(d.Path, workload.ReadConversations)
	return s, nil, err
}

// conversations are the rows that SGLang's random dataset tiles its prompts from. Without a file its
// client downloads ShareGPT; here made-up turns take its place, and the lengths stay those of the seed.
func (o *benchServeOptions) conversations() ([]workload.Conversation, []string, error) {
	if o.Dataset.Path != "" {
		rows, err := readDataset(o.Dataset.Path, workload.ReadConversations)
		return rows, nil, err
	}
	rows := make([]workload.Conversation, o.Dataset.NumPrompts)
	for i := range rows {
		turn := strings.TrimSpace(strings.Repeat(fmt.Sprintf("Question %d: what is the sum of %d and %d? ", i, 7*i, i*i%1000), 4))
		rows[i] = workload.Conversation{Row: i, First: turn, Second: turn, Plural: true}
	}
	return rows, []string{"random dataset: no --dataset-path: SGLang's client would download ShareGPT, here prompts are tiled from made-up questions; lengths and arrivals are those of the seed"}, nil
}

func (o *benchServeOptions) exactDataset(tok servedTokens, idPrefix string) (workload.Dataset, []string, error) {
	d := o.Dataset
	shortage := workload.Fail
	switch {
	case d.Oversample:
		shortage = workload.Repeat
	case d.NoOversample:
		shortage = workload.Truncate
	}
	switch d.Name {
	case "fixed":
		return workload.Fixed{N: d.NumPrompts, InputLen: orElse(d.InputLen, 1024), OutputLen: orElse(d.OutputLen, 128), Seed: uint64(d.Seed) ^ o.Used.SaltSeed, SendIDs: d.SendIDs}, nil, nil
	case "sharegpt":
		rows, err := readDataset(d.Path, workload.ReadConversations)
		return workload.VLLMShareGPT{N: d.NumPrompts, Conversations: rows, OutputLen: orElse(d.OutputLen, 0), Seed: uint64(d.Seed), NoShuffle: d.DisableShuffle,
			Shortage: shortage, IDPrefix: idPrefix}, nil, err
	case "custom":
		return o.custom(tok, orElse(d.OutputLen, 256), shortage, idPrefix)
	}
	return o.timedTrace(idPrefix)
}

// maxDatasetFile bounds a dataset's file, in bytes.
const maxDatasetFile = 8 << 30

// readDataset reads a dataset's file.
func readDataset[T any](path string, read func(io.Reader) (T, error)) (rows T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return rows, usageError("--dataset-path names it", "read dataset: %w", err)
	}
	defer f.Close()
	rows, err = read(io.LimitReader(f, maxDatasetFile))
	if err != nil {
		return rows, usageError("", "%s: %w", path, err)
	}
	return rows, nil
}

// chooseSalt decides what an exact run's prompts begin with, so that no earlier run's cache serves
// them; 0 is no salt. It stands in the capture: --salt-seed repeats it.
func (o *benchServeOptions) chooseSalt(draw func() uint64) {
	if o.Harness != harnessExact || !o.Dataset.Salt {
		return
	}
	for o.Used.SaltSeed = o.Dataset.SaltSeed; o.Used.SaltSeed == 0; {
		o.Used.SaltSeed = draw() & math.MaxInt64
	}
}

// salted puts the salt in front of prompts that come from a file; made-up ones are drawn with it.
func (o *benchServeOptions) salted(set workload.Set, tok servedTokens) (workload.Set, error) {
	if o.Used.SaltSeed == 0 || o.Dataset.Name == "fixed" || tok.Tokenizer == nil {
		return set, nil
	}
	set, err := workload.Salt(set, o.Used.SaltSeed, tok.Tokenizer)
	if err != nil {
		return set, usageError("--no-salt sends prompts as they are", "%w", err)
	}
	return set, nil
}

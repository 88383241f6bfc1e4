package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"lathe/bench/step"
	"lathe/engine/llama"
	"lathe/third_party/smollm2"
)

// modelFacts is what model info --format json prints: the shape, and what a decode step of this
// batch and context cannot avoid.
type modelFacts struct {
	Model        string     `json:"model"`
	Preset       string     `json:"preset,omitempty"`
	Shape        shapeFacts `json:"shape"`
	Parameters   int64      `json:"parameters"`
	WeightBytes  int64      `json:"weight_bytes"` // at 2 bytes an element
	KVTokenBytes int64      `json:"kv_bytes_per_token"`
	BatchSize    int        `json:"batch_size"`
	ContextLen   int        `json:"context_len"` // the new token included
	KVCacheDtype string     `json:"kv_cache_dtype"`
	Step         stepFacts  `json:"decode_step"`
}

// shapeFacts are the hyper-parameters, named as config.json does.
type shapeFacts struct {
	Architecture string  `json:"architecture"`
	Layers       int     `json:"num_hidden_layers"`
	Hidden       int     `json:"hidden_size"`
	QHeads       int     `json:"num_attention_heads"`
	KVHeads      int     `json:"num_key_value_heads"`
	HeadDim      int     `json:"head_dim"`
	FFN          int     `json:"intermediate_size"`
	Vocab        int     `json:"vocab_size"`
	Tied         bool    `json:"tie_word_embeddings"`
	MaxPosition  int     `json:"max_position_embeddings"`
	RMSEps       float64 `json:"rms_norm_eps"`
	RopeTheta    float64 `json:"rope_theta"`
	RopeType     string  `json:"rope_type"` // default | linear | llama3
	DType        string  `json:"dtype"`
}

func shapeOf(c llama.Config) shapeFacts {
	rope := c.RopeScaling.Type
	if rope == llama.RopeDefault {
		rope = "default"
	}
	return shapeFacts{Architecture: c.Architecture, Layers: c.Layers, Hidden: c.Hidden, QHeads: c.QHeads, KVHeads: c.KVHeads, HeadDim: c.HeadDim,
		FFN: c.FFN, Vocab: c.Vocab, Tied: c.Tied, MaxPosition: c.MaxPosition, RMSEps: c.RMSEps, RopeTheta: c.RopeTheta, RopeType: rope, DType: c.DType}
}

// stepFacts are the parts of llama.StepBytes and llama.StepFLOPs.
type stepFacts struct {
	WeightBytes    int64 `json:"weight_bytes"`
	KVReadBytes    int64 `json:"kv_read_bytes"`
	KVWriteBytes   int64 `json:"kv_write_bytes"`
	EmbeddingBytes int64 `json:"embedding_bytes"`
	LogitsBytes    int64 `json:"logits_bytes"`
	Bytes          int64 `json:"bytes"`
	LinearFLOPs    int64 `json:"linear_flops"`
	AttentionFLOPs int64 `json:"attention_flops"`
	FLOPs          int64 `json:"flops"`
}

// runModelInfo does model info. It reads the shape only, so a hub id of the table will do.
func runModelInfo(_ context.Context, app *application, o modelInfoOptions) error {
	source, err := resolveModel(o.Model, "auto", true)
	if err != nil {
		return err
	}
	if o.BatchSize > step.MaxBatch {
		return usageError("", "--batch-size: %d: must be at most %d", o.BatchSize, step.MaxBatch)
	}
	if limit := source.config.MaxPosition; o.ContextLen > limit {
		return usageError("--context-len names another", "--context-len: %d: the model has %d positions", o.ContextLen, limit)
	}
	f := describeModel(source, o)
	if o.Format == "json" {
		return printJSON(app.term.out, f)
	}
	_, err = app.term.out.Write([]byte(f.text(source.config)))
	return err
}

func describeModel(source modelSource, o modelInfoOptions) modelFacts {
	cfg, kv := source.config, 2
	if o.KVCacheDtype == "f32" {
		kv = 4
	}
	b, fl := cfg.StepBytes(o.BatchSize, o.ContextLen, kv), cfg.StepFLOPs(o.BatchSize, o.ContextLen)
	return modelFacts{Model: source.name, Preset: source.preset, Shape: shapeOf(cfg), Parameters: cfg.Params(), WeightBytes: cfg.WeightBytes(2),
		KVTokenBytes: cfg.KVBytesPerToken(kv), BatchSize: o.BatchSize, ContextLen: o.ContextLen, KVCacheDtype: o.KVCacheDtype,
		Step: stepFacts{WeightBytes: b.Weights, KVReadBytes: b.KVRead, KVWriteBytes: b.KVWrite, EmbeddingBytes: b.Embedding,
			LogitsBytes: b.Logits, Bytes: b.Total(), LinearFLOPs: fl.Linear, AttentionFLOPs: fl.Attention, FLOPs: fl.Total()}}
}

func (f modelFacts) text(c llama.Config) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	s := f.Step
	head := "its own"
	if c.Tied {
		head = "tied to the embedding"
	}
	row("model", "%s", f.Model)
	row("layers", "%d", c.Layers)
	row("hidden", "%d", c.Hidden)
	row("heads", "%d query, %d key/value, %d wide", c.QHeads, c.KVHeads, c.HeadDim)
	row("feed-forward", "%d", c.FFN)
	row("vocabulary", "%d, head %s", c.Vocab, head)
	row("positions", "%d, RoPE theta %g%s", c.MaxPosition, c.RopeTheta, scaling(c))
	row("parameters", "%d", f.Parameters)
	row("weights", "%d B in 2 bytes an element", f.WeightBytes)
	row("KV", "%d B a token in %s", f.KVTokenBytes, f.KVCacheDtype)
	row("decode step", "batch %d, context %d (the new token included)", f.BatchSize, f.ContextLen)
	row("  weights read", "%d B", s.WeightBytes)
	row("  KV read", "%d B", s.KVReadBytes)
	row("  KV written", "%d B", s.KVWriteBytes)
	row("  embedding rows", "%d B", s.EmbeddingBytes)
	row("  logits", "%d B", s.LogitsBytes)
	row("  bytes", "%d B", s.Bytes)
	row("  linear", "%d FLOP", s.LinearFLOPs)
	row("  attention", "%d FLOP", s.AttentionFLOPs)
	row("  FLOP per byte", "%.2f", float64(s.FLOPs)/float64(s.Bytes))
	w.Flush()
	return b.String()
}

func scaling(c llama.Config) string {
	if c.RopeScaling.Type == llama.RopeDefault {
		return ""
	}
	return fmt.Sprintf(", scaling %s by %g", c.RopeScaling.Type, c.RopeScaling.Factor)
}

// runModelFetch does model fetch: the directory is the last line on stdout.
func runModelFetch(ctx context.Context, app *application, o modelFetchOptions) error {
	cache, err := app.cacheDir()
	if err != nil {
		return err
	}
	if app.dryRun {
		dir, complete := smollm2.Dir(cache)
		state := "93 MB to download, 272 MB to keep"
		if complete {
			state = "there already"
		}
		app.term.say("%s: %s", o.Name, state)
		_, err = fmt.Fprintln(app.term.out, dir)
		return err
	}
	dir, err := smollm2.Fetch(ctx, cache, func(line string) { app.term.say("%s", line) })
	if err != nil {
		return usageError("a package index must be reachable by python3 -m pip; "+envCache+" names another cache", "%w", err)
	}
	_, err = fmt.Fprintln(app.term.out, dir)
	return err
}

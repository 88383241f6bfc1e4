package main

import "github.com/spf13/cobra"

// modelInfoOptions are the flags of model info.
type modelInfoOptions struct {
	Model        string // directory or preset:NAME
	BatchSize    int
	ContextLen   int // tokens of a sequence, the new one included
	KVCacheDtype string
	Format       string // text | json
}

const modelInfoExample = `  lathe model info preset:llama-3-8b --batch-size 8 --context-len 1024`

func newModelInfoCommand(app *application) *cobra.Command {
	var o modelInfoOptions
	cmd := &cobra.Command{
		Use:     "info DIR|preset:NAME",
		Short:   "Shapes of a model, bytes and FLOPs of a decode step",
		Example: modelInfoExample,
		Args:    oneArgument("a model directory or preset:NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Model = args[0]
			return runModelInfo(cmd.Context(), app, o)
		},
		ValidArgs: presetNames(),
	}
	fs := cmd.Flags()
	wholeVar(fs, &o.BatchSize, "batch-size", 1, 1, "sequences of the step")
	wholeVar(fs, &o.ContextLen, "context-len", 1024, 1, "tokens a sequence, the new one included")
	kv := choiceVar(fs, &o.KVCacheDtype, "kv-cache-dtype", "bf16", kvTypes(), "type of the KV pages")
	kv.accepts = map[string]string{"auto": "bf16", "bfloat16": "bf16", "float32": "f32"}
	choiceVar(fs, &o.Format, "format", "text", []string{"text", "json"}, "form of the result")
	return cmd
}

// modelFetchOptions are the arguments of model fetch.
type modelFetchOptions struct {
	Name string
}

const modelFetchExample = `  lathe model fetch smollm2-135m`

func newModelFetchCommand(app *application) *cobra.Command {
	var o modelFetchOptions
	return &cobra.Command{
		Use:     "fetch smollm2-135m",
		Short:   "Put the small real model into the cache; its directory is the last line printed",
		Example: modelFetchExample,
		Args:    oneArgument("a model name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			if o.Name != smallModel {
				return usageError("lathe model fetch "+smallModel, "model fetch: %s: only %s can be fetched", o.Name, smallModel)
			}
			return runModelFetch(cmd.Context(), app, o)
		},
		ValidArgs: []string{smallModel},
	}
}

const smallModel = "smollm2-135m"

package main

import "github.com/spf13/cobra"

// generateOptions are the flags of generate.
type generateOptions struct {
	Engine    engineOptions `json:"engine"`
	Prompt    string        `json:"prompt"`
	PromptIDs string        `json:"prompt_ids"` // file: a JSON list of lists of token ids, or one list
	MaxTokens int           `json:"max_tokens"`
	Format    string        `json:"format"` // text | json
	TopLogits bool          `json:"top_logits"`
	IgnoreEOS bool          `json:"ignore_eos"`
	Chat      bool          `json:"chat"` // the prompt is a user's turn of the model's chat template
}

const generateExample = `  lathe generate "Once upon a time" --model preset:tiny --max-tokens 8`

func newGenerateCommand(app *application) *cobra.Command {
	var o generateOptions
	cmd := &cobra.Command{
		Use:     "generate [PROMPT]",
		Short:   "Continue a prompt greedily: the way to see that an engine is right",
		Example: generateExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("quote the prompt", "unexpected argument: %q: one prompt is taken", args[1])
			}
			if len(args) == 1 {
				o.Prompt = args[0]
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return runGenerate(cmd.Context(), app, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.PromptIDs, "prompt-ids", "", "JSON file with lists of token ids, in place of the prompt")
	wholeVar(fs, &o.MaxTokens, "max-tokens", 64, 1, "tokens to generate")
	choiceVar(fs, &o.Format, "format", "text", []string{"text", "json"}, "form of the result")
	fs.BoolVar(&o.TopLogits, "top-logits", false, "the five largest logits of each step (json)")
	fs.BoolVar(&o.Chat, "chat", false, "take the prompt as a user's turn of the model's chat template")
	fs.BoolVar(&o.IgnoreEOS, "ignore-eos", false, "go on after an end-of-sequence token")
	addEngineFlags(cmd, &o.Engine, app.defaultBackend())
	return cmd
}

// Validate checks what can be checked without opening a file.
func (o *generateOptions) Validate() error {
	switch {
	case o.Prompt == "" && o.PromptIDs == "":
		return usageError(`lathe generate "Once upon a time" --model preset:tiny`, "generate: needs a prompt or --prompt-ids FILE")
	case o.Prompt != "" && o.PromptIDs != "":
		return usageError("", "generate: a prompt and --prompt-ids exclude each other")
	case o.TopLogits && o.Format != "json":
		return usageError("", "--top-logits: needs --format json")
	}
	return o.Engine.Validate()
}

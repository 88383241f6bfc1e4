package main

import (
	"math"

	"github.com/spf13/pflag"
)

// addSGLangServingFlags declares the flags of SGLang's benchmark.serving.
func addSGLangServingFlags(fs *pflag.FlagSet, o *benchServeOptions) {
	s := &o.Server
	fs.StringVar(&s.Backend, "backend", "sglang", "protocol: sglang, sglang-native, sglang-oai, vllm, lmdeploy, and the last three with -chat")
	addServerFlags(fs, s, "0.0.0.0")
	wordsVar(fs, &s.Headers, repeatFlag, "header", "KEY=VALUE: further header fields")
	wholeVar(fs, &s.ReadySeconds, "ready-check-timeout-sec", 60, 0, "wait this long for /v1/models to answer; 0: do not")
	wholeVar(fs, &o.Dataset.Seed, "seed", 42, 0, "seed of prompts and arrivals")
	unboundedVar(fs, &o.Traffic.RequestRate, "request-rate", math.Inf(1), "requests a second of a Poisson process; inf: all at once")
	optionalWholeVar(fs, &o.Traffic.MaxConcurrency, "max-concurrency", 0, "permits of the client's semaphore; 0: no limit")
	fs.BoolVar(&o.Traffic.TraceTimestamps, "use-trace-timestamps", false, "call the rate \"trace\" in the report, as SGLang's client does with it and nothing else")
	addSGLangDatasetFlags(fs, &o.Dataset)
	addSharedPrefixFlags(fs, &o.Dataset.Shared)
	addSGLangBodyFlags(fs, &o.Body)
	addSGLangAroundFlags(fs, &o.Around)
	r := &o.Result
	fs.StringVar(&r.OutputFile, "output-file", "", "result file, a line is appended (default: SGLang's name)")
	fs.BoolVar(&r.OutputDetails, "output-details", false, "with lists a request in it")
	fs.BoolVar(&r.CacheReport, "cache-report", false, "report the prompt tokens from the server's prefix cache; sglang-oai, sglang-oai-chat: ask for them")
	optionalTextVar(fs, &r.Tag, "tag", "tag of the result")
	wordsVar(fs, &r.Goodput, repeatFlag, "goodput", "objectives in ms: ttft:100 tpot:20 e2el:500")
}

func addSGLangDatasetFlags(fs *pflag.FlagSet, d *servedDataset) {
	fs.StringVar(&d.Name, "dataset-name", "sharegpt", "sharegpt, custom, random, random-ids, generated-shared-prefix")
	fs.StringVar(&d.Path, "dataset-path", "", "file of the dataset")
	wholeVar(fs, &d.NumPrompts, "num-prompts", 1000, 1, "requests")
	optionalWholeVar(fs, &d.ShareGPTOutputLen, "sharegpt-output-len", 1, "sharegpt, custom: output tokens (default: as the file's answer)")
	optionalWholeVar(fs, &d.ShareGPTContextLen, "sharegpt-context-len", 1, "sharegpt, custom: longest prompt and answer together")
	wholeVar(fs, &d.RandomInputLen, "random-input-len", 1024, 0, "random, random-ids: longest prompt in tokens")
	wholeVar(fs, &d.RandomOutputLen, "random-output-len", 1024, 0, "random, random-ids: longest output in tokens")
	fs.StringVar(&d.RandomRangeRatio, "random-range-ratio", "0.0", "random, random-ids: shortest length as a share of the longest; 1 fixes it")
	fs.StringVar(&d.PromptSuffix, "prompt-suffix", "", "sharegpt, custom: text behind every prompt")
	fs.BoolVar(&d.ApplyChatTemplate, "apply-chat-template", false, "sharegpt, custom: render prompts with the model's chat template")
	fs.BoolVar(&d.SendIDs, "tokenize-prompt", false, "send token ids instead of text (backend sglang)")
}

func addSharedPrefixFlags(fs *pflag.FlagSet, g *servedShared) {
	wholeVar(fs, &g.Groups, "gsp-num-groups", 64, 1, "generated-shared-prefix: system prompts")
	wholeVar(fs, &g.PerGroup, "gsp-prompts-per-group", 16, 1, "generated-shared-prefix: requests of each")
	wholeVar(fs, &g.SystemLen, "gsp-system-prompt-len", 2048, 0, "generated-shared-prefix: tokens of a system prompt")
	wholeVar(fs, &g.QuestionLen, "gsp-question-len", 128, 0, "generated-shared-prefix: tokens of a question")
	wholeVar(fs, &g.OutputLen, "gsp-output-len", 256, 1, "generated-shared-prefix: output tokens")
	realVar(fs, &g.Ratio, "gsp-range-ratio", 1, 0, "generated-shared-prefix: shortest length as a share of the longest")
	fs.BoolVar(&g.FastPrepare, "gsp-fast-prepare", false, "generated-shared-prefix: do not count prompt tokens")
	fs.BoolVar(&g.RoutingKey, "gsp-send-routing-key", false, "generated-shared-prefix: send a routing key a group")
	wholeVar(fs, &g.Turns, "gsp-num-turns", 1, 1, "generated-shared-prefix: turns of a conversation")
	fs.BoolVar(&g.Ordered, "gsp-ordered", false, "generated-shared-prefix: do not shuffle")
	choiceVar(fs, &g.Distribution, "gsp-group-distribution", "uniform", []string{"uniform", "zipf"}, "generated-shared-prefix: how groups are chosen")
	optionalRealVar(fs, &g.ZipfAlpha, "gsp-zipf-alpha", 0, "generated-shared-prefix: exponent of zipf")
}

func addSGLangBodyFlags(fs *pflag.FlagSet, b *servedBody) {
	zero, one := 0.0, 1.0
	b.Temperature, b.TopP = &zero, &one
	optionalRealVar(fs, &b.Temperature, "temperature", 0, "sampling temperature of the native backend (the OpenAI ones get 0)")
	optionalRealVar(fs, &b.TopP, "top-p", 0, "nucleus sampling of the native backend")
	fs.BoolVar(&b.DisableIgnoreEOS, "disable-ignore-eos", false, "let the server stop at an end-of-text token")
	fs.BoolVar(&b.DisableStream, "disable-stream", false, "ask for whole answers")
	fs.BoolVar(&b.ReturnLogProb, "return-logprob", false, "ask for log probabilities")
	wholeVar(fs, &b.TopLogProbs, "top-logprobs-num", 0, 0, "best tokens whose log probabilities are asked for")
	wholesVar(fs, &b.TokenIDsLogProb, "token-ids-logprob", nil, 0, "token ids whose log probabilities are asked for")
	wholeVar(fs, &b.LogProbStartLen, "logprob-start-len", -1, -1, "first prompt token whose log probability is asked for")
	fs.BoolVar(&b.ReturnRoutedExperts, "return-routed-experts", false, "ask which experts ran")
	fs.StringVar(&b.Extra, "extra-request-body", "", "JSON object of further fields of every request")
	wordsVar(fs, &b.LoRA, repeatFlag, "lora-name", "adapters, one of them named in each request")
	choiceVar(fs, &b.LoRAAssignment, "lora-request-distribution", "uniform", []string{"uniform", "distinct"}, "which adapter a request names")
}

func addSGLangAroundFlags(fs *pflag.FlagSet, a *servedAround) {
	wholeVar(fs, &a.Warmups, "warmup-requests", 1, 0, "requests before the run, all with the first prompt")
	fs.BoolVar(&a.FlushCache, "flush-cache", false, "empty the server's prefix cache before the run")
	positiveRealVar(fs, &a.FlushCacheLimit, "flush-cache-timeout", 60, "seconds that the server may take for it")
	fs.BoolVar(&a.Profile, "profile", false, "start and stop the server's profiler around the run")
	p := &a.ProfileOptions
	p.Activities = []string{"CPU", "GPU"}
	wordsVar(fs, &p.Activities, repeatFlag, "profile-activities", "what the profiler records")
	optionalWholeVar(fs, &p.NumSteps, "profile-num-steps", 1, "steps that the profiler records")
	optionalWholeVar(fs, &p.Steps, "profile-steps", 1, "steps after which it stops of itself")
	optionalWholeVar(fs, &p.StartStep, "profile-start-step", 0, "first step that it records")
	fs.BoolVar(&p.ByStage, "profile-by-stage", false, "prefill and decode apart")
	wordsVar(fs, &p.Stages, repeatFlag, "profile-stages", "stages that it records")
	fs.StringVar(&p.OutputDir, "profile-output-dir", "", "folder on the server")
	fs.StringVar(&p.Prefix, "profile-prefix", "", "beginning of its files' names")
}

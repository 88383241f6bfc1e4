package main

import (
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lathe/bench/serving"
)

const benchServeExample = `  lathe bench serve --model preset:tiny --num-prompts 8 --random-input-len 16 --request-rate 4 --dry-run --format json
  lathe bench serve --harness sglang --model preset:tiny --dataset-name random-ids --num-prompts 8 --dry-run`

const benchServeLong = `Load a server and read what came in three semantics.

--harness chooses whose flags, defaults, connections, arrivals, printed block and result file are meant: vllm (bench
serve of vLLM), sglang (benchmark.serving of SGLang) or exact (ours). Whichever it is, one capture keeps every socket
read with its time, and the table behind the block is all three readings of it. This page shows the flags of one
harness; --harness sglang --help shows those of another.`

// harnessAnnotation is where a command keeps whose flags it has.
const harnessAnnotation = "harness"

func newBenchServeCommand(app *application) *cobra.Command {
	cmd, _ := benchServeCommand(app)
	return cmd
}

// benchServeCommand is the command and the options that its flags fill in.
func benchServeCommand(app *application) (*cobra.Command, *benchServeOptions) {
	o := &benchServeOptions{Harness: harnessIn(app.argv)}
	cmd := &cobra.Command{
		Use:         "serve",
		Short:       "Load a server as vLLM's or SGLang's client does, or exactly; one capture, every semantics",
		Long:        benchServeLong,
		Example:     benchServeExample,
		Args:        noArguments,
		Annotations: map[string]string{harnessAnnotation: o.Harness},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Server.SelfCheck {
				if err := o.selfCheckDefaults(cmd.Flags().Changed); err != nil {
					return err
				}
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return runBenchServe(cmd.Context(), app, *o)
		},
	}
	fs := cmd.Flags()
	choiceVar(fs, &o.Harness, "harness", o.Harness, harnessNames(), "whose flags, traffic and report are meant")
	choiceVar(fs, &o.HarnessVersion, "harness-version", string(serving.Latest), versionNames(), "state of the two harnesses that is meant")
	switch o.Harness {
	case harnessSGLang:
		addSGLangServingFlags(fs, o)
	case harnessExact:
		addExactServingFlags(fs, o)
	default:
		addVLLMServingFlags(fs, o)
	}
	addServedFlags(fs, o)
	return cmd, o
}

func harnessNames() []string { return []string{harnessVLLM, harnessSGLang, harnessExact} }

// harnessIn finds the value of --harness in a command line that is not parsed yet: it decides which
// flags there are.
func harnessIn(argv []string) string {
	for i, arg := range argv {
		value, inline := strings.CutPrefix(arg, "--harness=")
		if arg == "--harness" && i+1 < len(argv) {
			value, inline = argv[i+1], true
		}
		if inline && slices.Contains(harnessNames(), value) {
			return value
		}
	}
	return harnessVLLM
}

// addServedFlags declares what is ours in every harness.
func addServedFlags(fs *pflag.FlagSet, o *benchServeOptions) {
	proxy := map[string]string{harnessVLLM: proxyEnv, harnessSGLang: proxyNone, harnessExact: proxyNone}[o.Harness]
	fs.StringVar(&o.Server.Proxy, "proxy", proxy, "env, none, or the URL of a proxy; loopback addresses are reached straight under env")
	spanVar(fs, &o.Traffic.Duration, "duration", 0, "send nothing after this time; 0: until all are sent")
	spanVar(fs, &o.Traffic.Drain, "drain", 0, "how long requests may go on after --duration")
	fs.StringVar(&o.Result.Raw, "raw", "", "capture (default: lathe-runs/TIME-bench-serve.jsonl)")
	fs.BoolVar(&o.Result.Strict, "strict", false, "exit 1 if a request failed, or if the client was the bottleneck")
	wholeVar(fs, &o.Result.Repeat, "repeat", 1, 1, "run it so many times, a numbered capture each: the median of the runs, and whether they are stable")
	realVar(fs, &o.Result.RepeatLimit, "repeat-limit", defaultRepeatLimit, 1, "greatest over least of a figure above which --repeat calls the runs unstable; --strict fails them")
	choiceVar(fs, &o.Result.Format, "format", "text", []string{"text", "json"}, "form of the report, and of --dry-run")
}

// Values of --proxy.
const (
	proxyEnv  = "env"
	proxyNone = "none"
)

// addVLLMServingFlags declares the flags of vLLM's bench serve.
func addVLLMServingFlags(fs *pflag.FlagSet, o *benchServeOptions) {
	s := &o.Server
	fs.StringVar(&s.Backend, "backend", "openai", "protocol: openai, vllm, openai-chat, openai-responses")
	addServerFlags(fs, s, "127.0.0.1")
	fs.StringVar(&s.Endpoint, "endpoint", "/v1/completions", "path of the API")
	wordsVar(fs, &s.Headers, repeatFlag, "header", "KEY=VALUE: further header fields")
	fs.BoolVar(&s.SkipTokenizer, "skip-tokenizer-init", false, "run without a tokenizer")
	fs.BoolVar(&s.Insecure, "insecure", false, "do not verify the server's certificate")
	wholeVar(fs, &s.ReadySeconds, "ready-check-timeout-sec", 0, 0, "wait this long for the first prompt to be answered; 0: do not")
	wholeVar(fs, &o.Dataset.Seed, "seed", 0, 0, "seed of prompts and arrivals")
	addVLLMTrafficFlags(fs, o)
	addVLLMDatasetFlags(fs, &o.Dataset)
	addSamplingFlags(fs, &o.Body)
	addVLLMResultFlags(fs, o)
}

func addServerFlags(fs *pflag.FlagSet, s *servedServer, host string) {
	fs.StringVar(&s.BaseURL, "base-url", "", "http://host:port, instead of --host and --port")
	fs.StringVar(&s.Host, "host", host, "server's host")
	optionalWholeVar(fs, &s.Port, "port", 1, "server's port (default: the backend's)")
	fs.StringVar(&s.Model, "model", "", "model as the server names it; a directory or preset:NAME brings its tokenizer (default: the server's first)")
	fs.StringVar(&s.ServedModelName, "served-model-name", "", "name that requests carry (default: --model)")
	fs.StringVar(&s.Tokenizer, "tokenizer", "", "directory or tokenizer.json, preset:NAME, name:chars, name:words, name:bytes, none (default: the model's)")
	fs.BoolVar(&s.DisableProgress, "disable-tqdm", false, "no progress line")
}

func addVLLMTrafficFlags(fs *pflag.FlagSet, o *benchServeOptions) {
	t := &o.Traffic
	unboundedVar(fs, &t.RequestRate, "request-rate", math.Inf(1), "requests a second; inf: all at once")
	unboundedVar(fs, &t.Burstiness, "burstiness", 1, "shape of the gamma law of the gaps: 1 is Poisson, inf constant")
	realVar(fs, &t.ProbeRate, "probe-request-rate", 0, 0, "probes beside the run, one a time outside its semaphore, so many a second less the time that each takes; 0: none")
	optionalWholeVar(fs, &t.MaxConcurrency, "max-concurrency", math.MinInt, "permits of the client's semaphore")
	choiceVar(fs, &t.RampUp, "ramp-up-strategy", "", []string{"linear", "exponential"}, "raise the rate during the run")
	optionalWholeVar(fs, &t.RampStart, "ramp-up-start-rps", math.MinInt, "first rate of a ramp")
	optionalWholeVar(fs, &t.RampEnd, "ramp-up-end-rps", math.MinInt, "last rate of a ramp")
	optionalSwitchVar(fs, &t.SelfTimed, "self-timed", "send timed_trace at the times of its rows (the default for it)")
	wholeVar(fs, &o.Around.Warmups, "num-warmups", 0, 0, "requests before the run, all with the first prompt")
	fs.BoolVar(&o.Around.Profile, "profile", false, "start and stop the server's profiler around the run")
	wordsVar(fs, &o.Body.LoRA, repeatFlag, "lora-modules", "adapters, one of them named in each request")
	choiceVar(fs, &o.Body.LoRAAssignment, "lora-assignment", "random", []string{"random", "round-robin"}, "which adapter a request names")
}

func addVLLMDatasetFlags(fs *pflag.FlagSet, d *servedDataset) {
	fs.StringVar(&d.Name, "dataset-name", "random", "random, sharegpt, custom, prefix_repetition, burstgpt, timed_trace, sonnet (2026-08)")
	fs.StringVar(&d.Path, "dataset-path", "", "file of the dataset")
	wholeVar(fs, &d.NumPrompts, "num-prompts", 1000, 1, "requests")
	optionalWholeVar(fs, &d.InputLen, "input-len", 0, "prompt tokens, of whichever dataset takes them")
	optionalWholeVar(fs, &d.OutputLen, "output-len", 0, "output tokens, of whichever dataset takes them")
	wholeVar(fs, &d.RandomInputLen, "random-input-len", 1024, 0, "random: prompt tokens")
	wholeVar(fs, &d.RandomOutputLen, "random-output-len", 128, 0, "random: output tokens")
	fs.StringVar(&d.RandomRangeRatio, "random-range-ratio", "0.0", `random: lengths vary by this share, 0 to below 1, or {"input":R,"output":R}`)
	wholeVar(fs, &d.RandomPrefixLen, "random-prefix-len", 0, 0, "random: tokens that all prompts begin with")
	optionalWholeVar(fs, &d.ShareGPTOutputLen, "sharegpt-output-len", 1, "sharegpt: output tokens (default: as the file's answer)")
	wholeVar(fs, &d.CustomOutputLen, "custom-output-len", 256, -1, "custom: output tokens; -1: as the line says")
	fs.BoolVar(&d.SkipChatTemplate, "skip-chat-template", false, "custom: send prompts as they are")
	fs.StringVar(&d.ChatTemplateKwargs, "chat-template-kwargs", "", "custom: JSON object of variables of the chat template")
	fs.BoolVar(&d.DisableShuffle, "disable-shuffle", false, "keep the order of the file")
	fs.BoolVar(&d.NoOversample, "no-oversample", false, "send fewer requests where the file has fewer rows")
	wholeVar(fs, &d.Prefix.PrefixLen, "prefix-repetition-prefix-len", 256, 0, "prefix_repetition: shared tokens")
	wholeVar(fs, &d.Prefix.SuffixLen, "prefix-repetition-suffix-len", 256, 0, "prefix_repetition: own tokens")
	wholeVar(fs, &d.Prefix.NumPrefixes, "prefix-repetition-num-prefixes", 10, 1, "prefix_repetition: groups")
	wholeVar(fs, &d.Prefix.OutputLen, "prefix-repetition-output-len", 128, 1, "prefix_repetition: output tokens")
	wholeVar(fs, &d.Sonnet.InputLen, "sonnet-input-len", 550, 1, "sonnet (2026-08): prompt tokens")
	wholeVar(fs, &d.Sonnet.OutputLen, "sonnet-output-len", 150, 1, "sonnet (2026-08): output tokens")
	wholeVar(fs, &d.Sonnet.PrefixLen, "sonnet-prefix-len", 200, 0, "sonnet (2026-08): tokens that all prompts share")
	addTraceFlags(fs, &d.Trace)
}

func addTraceFlags(fs *pflag.FlagSet, t *servedTrace) {
	wholeVar(fs, &t.ChunkTokens, "timed-trace-chunk-hash-size", 16, 1, "timed_trace: tokens that one hash stands for")
	realVar(fs, &t.SecMultiplier, "timed-trace-sec-multiplier", 1, 0, "timed_trace: seconds that 1 of a timestamp is")
	fs.StringVar(&t.TimestampLabel, "timed-trace-label-timestamp", "timestamp", "timed_trace: key of the time")
	fs.StringVar(&t.InputLabel, "timed-trace-label-input-length", "input_length", "timed_trace: key of the prompt's length")
	fs.StringVar(&t.OutputLabel, "timed-trace-label-output-length", "output_length", "timed_trace: key of the answer's length")
	fs.StringVar(&t.HashLabel, "timed-trace-label-hash-ids", "hash_ids", "timed_trace: key of the chunks' hashes")
}

func addSamplingFlags(fs *pflag.FlagSet, b *servedBody) {
	optionalWholeVar(fs, &b.LogProbs, "logprobs", 0, "log probabilities asked for")
	fs.BoolVar(&b.IgnoreEOS, "ignore-eos", false, "ask the server to go on to the full length (random and timed_trace always do)")
	optionalRealVar(fs, &b.TopP, "top-p", 0, "nucleus sampling")
	optionalWholeVar(fs, &b.TopK, "top-k", math.MinInt, "top-k sampling")
	optionalRealVar(fs, &b.MinP, "min-p", 0, "least probability relative to the best token's")
	optionalRealVar(fs, &b.Temperature, "temperature", 0, "sampling temperature (default: the server's)")
	optionalRealVar(fs, &b.FrequencyPenalty, "frequency-penalty", math.Inf(-1), "penalty by count")
	optionalRealVar(fs, &b.PresencePenalty, "presence-penalty", math.Inf(-1), "penalty by presence")
	optionalRealVar(fs, &b.RepetitionPenalty, "repetition-penalty", 0, "penalty by factor")
	fs.StringVar(&b.Extra, "extra-body", "", "JSON object of further fields of every request")
	fs.StringVar(&b.RequestIDPrefix, "request-id-prefix", "", "beginning of the x-request-id (default: bench-RANDOM-)")
}

func addVLLMResultFlags(fs *pflag.FlagSet, o *benchServeOptions) {
	r := &o.Result
	optionalTextVar(fs, &r.Label, "label", "label of the result")
	fs.BoolVar(&r.SaveResult, "save-result", false, "write vLLM's result file")
	fs.BoolVar(&r.SaveDetailed, "save-detailed", false, "with lists a request in it")
	fs.BoolVar(&r.AppendResult, "append-result", false, "append to the result file")
	wordsVar(fs, &r.Metadata, repeatFlag, "metadata", "KEY=VALUE: further keys of the result file")
	fs.StringVar(&r.ResultDir, "result-dir", "", "folder of the result file")
	fs.StringVar(&r.ResultFilename, "result-filename", "", "name of the result file")
	addPercentileFlags(fs, r)
}

func addPercentileFlags(fs *pflag.FlagSet, r *servedResult) {
	fs.StringVar(&r.PercentileMetrics, "percentile-metrics", "ttft,tpot,itl", "metrics printed and saved: ttft, tpot, itl, e2el, client_queue_time, e2el_including_client_queue")
	fs.StringVar(&r.MetricPercentiles, "metric-percentiles", "99", "percentiles of each")
	wordsVar(fs, &r.Goodput, repeatFlag, "goodput", "objectives in ms: ttft:100 tpot:20 e2el:500")
}

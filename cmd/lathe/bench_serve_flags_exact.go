package main

import (
	"math"
	"time"

	"github.com/spf13/pflag"
)

// addExactServingFlags declares the flags of our own client. Names are vLLM's where it has one.
func addExactServingFlags(fs *pflag.FlagSet, o *benchServeOptions) {
	s := &o.Server
	fs.StringVar(&s.Backend, "backend", "openai", "protocol: openai, openai-chat, openai-responses, sglang")
	addServerFlags(fs, s, "127.0.0.1")
	fs.StringVar(&s.Endpoint, "endpoint", "", "path of the API (default: the backend's)")
	wordsVar(fs, &s.Headers, repeatFlag, "header", "KEY=VALUE: further header fields")
	fs.BoolVar(&s.Insecure, "insecure", false, "do not verify the server's certificate")
	wholeVar(fs, &s.ReadySeconds, "ready-check-timeout-sec", 60, 0, "wait this long for /v1/models to answer; 0: do not")
	wholeVar(fs, &o.Dataset.Seed, "seed", 0, 0, "seed of prompts and arrivals")
	addExactTrafficFlags(fs, o)
	addExactDatasetFlags(fs, &o.Dataset)
	addSamplingFlags(fs, &o.Body)
	fs.StringVar(&o.Result.MetricPercentiles, "metric-percentiles", "50,90,99", "percentiles of each metric")
	wordsVar(fs, &o.Result.Goodput, repeatFlag, "goodput", "objectives in ms: ttft:100 tpot:20 e2el:500")
	fs.BoolVar(&s.SelfCheck, "self-check", false, "load a server built in (64 streams of 10000 frames, one each 1ms) and say what the client itself costs")
	fs.StringVar(&o.Result.OutputJSON, "output-json", "", "the report as JSON")
}

func addExactTrafficFlags(fs *pflag.FlagSet, o *benchServeOptions) {
	t := &o.Traffic
	unboundedVar(fs, &t.RequestRate, "request-rate", math.Inf(1), "requests a second; inf: all at once")
	choiceVar(fs, &t.Arrival, "arrival", "poisson", []string{"poisson", "gamma", "constant", "closed"}, "law of the arrivals; closed: --max-concurrency clients that answer and think")
	unboundedVar(fs, &t.Burstiness, "burstiness", 1, "shape of the gamma law")
	optionalWholeVar(fs, &t.MaxConcurrency, "max-concurrency", 1, "permits of the client's semaphore, or clients of a closed loop")
	spanVar(fs, &t.ThinkSeconds, "think-time", 0, "closed: pause between an answer and the next request")
	choiceVar(fs, &t.ThinkLaw, "think-law", "constant", []string{"constant", "exponential"}, "closed: law of the pause")
	spanVar(fs, &t.Timeout, "timeout", 6*time.Hour, "longest time of a request")
	wholeVar(fs, &t.Retries, "retries", 0, 0, "further tries after 429, 500, 502, 503, 504 or a refused connection; all are in the latency")
	spanVar(fs, &t.RetryWait, "retry-wait", 200*time.Millisecond, "pause before each")
	wholeVar(fs, &o.Around.Warmups, "num-warmups", 1, 0, "requests before the run, with prompts of their own")
}

func addExactDatasetFlags(fs *pflag.FlagSet, d *servedDataset) {
	fs.StringVar(&d.Name, "dataset-name", "fixed", "fixed, sharegpt, custom, timed_trace")
	fs.StringVar(&d.Path, "dataset-path", "", "file of the dataset")
	wholeVar(fs, &d.NumPrompts, "num-prompts", 1000, 1, "requests")
	optionalWholeVar(fs, &d.InputLen, "input-len", 1, "fixed: prompt tokens, exactly (default 1024)")
	optionalWholeVar(fs, &d.OutputLen, "output-len", 1, "output tokens (default: fixed 128, custom 256, sharegpt as the file's answer)")
	fs.BoolVar(&d.SendIDs, "tokenize-prompt", false, "send token ids instead of text")
	fs.BoolVar(&d.SkipChatTemplate, "skip-chat-template", false, "custom: send prompts as they are")
	fs.StringVar(&d.ChatTemplateKwargs, "chat-template-kwargs", "", "custom: JSON object of variables of the chat template")
	fs.BoolVar(&d.Oversample, "oversample", false, "repeat rows where the file has too few (default: refuse)")
	fs.BoolVar(&d.NoOversample, "no-oversample", false, "send fewer requests where the file has too few rows")
	fs.BoolVar(&d.DisableShuffle, "disable-shuffle", false, "keep the order of the file")
	addTraceFlags(fs, &d.Trace)
	fs.BoolVar(&d.Salt, "salt", true, "begin every prompt so that no earlier run's cache serves it")
	fs.Uint64Var(&d.SaltSeed, "salt-seed", 0, "repeat the salt of an earlier run; 0: a new one")
}

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lathe/bench/arrival"
	"lathe/bench/load"
	"lathe/bench/serving"
)

// Validate checks what can be checked without opening a file or asking a server.
func (o *benchServeOptions) Validate() error {
	for _, check := range []func() error{o.checkBackend, o.checkDataset, o.checkTraffic, o.checkBody, o.checkResult} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// readable checks the part that a capture is read by: a file may hold anything.
func (o *benchServeOptions) readable() error {
	if _, err := o.semantics(); err != nil {
		return usageError("", "report: the capture's options: %w", err)
	}
	if err := o.checkTraffic(); err != nil {
		return err
	}
	return o.checkResult()
}

// switches are the rules of the harnesses' version.
func (o *benchServeOptions) switches() serving.Switches {
	sw, _ := serving.SwitchesOf(serving.Version(o.HarnessVersion))
	return sw
}

// servedBackends are the protocols that a harness's client is built for here.
func servedBackends(harness string) []string {
	switch harness {
	case harnessSGLang:
		return []string{"sglang", "sglang-native", "sglang-oai", "vllm", "lmdeploy", "sglang-oai-chat", "vllm-chat", "lmdeploy-chat"}
	case harnessExact:
		return []string{"openai", "openai-chat", "openai-responses", "sglang"}
	}
	return []string{"openai", "vllm", "openai-chat", "openai-responses"}
}

func (o *benchServeOptions) checkBackend() error {
	known := servedBackends(o.Harness)
	if !slices.Contains(known, o.Server.Backend) {
		return usageError("lathe bench serve speaks "+strings.Join(known, ", "),
			"--backend %s: refused: embeddings, reranking, audio and gRPC servers stream no tokens and are not loaded", o.Server.Backend)
	}
	if o.Server.Backend == "openai-responses" && !o.switches().ResponsesBackend {
		return usageError("--harness-version 2026-11", "--backend openai-responses: not in version %s", o.HarnessVersion)
	}
	if _, err := load.VLLMHeaders(o.Server.Headers); err != nil && o.Harness != harnessSGLang {
		return usageError("", "--header: %w", err)
	}
	if o.Dataset.SendIDs && o.Harness == harnessSGLang && o.Server.Backend != "sglang" {
		return usageError("", "--tokenize-prompt: only --backend sglang takes token ids")
	}
	if o.Dataset.SendIDs && strings.HasSuffix(o.Server.Backend, "-chat") {
		return usageError("", "--tokenize-prompt: a chat is text")
	}
	if o.Dataset.Shared.Turns > 1 && o.multiTurn() && !strings.HasSuffix(o.Server.Backend, "-chat") {
		return usageError("--backend sglang-oai-chat", "--gsp-num-turns %d: conversations need a chat backend", o.Dataset.Shared.Turns)
	}
	return nil
}

func (o *benchServeOptions) checkTraffic() error {
	t := o.Traffic
	if t.MaxConcurrency != nil && *t.MaxConcurrency <= 0 && o.Harness == harnessVLLM {
		if *t.MaxConcurrency < 0 || !o.switches().ZeroIsUnlimited {
			return usageError("", "--max-concurrency: %d: must be greater than 0", *t.MaxConcurrency)
		}
	}
	if t.Drain > 0 && t.Duration == 0 {
		return usageError("--duration 30s --drain 5s", "--drain: without --duration there is nothing to drain")
	}
	if t.Arrival == "closed" && t.MaxConcurrency == nil {
		return usageError("--max-concurrency 16", "--arrival closed: needs the number of clients")
	}
	if t.Arrival == "closed" && !math.IsInf(float64(t.RequestRate), 1) {
		return usageError("--think-time paces its clients", "--request-rate: %v: the clients of --arrival closed send when they are answered", t.RequestRate)
	}
	if t.RampUp == "" && (t.RampStart != nil || t.RampEnd != nil) {
		return usageError("--ramp-up-strategy linear", "--ramp-up-start-rps, --ramp-up-end-rps: a ramp needs its strategy")
	}
	if t.RampUp != "" && (t.RampStart == nil || t.RampEnd == nil) {
		return usageError("", "--ramp-up-strategy %s: needs --ramp-up-start-rps and --ramp-up-end-rps", t.RampUp)
	}
	if t.RampUp == string(arrival.LinearRamp) && *t.RampStart == 0 {
		return usageError("--ramp-up-start-rps 1", "--ramp-up-start-rps: 0: at 0 requests/s the first is never due")
	}
	if o.Harness == harnessVLLM {
		if err := o.vllmArrivals(1).Validate(); err != nil {
			return usageError("", "%w", err)
		}
	}
	if timed := o.Dataset.Name == "timed_trace"; t.SelfTimed != nil && !timed {
		return usageError("", "--self-timed: only the rows of timed_trace have times")
	}
	return nil
}

// vllmArrivals are the flags that make vLLM's schedule of n requests.
func (o *benchServeOptions) vllmArrivals(n int) arrival.VLLM {
	t := o.Traffic
	v := arrival.VLLM{N: n, Rate: float64(t.RequestRate), Burstiness: float64(t.Burstiness), Ramp: arrival.Strategy(t.RampUp)}
	if t.RampStart != nil && t.RampEnd != nil {
		v.Start, v.End = *t.RampStart, *t.RampEnd
	}
	return v
}

func (o *benchServeOptions) checkBody() error {
	flag := map[string]string{harnessSGLang: "--extra-request-body"}[o.Harness]
	if flag == "" {
		flag = "--extra-body"
	}
	if err := jsonObject(flag, o.Body.Extra); err != nil {
		return err
	}
	if err := jsonObject("--chat-template-kwargs", o.Dataset.ChatTemplateKwargs); err != nil {
		return err
	}
	if o.Body.LoRAAssignment == "distinct" && len(o.Body.LoRA) < 2 {
		return usageError("", "--lora-request-distribution distinct: needs more than one --lora-name")
	}
	return nil
}

func jsonObject(flag, text string) error {
	if text == "" {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return usageError(`a JSON object, such as '{"top_k": 5}'`, "%s: %s: is no JSON object", flag, text)
	}
	return nil
}

func (o *benchServeOptions) checkResult() error {
	r := o.Result
	for _, m := range r.Metadata {
		if !strings.Contains(m, "=") {
			return usageError("", "--metadata: %s: must be KEY=VALUE", m)
		}
	}
	for _, m := range o.percentileMetrics() {
		if known := []string{"ttft", "tpot", "itl", "e2el", "client_queue_time", "e2el_including_client_queue"}; !slices.Contains(known, m) {
			return usageError("", "--percentile-metrics: %s: must be one of %s", m, strings.Join(known, ", "))
		}
	}
	if _, err := o.percentiles(); err != nil {
		return err
	}
	if err := o.checkGoodput(); err != nil {
		return err
	}
	return differentFiles("--raw", r.Raw, "--output-file", r.OutputFile)
}

func (o *benchServeOptions) percentileMetrics() []string {
	if o.Result.PercentileMetrics == "" {
		return nil
	}
	return strings.Split(o.Result.PercentileMetrics, ",")
}

// percentiles are those of vLLM's and the exact reading.
func (o *benchServeOptions) percentiles() ([]float64, error) {
	text := o.Result.MetricPercentiles
	if text == "" {
		return []float64{50, 90, 99}, nil // SGLang's own are 90, 95, 99; these are of the readings beside it
	}
	var all []float64
	for _, p := range strings.Split(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		if err != nil || !(v >= 0 && v <= 100) {
			return nil, usageError("--metric-percentiles 50,90,99", "--metric-percentiles: %s: must be numbers from 0 to 100", p)
		}
		all = append(all, v)
	}
	return all, nil
}

// checkGoodput says what is wrong with an objective in the words of its harness.
func (o *benchServeOptions) checkGoodput() error {
	for _, g := range o.Result.Goodput {
		name, value, ok := strings.Cut(g, ":")
		ms, err := strconv.ParseFloat(value, 64)
		switch {
		case !ok || err != nil || math.IsNaN(ms):
			return usageError("--goodput ttft:100 tpot:20 e2el:500", "--goodput: %s: must be NAME:MILLISECONDS", g)
		case !slices.Contains([]string{"ttft", "tpot", "e2el"}, name):
			return usageError("", "--goodput: %s: must name one of ttft, tpot, e2el", g)
		case ms < 0 || o.Harness == harnessSGLang && (ms == 0 || math.IsInf(ms, 0)):
			return usageError("", "--goodput: %s: the time must be %s", g, map[bool]string{true: "finite and above 0", false: "0 or more"}[o.Harness == harnessSGLang])
		}
	}
	if len(o.Result.Goodput) > 0 && o.Harness == harnessSGLang && !o.switches().SGLangGoodput {
		return usageError("--harness-version 2026-11", "--goodput: SGLang's client of %s has none", o.HarnessVersion)
	}
	return nil
}

func (o *benchServeOptions) checkDataset() error {
	d := o.Dataset
	built := map[string][]string{
		harnessVLLM:   {"random", "sharegpt", "custom", "prefix_repetition", "burstgpt", "timed_trace", "sonnet"},
		harnessSGLang: {"sharegpt", "custom", "random", "random-ids", "generated-shared-prefix"},
		harnessExact:  {"fixed", "sharegpt", "custom", "timed_trace"},
	}[o.Harness]
	if !slices.Contains(built, d.Name) {
		return usageError("lathe bench serve --harness "+o.Harness+" draws "+strings.Join(built, ", "), "--dataset-name %s: refused: %s", d.Name, whyNoDataset(d.Name))
	}
	synthetic := slices.Contains([]string{"fixed", "random-ids", "prefix_repetition", "generated-shared-prefix"}, d.Name) || o.Harness == harnessVLLM && d.Name == "random"
	switch {
	case synthetic && d.Path != "":
		return usageError("sharegpt, custom and timed_trace read files", "--dataset-path: %s: --dataset-name %s is made up and reads no file", d.Path, d.Name)
	case !synthetic && d.Path == "" && !(o.Harness == harnessSGLang && d.Name == "random"):
		return usageError("--dataset-path FILE; Lathe downloads nothing", "--dataset-name %s: needs its file", d.Name)
	case d.Name == "timed_trace" && !slices.Contains([]string{"openai", "vllm", "sglang"}, o.Server.Backend):
		return usageError("--backend openai", "--dataset-name timed_trace: its prompts are token ids, and --backend %s takes text", o.Server.Backend)
	case d.Shared.Distribution == "zipf" && (d.Shared.ZipfAlpha == nil || *d.Shared.ZipfAlpha <= 0):
		return usageError("--gsp-zipf-alpha 1.2", "--gsp-group-distribution zipf: needs --gsp-zipf-alpha above 0")
	case d.Shared.Distribution == "uniform" && d.Shared.ZipfAlpha != nil:
		return usageError("", "--gsp-zipf-alpha: is only meant with --gsp-group-distribution zipf")
	case d.Oversample && d.NoOversample:
		return usageError("", "--oversample and --no-oversample exclude each other")
	}
	if _, _, err := o.rangeRatio(); err != nil {
		return err
	}
	return nil
}

// whyNoDataset says what a dataset of the harnesses would need.
func whyNoDataset(name string) string {
	switch name {
	case "random-mm", "custom_image", "custom_audio", "image", "mmmu":
		return "images, video and audio are not sent"
	case "random-rerank":
		return "reranking streams no tokens"
	case "mooncake", "agentic-trace":
		return "traces are replayed by --harness vllm --dataset-name timed_trace"
	case "hf", "spec_bench", "speed_bench", "speed-bench", "longbench_v2", "openai":
		return "it is not built; its prompts as JSON lines are --dataset-name custom"
	}
	return fmt.Sprintf("there is no such dataset (%q)", name)
}

// rangeRatio reads --random-range-ratio: a number, or in vLLM an object of two.
func (o *benchServeOptions) rangeRatio() (input, output float64, err error) {
	text := o.Dataset.RandomRangeRatio
	if text == "" {
		return 0, 0, nil
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v, v, nil
	}
	var both struct{ Input, Output *float64 }
	if json.Unmarshal([]byte(text), &both) == nil && both.Input != nil && both.Output != nil && o.Harness == harnessVLLM {
		return *both.Input, *both.Output, nil
	}
	return 0, 0, usageError("", "--random-range-ratio: %s: must be a number", text)
}

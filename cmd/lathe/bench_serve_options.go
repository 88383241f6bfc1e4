package main

import "time"

// benchServeOptions are the flags of bench serve, those of all three harnesses: each declares its own
// part. The struct stands whole in the capture's header, and the report is made from it.
type benchServeOptions struct {
	Harness        string `json:"harness"`         // vllm | sglang | exact
	HarnessVersion string `json:"harness_version"` // state of the two harnesses that is meant

	Server  servedServer  `json:"server"`
	Dataset servedDataset `json:"dataset"`
	Traffic servedTraffic `json:"traffic"`
	Body    servedBody    `json:"body"`
	Around  servedAround  `json:"around"`
	Result  servedResult  `json:"result"`

	Used servedUsed `json:"used"`
}

// servedServer is whom to ask and how to get there.
type servedServer struct {
	Backend         string   `json:"backend"` // the protocol, by the harness's name for it
	BaseURL         string   `json:"base_url"`
	Host            string   `json:"host"`
	Port            *int     `json:"port"` // nil: the backend's
	Endpoint        string   `json:"endpoint"`
	Headers         []string `json:"headers,omitempty"` // in the file: names only
	Model           string   `json:"model"`             // "": the server is asked
	ServedModelName string   `json:"served_model_name"`
	Tokenizer       string   `json:"tokenizer"` // "": by the model
	TokenizerMode   string   `json:"tokenizer_mode,omitempty"`
	SkipTokenizer   bool     `json:"skip_tokenizer_init"`
	Insecure        bool     `json:"insecure"`
	Proxy           string   `json:"proxy"` // env | none | URL
	ReadySeconds    int      `json:"ready_check_timeout_sec"`
	DisableProgress bool     `json:"disable_tqdm"`
	SelfCheck       bool     `json:"self_check,omitempty"` // exact: load a server of our own
}

// servedDataset is what the prompts are made of.
type servedDataset struct {
	Name       string `json:"name"`
	Path       string `json:"path"`
	NumPrompts int    `json:"num_prompts"`
	Seed       int    `json:"seed"`
	InputLen   *int   `json:"input_len"`  // vLLM: of whichever dataset it is; exact: of fixed
	OutputLen  *int   `json:"output_len"` // likewise

	RandomInputLen   int    `json:"random_input_len"`
	RandomOutputLen  int    `json:"random_output_len"`
	RandomRangeRatio string `json:"random_range_ratio"` // a number; vLLM also {"input":…,"output":…}
	RandomPrefixLen  int    `json:"random_prefix_len,omitempty"`

	ShareGPTOutputLen  *int   `json:"sharegpt_output_len"`
	ShareGPTContextLen *int   `json:"sharegpt_context_len,omitempty"`
	CustomOutputLen    int    `json:"custom_output_len,omitempty"`
	SkipChatTemplate   bool   `json:"skip_chat_template,omitempty"`
	ApplyChatTemplate  bool   `json:"apply_chat_template,omitempty"`
	ChatTemplateKwargs string `json:"chat_template_kwargs,omitempty"`
	PromptSuffix       string `json:"prompt_suffix,omitempty"`
	DisableShuffle     bool   `json:"disable_shuffle,omitempty"`
	NoOversample       bool   `json:"no_oversample,omitempty"`
	Oversample         bool   `json:"oversample,omitempty"` // exact: repeat rows; default: refuse
	SendIDs            bool   `json:"tokenize_prompt,omitempty"`

	Sonnet servedSonnet `json:"sonnet,omitzero"`
	Prefix servedPrefix `json:"prefix_repetition,omitzero"`
	Trace  servedTrace  `json:"timed_trace,omitzero"`
	Shared servedShared `json:"generated_shared_prefix,omitzero"`

	Salt     bool   `json:"salt,omitempty"`      // exact: prompts that no earlier run has sent
	SaltSeed uint64 `json:"salt_seed,omitempty"` // 0: drawn
}

// servedSonnet are the flags of vLLM's sonnet, which November's release no longer has.
type servedSonnet struct {
	InputLen  int `json:"input_len"`
	OutputLen int `json:"output_len"`
	PrefixLen int `json:"prefix_len"`
}

// servedPrefix are the flags of vLLM's prefix_repetition.
type servedPrefix struct {
	PrefixLen   int `json:"prefix_len"`
	SuffixLen   int `json:"suffix_len"`
	NumPrefixes int `json:"num_prefixes"`
	OutputLen   int `json:"output_len"`
}

// servedTrace are the flags of vLLM's timed_trace.
type servedTrace struct {
	ChunkTokens    int     `json:"chunk_hash_size"`
	SecMultiplier  float64 `json:"sec_multiplier"`
	TimestampLabel string  `json:"label_timestamp"`
	InputLabel     string  `json:"label_input_length"`
	OutputLabel    string  `json:"label_output_length"`
	HashLabel      string  `json:"label_hash_ids"`
}

// servedShared are the flags of SGLang's generated-shared-prefix.
type servedShared struct {
	Groups       int      `json:"num_groups"`
	PerGroup     int      `json:"prompts_per_group"`
	SystemLen    int      `json:"system_prompt_len"`
	QuestionLen  int      `json:"question_len"`
	OutputLen    int      `json:"output_len"`
	Ratio        float64  `json:"range_ratio"`
	FastPrepare  bool     `json:"fast_prepare"`
	RoutingKey   bool     `json:"send_routing_key"`
	Turns        int      `json:"num_turns"`
	Ordered      bool     `json:"ordered"`
	Distribution string   `json:"group_distribution"`
	ZipfAlpha    *float64 `json:"zipf_alpha"`
}

// servedTraffic is when requests go out.
type servedTraffic struct {
	RequestRate     unbounded     `json:"request_rate"` // requests/s
	Burstiness      unbounded     `json:"burstiness,omitzero"`
	ProbeRate       float64       `json:"probe_request_rate,omitempty"` // vLLM: probes/s beside the requests; 0: none
	RampUp          string        `json:"ramp_up_strategy,omitempty"`
	RampStart       *int          `json:"ramp_up_start_rps,omitempty"`
	RampEnd         *int          `json:"ramp_up_end_rps,omitempty"`
	MaxConcurrency  *int          `json:"max_concurrency"`
	SelfTimed       *bool         `json:"self_timed,omitempty"`
	TraceTimestamps bool          `json:"use_trace_timestamps,omitempty"`
	Arrival         string        `json:"arrival,omitempty"` // exact: poisson | gamma | constant | closed
	ThinkSeconds    time.Duration `json:"think_ns,omitempty"`
	ThinkLaw        string        `json:"think_law,omitempty"`
	Duration        time.Duration `json:"duration_ns"` // 0: until all are sent
	Drain           time.Duration `json:"drain_ns"`
	Retries         int           `json:"retries,omitempty"`
	RetryWait       time.Duration `json:"retry_wait_ns,omitempty"`
	Timeout         time.Duration `json:"timeout_ns,omitempty"` // exact: of one request
}

// servedBody is what stands in a request besides its prompt.
type servedBody struct {
	LogProbs          *int     `json:"logprobs,omitempty"`
	IgnoreEOS         bool     `json:"ignore_eos"`
	Temperature       *float64 `json:"temperature,omitempty"`
	TopP              *float64 `json:"top_p,omitempty"`
	TopK              *int     `json:"top_k,omitempty"`
	MinP              *float64 `json:"min_p,omitempty"`
	FrequencyPenalty  *float64 `json:"frequency_penalty,omitempty"`
	PresencePenalty   *float64 `json:"presence_penalty,omitempty"`
	RepetitionPenalty *float64 `json:"repetition_penalty,omitempty"`
	Extra             string   `json:"extra_body,omitempty"`
	LoRA              []string `json:"lora_modules,omitempty"`
	LoRAAssignment    string   `json:"lora_assignment,omitempty"` // random | round-robin | uniform | distinct
	RequestIDPrefix   string   `json:"request_id_prefix,omitempty"`

	DisableIgnoreEOS    bool  `json:"disable_ignore_eos,omitempty"`
	DisableStream       bool  `json:"disable_stream,omitempty"`
	ReturnLogProb       bool  `json:"return_logprob,omitempty"`
	TopLogProbs         int   `json:"top_logprobs_num,omitempty"`
	TokenIDsLogProb     []int `json:"token_ids_logprob,omitempty"`
	LogProbStartLen     int   `json:"logprob_start_len,omitempty"`
	ReturnRoutedExperts bool  `json:"return_routed_experts,omitempty"`
}

// servedAround is what is done before and after the requests that count.
type servedAround struct {
	Warmups         int           `json:"warmups"`
	Profile         bool          `json:"profile,omitempty"`
	ProfileOptions  servedProfile `json:"profile_options,omitzero"`
	FlushCache      bool          `json:"flush_cache,omitempty"`
	FlushCacheLimit float64       `json:"flush_cache_timeout,omitempty"` // s
}

// servedProfile is what SGLang's client asks the server's profiler for.
type servedProfile struct {
	Activities []string `json:"activities"`
	NumSteps   *int     `json:"num_steps"`
	Steps      *int     `json:"steps"`
	StartStep  *int     `json:"start_step"`
	ByStage    bool     `json:"by_stage"`
	Stages     []string `json:"stages"`
	OutputDir  string   `json:"output_dir"`
	Prefix     string   `json:"prefix"`
}

// servedResult is what becomes of the figures.
type servedResult struct {
	Label             *string  `json:"label"`
	SaveResult        bool     `json:"save_result,omitempty"`
	SaveDetailed      bool     `json:"save_detailed,omitempty"`
	AppendResult      bool     `json:"append_result,omitempty"`
	Metadata          []string `json:"metadata,omitempty"`
	ResultDir         string   `json:"result_dir,omitempty"`
	ResultFilename    string   `json:"result_filename,omitempty"`
	PercentileMetrics string   `json:"percentile_metrics,omitempty"`
	MetricPercentiles string   `json:"metric_percentiles,omitempty"`
	Goodput           []string `json:"goodput,omitempty"`
	Tag               *string  `json:"tag,omitempty"`
	OutputFile        string   `json:"output_file,omitempty"`
	OutputDetails     bool     `json:"output_details,omitempty"`
	CacheReport       bool     `json:"cache_report,omitempty"`
	OutputJSON        string   `json:"output_json,omitempty"` // exact
	Raw               string   `json:"raw"`
	Strict            bool     `json:"strict"`
	Repeat            int      `json:"repeat,omitempty"`
	RepeatLimit       float64  `json:"repeat_limit,omitempty"` // greatest over least of a figure
	Format            string   `json:"format"`                 // text | json
}

// servedUsed is what the flags turned out to mean.
type servedUsed struct {
	BaseURL   string `json:"base_url"`
	ModelID   string `json:"model_id"`   // as the result file names it
	ModelName string `json:"model_name"` // as requests name it
	Tokenizer string `json:"tokenizer"`  // as it can be opened again: a path, preset:NAME, name:words, none
	Endpoint  string `json:"endpoint"`   // completions, chat, generate, responses
	IgnoreEOS bool   `json:"ignore_eos"` // it was sent
	MultiTurn bool   `json:"multi_turn"`
	SaltSeed  uint64 `json:"salt_seed,omitempty"`
	Unique    int    `json:"unique_prompts"`
}

// Harnesses of bench serve.
const (
	harnessVLLM   = "vllm"
	harnessSGLang = "sglang"
	harnessExact  = "exact"
)

// multiTurn says whether rows are conversations.
func (o *benchServeOptions) multiTurn() bool {
	return o.Dataset.Name == "generated-shared-prefix" && o.Dataset.Shared.Turns > 1
}

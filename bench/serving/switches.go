package serving

// Version is the state of the two harnesses whose rules are meant.
type Version string

// August is vLLM at 017e9f4448b7 and SGLang at 978244d67148; November is the
// releases vLLM 0.33.0 and SGLang 0.5.23.
const (
	August   Version = "2026-08"
	November Version = "2026-11"
)

// Latest is the version that is meant where none is named.
const Latest = November

// Switches are the rules that changed between releases, by the names of the
// published notes. The first group moves what is made of a capture; the second
// moves what a client sends and waits for, and is here so that a release is
// described in one place.
type Switches struct {
	// vLLM, reading.
	SSETrim         bool // vllm_sse_trim: each read is trimmed before it is cut
	ChatTokenFrame  bool // vllm_chat_token_frame: only a frame with something generated is a token; else any with choices
	ChatUsageFrame  bool // vllm_chat_usage_frame: usage counts on every frame that is no token; else only without choices
	ChatDelta       bool // vllm_chat_delta: a frame without delta fails the request
	ChatEndsAtFrame bool // vllm_chat_end: E2EL ends at the last frame of any kind; else at the last token
	ChatEmptyIsOK   bool // vllm_chat_nothing_received: success without a token
	ChatZeroIsUnset bool // vllm_chat_ttft_unset: a TTFT of 0.0 is taken for none yet
	QueueTime       bool // vllm_queue_time: latencies and queue times in every result
	ServerMetrics   bool // vllm_server_metrics: "metrics" of a frame is kept
	// ResponsesBackend says that there is openai-responses.
	ResponsesBackend bool

	// SGLang, reading.
	ServerInputLen bool // sglang_input_len: the server's prompt_tokens replace a request's own
	ObjectFirst    bool // a frame that is no object fails before anything else is asked of it
	SGLangGoodput  bool // sglang_goodput

	// The client around a request; no reading depends on them.
	ProbeShared          bool // vllm_probe: probes share the pool and their loop counts into the duration
	ProfileBody          bool // vllm_profile_body: the generation body goes to start_profile and stop_profile
	PoolingEndsAtHeaders bool // vllm_pooling_end
	PoolingSequences     bool // vllm_pooling_sequences
	ZeroIsUnlimited      bool // vllm_max_concurrency_zero: 0 is no limit; else an error
	WarmupUnbounded      bool // sglang_warmup: warm-ups ignore the semaphore
	MultiTurnAsksUsage   bool // sglang_multi_turn_usage
	RustClient           bool // sglang_client: a Rust client ships beside the Python one
}

// switchTable is the one place where releases differ: the oldest first, each
// with its rules. A new release is a row that copies the one before.
func switchTable() []struct {
	Version  Version
	Switches Switches
} {
	august := Switches{
		SSETrim: true, ChatDelta: true, ChatEndsAtFrame: true, ChatEmptyIsOK: true, ChatZeroIsUnset: true,
		ProbeShared: true, ProfileBody: true, PoolingEndsAtHeaders: true, ZeroIsUnlimited: true, WarmupUnbounded: true,
	}
	november := Switches{
		ChatTokenFrame: true, ChatUsageFrame: true, QueueTime: true, ServerMetrics: true, ResponsesBackend: true,
		ServerInputLen: true, ObjectFirst: true, SGLangGoodput: true,
		PoolingSequences: true, MultiTurnAsksUsage: true, RustClient: true,
	}
	return []struct {
		Version  Version
		Switches Switches
	}{{August, august}, {November, november}}
}

// SwitchesOf is the rules of a version; ok is false for one that is not known.
func SwitchesOf(v Version) (s Switches, ok bool) {
	for _, row := range switchTable() {
		if row.Version == v {
			return row.Switches, true
		}
	}
	return Switches{}, false
}

// Versions lists what SwitchesOf knows, the oldest first.
func Versions() []Version {
	var all []Version
	for _, row := range switchTable() {
		all = append(all, row.Version)
	}
	return all
}

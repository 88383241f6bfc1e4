package audit

import (
	"lathe/bench"
	"lathe/bench/serving"
)

// Harness is whose program wrote a file.
type Harness string

// The harnesses whose files are read.
const (
	VLLM       Harness = "vllm"
	VLLMRust   Harness = "vllm-rust"
	SGLang     Harness = "sglang"
	SGLangRust Harness = "sglang-rust"
	Lathe      Harness = "lathe"
	AIPerf     Harness = "aiperf"
	GuideLLM   Harness = "guidellm"
	LlamaBench Harness = "llama-bench"
	NVBench    Harness = "nvbench"
)

// Kind is what a file's times are times of.
type Kind string

// The kinds. Only files of one kind compare.
const (
	Serving Kind = "serving" // requests to a server, as a client sees them
	Offline Kind = "offline" // steps or calls of an engine in the process
	Kernel  Kind = "kernel"  // launches of a kernel
)

// Limit is a number that may be known, and known to be none.
type Limit struct {
	Known bool
	N     int // 0: no limit
}

// Load is how requests were sent. nil is not told.
type Load struct {
	Rate        *float64 // requests a second, +Inf for all at once
	TraceRate   bool     // the rate is told as "trace"
	Burstiness  *float64
	Ramp        string // "" without a ramp
	Arrival     string // "poisson", "constant", …; "" where it is not told
	Concurrency Limit
	Closed      bool // a fixed number of clients, each sending when its answer is there
	Probes      bool
	Sharing     bool // its own header says that probes share the pool and the duration
	Trace       bool // sent by the times of a trace

	Seed     *int64
	Warmups  *int
	PerConn  *bool // a connection a request; false: a pool
	Requests *int  // asked for
}

// Work is what was asked. Empty and nil are not told.
type Work struct {
	Model          string
	Dataset        string
	InputLen       *int // as flags say
	OutputLen      *int
	RangeRatio     *float64
	Lengths        string // of a capture's rows, in words
	AskedSum       int64  // output tokens that a capture's requests asked for
	ReportedSLOs   string
	GoodputAsked   bool
	ServerVersion  string
	AcceptLength   *float64 // of speculation, as the file says
	TokenizerKnown bool
}

// Flags are further options of a run, which captures tell; nil is not told, and
// an empty text is none.
type Flags struct {
	IgnoreEOS, Flush, Profile                        *bool
	Temperature, ExtraBody, LoRA, Server, Proxy, Ask *string
}

// Counts are totals of a run; nil is not told.
type Counts struct {
	Completed, Failed    *int
	Input, Output        *int64
	Retokenised          *int64
	Duration             *float64 // s
	InputSum, OutputSum  *int64   // of the per-request lists
	InputRows, OtherRows int
}

// Request is one request of a file with details.
type Request struct {
	OK      bool
	Output  int64
	Events  int     // samples of inter-token latency
	GapSum  float64 // s, of those samples
	TTFT    float64 // s
	Latency float64 // s; negative where it is not told
	Tokens  int64   // of the text encoded again; negative where it is not told
	Error   string
}

// Decode is the time behind the first token in seconds, negative where it is
// not told.
func (r *Request) Decode() float64 {
	if r.Latency < 0 {
		return -1
	}
	return r.Latency - r.TTFT
}

// File is what one result file tells.
type File struct {
	Name            string // of the file, without its folder
	Form            string // what it is, in words
	Kind            Kind
	Harness         Harness
	Versions        []serving.Version // states of the harness that the file fits; none where it has no releases here
	Release         string            // as the file says, "" where it does not
	Backend         string
	Wire            serving.Wire // of the endpoint
	WireKnown       bool
	Entry, Entries  int // which of the results in the file, from 1
	MultiTurn       bool
	RetokensByTexts bool // Retokenised was counted here, from the texts

	// Acts is the harness whose arrivals, connections and lifecycle a capture was
	// made with, and ActsBackend its backend; "" where that is not told.
	Acts        Harness
	ActsBackend string

	Load   Load
	Work   Work
	Flags  Flags
	Counts Counts
	// Stats are the statistics of a metric (TTFT, TPOT, ITL, E2EL) in ms by the
	// file's own names: mean, median, std, p99, ….
	Stats    map[Figure]map[string]float64
	Requests []Request // nil without details
	Detailed bool
	Other    []string // further figures that the file holds
	Traits   []Trait  // of offline and kernel files
	Warnings []string

	// survived is how many requests of a capture succeed and fail by the rules of a
	// harness's newest release.
	survived map[Harness][2]int

	raw *bench.File // of an offline recording
	run *bench.Run  // of a capture
}

// Trait is one thing that an offline or kernel file says of its run.
type Trait struct {
	Name, Value string
	Refuses     bool // files that differ in it do not compare
}

// Figure is a published number, or a group of them.
type Figure string

// The figures that rows move.
const (
	TTFT           Figure = "TTFT"
	ITL            Figure = "ITL"
	TPOT           Figure = "TPOT"
	E2EL           Figure = "E2EL"
	Tails          Figure = "percentiles of all times"
	InputTokens    Figure = "input tokens"
	OutputTokens   Figure = "output tokens"
	Retokens       Figure = "retokenised output tokens"
	Duration       Figure = "duration"
	RequestRate    Figure = "req/s"
	InputRate      Figure = "input tok/s"
	OutputRate     Figure = "output tok/s"
	TotalRate      Figure = "total tok/s"
	PeakRate       Figure = "peak output tok/s"
	PeakConcurrent Figure = "peak concurrent requests"
	Concurrency    Figure = "concurrency"
	Goodput        Figure = "goodput"
	Completed      Figure = "successful requests"
	FailedCount    Figure = "failed requests"
	Acceptance     Figure = "acceptance length"
	Everything     Figure = "every figure"
)

// times are the four latencies.
func times() []Figure { return []Figure{TTFT, ITL, TPOT, E2EL} }

// rates are the figures over the duration, and the duration.
func rates() []Figure {
	return []Figure{Duration, RequestRate, InputRate, OutputRate, TotalRate, Concurrency, Goodput}
}

// has says whether the file holds a statistic of the metric.
func (f *File) has(m Figure) bool { return len(f.Stats[m]) > 0 }

func (f *File) stat(m Figure, name string) (float64, bool) {
	v, ok := f.Stats[m][name]
	return v, ok
}

// total is how many requests the file accounts for; ok is false where failed
// ones are not counted.
func (f *File) total() (n int, ok bool) {
	switch {
	case f.Counts.Completed == nil:
		return 0, false
	case f.Counts.Failed != nil:
		return *f.Counts.Completed + *f.Counts.Failed, true
	case f.Detailed:
		return len(f.Requests), true
	}
	return *f.Counts.Completed, false
}

// failed is how many requests failed; ok is false where it is not told.
func (f *File) failed() (n int, ok bool) {
	total, ok := f.total()
	if !ok {
		return 0, false
	}
	return total - *f.Counts.Completed, true
}

func (f *File) warn(text string) { f.Warnings = append(f.Warnings, text) }

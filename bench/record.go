package bench

import "encoding/json"

// Schema is the version of the raw file format. Readers refuse a higher one.
const Schema = 1

// Kind is the discriminator of a line of a raw file.
type Kind string

// The kinds of line that a Reader knows; it skips any other.
const (
	KindRun       Kind = "run"
	KindResume    Kind = "resume"
	KindPoint     Kind = "point"
	KindStep      Kind = "step"
	KindIteration Kind = "iteration"
	KindCheck     Kind = "check"
	KindReads     Kind = "reads"
	KindRequest   Kind = "request"
	KindProbe     Kind = "probe"
	KindAnswer    Kind = "answer"
	KindClient    Kind = "client"
	KindEnd       Kind = "end"
)

// Run is the header, the first line of every raw file: what was measured, on
// what, by which build, and every option that could move a number.
type Run struct {
	Kind           Kind            `json:"kind"`
	Schema         int             `json:"schema"`
	Command        string          `json:"command"`
	Argv           []string        `json:"argv"`
	StartedAt      string          `json:"started_at"` // RFC 3339, UTC; a label, never used in arithmetic
	Clock          *ClockOrigin    `json:"clock,omitempty"`
	Workload       Workload        `json:"workload"`
	WorkloadSHA256 string          `json:"workload_sha256"`
	Host           Host            `json:"host"`
	Build          Build           `json:"build"`
	Backend        Backend         `json:"backend"`
	Model          *Model          `json:"model,omitempty"`
	Options        json.RawMessage `json:"options"` // the command's options struct, whole
	Environment    []EnvVar        `json:"environment,omitempty"`
	Warnings       []string        `json:"warnings"`
}

// Resume says that from here on another process appends to the file, started
// with the same options. A point that has no line yet was lost with the process
// before: its steps are void, and it is measured again.
type Resume struct {
	Kind      Kind         `json:"kind"`
	StartedAt string       `json:"started_at"` // as in Run
	Argv      []string     `json:"argv"`
	Clock     *ClockOrigin `json:"clock,omitempty"` // t_ns goes on: never below what stands before this line
	Warnings  []string     `json:"warnings,omitempty"`
}

// EnvVar is an environment variable that Lathe read and that mattered.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Workload is what was asked of the engine. Its canonical JSON's sha256 is its
// identity: two runs compare only where it is equal.
type Workload struct {
	Kind       string `json:"kind"`  // "one-batch", "latency", KindCorrectness, ...
	Model      string `json:"model"` // identity of the model: preset name or directory's config hash
	BatchSizes []int  `json:"batch_sizes,omitempty"`
	InputLens  []int  `json:"input_lens,omitempty"`
	OutputLens []int  `json:"output_lens,omitempty"`
	Dataset    string `json:"dataset,omitempty"`
	Arrival    string `json:"arrival,omitempty"`
	Seed       uint64 `json:"seed"`
}

// Host is where it ran. Unknown fields are empty or null, never guessed.
type Host struct {
	Hostname      string   `json:"hostname,omitempty"`
	OS            string   `json:"os"`
	Arch          string   `json:"arch"`
	Kernel        string   `json:"kernel,omitempty"`
	CPU           string   `json:"cpu,omitempty"`
	Cores         int      `json:"cores,omitempty"` // logical CPUs that the process may use
	MemoryBytes   *uint64  `json:"memory_bytes"`
	LastLevelByte *uint64  `json:"last_level_cache_bytes"`
	Governor      *string  `json:"governor"`
	Virtualised   *bool    `json:"virtualised"`
	GPUs          []GPU    `json:"gpus,omitempty"`
	Notes         []string `json:"notes,omitempty"`
}

// GPU is one device as NVML tells it, of those that CUDA shows the process: a whole one or a slice.
type GPU struct {
	Index       int    `json:"index"` // CUDA's, which CUDA_VISIBLE_DEVICES orders
	UUID        string `json:"uuid"`
	Name        string `json:"name"`
	Driver      string `json:"driver"`
	PowerLimitW *int   `json:"power_limit_w"`
	SMClockMHz  *int   `json:"sm_clock_max_mhz"`
	MemClockMHz *int   `json:"memory_clock_max_mhz"`
	ECC         *bool  `json:"ecc"`
	MIG         *bool  `json:"mig"`
	Persistence *bool  `json:"persistence"`
}

// Build is which Lathe ran.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // git, with "+dirty" where the tree was
	Go       string `json:"go"`
}

// Backend is which native backend ran.
type Backend struct {
	Name      string          `json:"name"`
	Path      string          `json:"path,omitempty"`   // file of a plug-in
	SHA256    string          `json:"sha256,omitempty"` // of that file
	BuildInfo json.RawMessage `json:"build_info,omitempty"`
	Device    json.RawMessage `json:"device,omitempty"`
	ISA       string          `json:"isa,omitempty"` // numeric path in effect
	Threads   int             `json:"threads,omitempty"`
	KVDType   string          `json:"kv_cache_dtype,omitempty"`
}

// Model is which model ran.
type Model struct {
	ID          string `json:"id"` // as the user named it
	Source      string `json:"source"`
	Parameters  int64  `json:"parameters"`
	DType       string `json:"dtype"`
	WeightBytes uint64 `json:"weight_bytes"`
	LoadNS      int64  `json:"load_ns"`
}

// Status says how a point ended.
type Status string

// A point is ok, or was skipped or failed with a reason.
const (
	StatusOK      Status = "ok"
	StatusSkipped Status = "skipped"
	StatusFailed  Status = "failed"
)

// Point closes one point of a sweep. Its steps stand before it in the file; a
// point without its line was not finished.
type Point struct {
	Kind      Kind         `json:"kind"`
	Point     int          `json:"point"`
	Status    Status       `json:"status"`
	Reason    *string      `json:"reason"`
	Batch     int          `json:"batch"`
	InputLen  int          `json:"input_len"`
	OutputLen int          `json:"output_len"`
	Prompt    *int         `json:"prompt_tokens"` // of all rows together; null where unknown, and then batch times input_len
	Cached    *int         `json:"cached_tokens"` // prompt tokens taken from a cache; 0 shown, not assumed
	Memory    *PointMemory `json:"memory"`
	Warnings  []string     `json:"warnings,omitempty"` // what the point's records do not tell
}

// PointMemory is the memory of one point in bytes.
type PointMemory struct {
	WeightBytes    uint64  `json:"weight_bytes"`
	KVBytes        uint64  `json:"kv_bytes"`
	WorkspaceBytes uint64  `json:"workspace_bytes"`
	PeakBytes      *uint64 `json:"peak_bytes"` // of the process, null where unknown
}

// Phase is prefill or decode.
type Phase string

// The two phases of a sequence.
const (
	Prefill Phase = "prefill"
	Decode  Phase = "decode"
)

// Step is one timed step: synchronise, clock, step, synchronise, clock.
type Step struct {
	Kind            Kind    `json:"kind"`
	Point           int     `json:"point"`
	Iteration       int     `json:"iteration"` // repetition within the point
	Index           int     `json:"index"`     // 0 prefill, 1.. the decode steps in order
	Phase           Phase   `json:"phase"`
	Variant         *string `json:"variant"`
	Epoch           int     `json:"epoch"`
	Block           int     `json:"block"`
	Slot            int     `json:"slot"`
	Batch           int     `json:"batch"`
	ContextLen      int     `json:"context_len"` // tokens attended by the newest row, itself included
	TNS             int64   `json:"t_ns"`        // start of the step on the run's clock
	HostNS          int64   `json:"host_ns"`
	DeviceNS        *int64  `json:"device_ns"`
	SMClockMHz      *int    `json:"sm_clock_mhz"`
	ThrottleReasons *uint64 `json:"throttle_reasons"`
	Graph           Graph   `json:"graph"`
	Warmup          bool    `json:"warmup"`
}

// Graph is how a step ran: "captured" and replayed, "eager" where it could have
// been, "none" where the backend has no graphs; "" where unknown, as without
// synchronisation, which JSON has as null.
type Graph string

// MarshalJSON writes null for "".
func (g Graph) MarshalJSON() ([]byte, error) {
	if g == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(g))
}

// Iteration is one whole generate call of bench latency or throughput.
type Iteration struct {
	Kind      Kind  `json:"kind"`
	Point     int   `json:"point"`
	Iteration int   `json:"iteration"`
	TNS       int64 `json:"t_ns"`
	HostNS    int64 `json:"host_ns"`
	Warmup    bool  `json:"warmup"`
}

// Check is a numeric check of a backend or operator against a reference, or what
// CheckEmptyStep says.
type Check struct {
	Kind   Kind            `json:"kind"`
	Name   string          `json:"name"`
	OK     bool            `json:"ok"`
	Point  *int            `json:"point,omitempty"` // that it is of; absent: of the run
	Detail json.RawMessage `json:"detail,omitempty"`
}

// CheckEmptyStep names the Check that holds what the harness itself costs at its
// point. It says nothing about numbers: OK is that it was measured. (Files from
// before the field Point have false in it where steps were short.) Its detail is
// an EmptyStep.
const CheckEmptyStep = "empty_step"

// EmptyStep is the time of a step with nothing to do.
type EmptyStep struct {
	Pairs    int   `json:"pairs"` // of clock reads, that many steps
	MedianNS int64 `json:"median_ns"`
}

// EndReason says why a run stopped.
type EndReason string

// A run is complete only under EndCompleted.
const (
	EndCompleted   EndReason = "completed"
	EndInterrupted EndReason = "interrupted"
	EndFailed      EndReason = "failed"
)

// End closes a run. A file without it was cut.
type End struct {
	Kind       Kind      `json:"kind"`
	DurationNS int64     `json:"duration_ns"`
	Reason     EndReason `json:"reason"`
	Error      string    `json:"error,omitempty"`
	Warnings   []string  `json:"warnings,omitempty"` // known at the end only
}

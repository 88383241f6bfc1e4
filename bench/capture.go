package bench

import "encoding/json"

// Read is one socket read of a response body, as it came.
type Read struct {
	TNS      int64  `json:"t_ns"`      // on the run's clock
	KernelNS *int64 `json:"kernel_ns"` // receive stamp of the kernel, null where there is none
	B64      []byte `json:"b64"`       // the bytes; base64 in JSON
}

// Reads are further reads of a request whose own line is not written yet.
type Reads struct {
	Kind  Kind   `json:"kind"`
	ID    string `json:"id"`
	Reads []Read `json:"reads"`
}

// RequestEnd says how a request's body ended.
type RequestEnd struct {
	Kind string `json:"kind"` // eof, cut, http_error, timeout, cancelled
	TNS  int64  `json:"t_ns"`
}

// Request closes one request of a serving run. Its reads stand in "reads" lines
// before it, in its own line, or both, joined by ID in the order of the file.
type Request struct {
	Kind               Kind        `json:"kind"`
	ID                 string      `json:"id"`
	Endpoint           string      `json:"endpoint"` // completions, chat, generate
	PromptLen          int         `json:"prompt_len"`
	TextPromptLen      *int        `json:"text_prompt_len"`
	VisionPromptLen    *int        `json:"vision_prompt_len"`
	RequestedOutputLen int         `json:"requested_output_len"`
	ScheduledNS        int64       `json:"scheduled_ns"`
	AdmittedNS         int64       `json:"admitted_ns"`
	SentNS             int64       `json:"sent_ns"`
	ConnectedNS        *int64      `json:"connected_ns"`
	HeadersNS          *int64      `json:"headers_ns"`
	Status             *int        `json:"status"`
	Reason             string      `json:"reason"`
	Reads              []Read      `json:"reads"`
	End                *RequestEnd `json:"end"`
	ErrorClass         string      `json:"error_class,omitempty"` // of the client; absent where the answer ended well
	Error              string      `json:"error,omitempty"`
	Remote             string      `json:"remote,omitempty"` // address that the connection went to
	Reused             *bool       `json:"reused,omitempty"` // whether the connection had carried a request before
	Attempts           []Attempt   `json:"attempts,omitempty"`
}

// Probe is one probe beside a serving run, which is no request of it: written
// whole in one line, as a Request with that kind.
type Probe struct{ Request }

// Attempt is an earlier try of a request that was repeated. SentNS of the
// request is that of the first.
type Attempt struct {
	SentNS     int64  `json:"sent_ns"`
	EndNS      int64  `json:"end_ns"`
	Status     *int   `json:"status"`
	ErrorClass string `json:"error_class"`
}

// Answer is what the server said of itself beside the requests of a serving run,
// as far as a figure is made of it: /metrics, /server_info.
type Answer struct {
	Kind   Kind   `json:"kind"`
	Path   string `json:"path"`
	TNS    int64  `json:"t_ns"`
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// ClientRun is what the client of a serving run knows at its end and its
// requests do not tell. The line stands before the end line.
type ClientRun struct {
	Kind        Kind            `json:"kind"`
	StartNS     int64           `json:"start_ns"` // offset 0 of the schedule
	EndNS       int64           `json:"end_ns"`   // when the last request had ended
	Planned     int             `json:"planned"`  // requests
	Unsent      int             `json:"unsent"`   // because the run ended before
	Schedule    json.RawMessage `json:"schedule"` // the realised schedule of an open loop that was sent whole; else null
	Exponential bool            `json:"exponential"`
	Connections json.RawMessage `json:"connections"`
	Address     string          `json:"address"` // that connections went to
	Proxy       string          `json:"proxy"`   // "" for none
	Stalls      int             `json:"stalls"`  // times that reading waited for the disk
	CPUNS       int64           `json:"cpu_ns"`  // processor time of the client from start_ns until its requests were in the file; 0: not known
	Limits      []string        `json:"limits"`  // why the client itself may be what was measured
	Warnings    []string        `json:"warnings"`
}

package serving

import (
	"encoding/json"
	"iter"
	"math/big"

	"lathe/bench"
	"lathe/bench/frame"
)

// Count is a number that a server said; the zero Count was not said, or said as
// null or as something that is no whole number.
type Count struct {
	N     int64
	Valid bool
}

// MarshalJSON writes null for the zero Count.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(c.N)
}

func counted(n int) Count { return Count{N: int64(n), Valid: true} }

// countOf reads a count; Python takes true for 1 and 5.0 for a number too.
func countOf(v frame.Value) Count {
	if n, ok := v.Int(); ok {
		return Count{n, true}
	}
	if f, ok := v.Float(); ok && f == float64(int64(f)) {
		return Count{int64(f), true}
	}
	return Count{}
}

// Outcome is what a harness's request function makes of one request; times are
// its float64 seconds.
type Outcome struct {
	ID      string
	Success bool
	StartNS int64
	QueueNS int64 // start less scheduled: time in the client's own queue
	TTFT    float64
	ITL     []float64
	Latency float64 // 0 after a failure
	Text    string  // generated; empty after a failure, but for that of a whole answer whose figures cannot be read
	Prompt  Count   // prompt tokens: the dataset row's, or the server's where the harness takes them
	Output  Count   // vLLM: as the server said. SGLang: the length that it reports

	ErrorClass string // "" on success: http_status, no_chunk, or the name of the Python exception
	ErrorText  string

	Cache *CacheHit // with Options.CacheReport, by SGLang's client; nil else

	RowPrompt, RowText, RowVision int      // of the dataset row
	ServerQueue, ServerTTFT       *float64 // seconds, from the server's own metrics

	raw    []byte // every text so far, of a failed request too
	ends   []uint32
	base   uint32
	counts int // tokens of Text by Options.Count; -1 without it
}

// Start is when the request function took its start stamp, in seconds.
func (o *Outcome) Start() float64 { return seconds(o.StartNS) }

// StartOn is Start on a clock that shows originNS at the capture's 0.
func (o *Outcome) StartOn(originNS int64) float64 { return seconds(originNS + o.StartNS) }

// Chunks yields the texts of the frames behind ITL (SGLang's OpenAI backends).
func (o *Outcome) Chunks() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		from := o.base
		for i, end := range o.ends {
			if !yield(i, string(o.raw[from:end])) {
				return
			}
			from = end
		}
	}
}

// failure is how a request function ends early; the zero one is none.
type failure struct{ class, text string }

func (f failure) bad() bool { return f.class != "" }

// python is a failure by an exception.
func python(class string) failure { return failure{class: class} }

// Python exceptions that the request functions meet.
const (
	jsonDecodeError   = "JSONDecodeError"
	keyError          = "KeyError"
	indexError        = "IndexError"
	typeError         = "TypeError"
	attributeError    = "AttributeError"
	valueError        = "ValueError"
	unicodeError      = "UnicodeDecodeError"
	unboundError      = "UnboundLocalError"
	payloadError      = "ClientPayloadError"
	disconnectedError = "ServerDisconnectedError"
	timeoutError      = "TimeoutError"
	cancelledError    = "CancelledError"
	memoryError       = "MemoryError"
	divisionError     = "ZeroDivisionError"
	argumentTypeError = "ArgumentTypeError"
	httpStatus        = "http_status"
	noChunk           = "no_chunk"
)

// cutterFailure is the failure of a frame.ErrUTF8 or frame.ErrTooLong.
func cutterFailure(err error) failure {
	if err == frame.ErrUTF8 {
		return python(unicodeError)
	}
	return failure{class: valueError, text: err.Error()}
}

// ending is the failure in how a body ended; none for a clean end.
func ending(r *bench.Request) failure {
	if r.End == nil {
		return failure{cancelledError, "the request was not closed"}
	}
	switch r.End.Kind {
	case "eof", "http_error":
		return failure{}
	case "timeout":
		return python(timeoutError)
	case "cancelled":
		return python(cancelledError)
	}
	return python(payloadError)
}

// seconds is the float64 nearest to ns/1e9.
func seconds(ns int64) float64 {
	if ns > -1<<53 && ns < 1<<53 {
		return float64(ns) / 1e9
	}
	f, _ := big.NewRat(ns, 1e9).Float64()
	return f
}

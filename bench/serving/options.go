package serving

import "fmt"

// Counter counts the tokens of a text, special tokens not added. nil is a run
// without a tokenizer.
type Counter func(text string) int

// Options are what a reading depends on besides the capture.
type Options struct {
	Version     Version
	Count       Counter
	Percentiles []float64 // of vLLM and exact, in [0, 100]; SGLang's are 90, 95, 99
	Goodput     []string  // "ttft:100", "tpot:20", "e2el:500": milliseconds

	AcceptLength  float64 // what SGLang's client would get from the server; 0 for none
	MultiTurn     bool    // SGLang's multi-turn run: no dataset rows
	DisableStream bool    // SGLang's --disable-stream
	// UsageAsked says that the requests asked for a frame with the usage alone,
	// which SGLang's client does not do (serving-semantics D3): SGLang's readings
	// are then those of the stream without these frames, that a server would have
	// sent it. Otherwise its completions client fails on them.
	UsageAsked  bool
	CacheReport bool // SGLang's --cache-report

	// Of the exact reading only.
	IgnoreEOS  bool // ignore_eos was sent: a shorter answer than asked for is worth a warning
	Retokenise bool // without usage, count tokens with Count; else count frames
}

// Validate says what is wrong with o.
func (o Options) Validate() error {
	if _, ok := SwitchesOf(o.Version); !ok {
		return fmt.Errorf("harness version %q: not one of %v", o.Version, Versions())
	}
	for _, p := range o.Percentiles {
		if !(p >= 0 && p <= 100) {
			return fmt.Errorf("percentile %v: not in [0, 100]", p)
		}
	}
	return nil
}

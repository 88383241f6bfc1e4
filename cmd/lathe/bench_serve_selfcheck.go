package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"time"
)

// The load of --self-check where no flag says otherwise: streams at once, and frames of each.
const (
	selfCheckStreams = 64
	selfCheckFrames  = 10_000
	selfCheckGap     = time.Millisecond // between two frames of a stream
	selfCheckModel   = "self-check"
)

// selfCheckDefaults fills in what the user did not; given tells which flags were.
func (o *benchServeOptions) selfCheckDefaults(given func(flag string) bool) error {
	for _, flag := range []string{"base-url", "host", "port", "endpoint", "proxy", "dataset-name"} {
		if given(flag) {
			return usageError("", "--self-check: has a server and prompts of its own: --%s does not go with it", flag)
		}
	}
	if !given("num-prompts") {
		o.Dataset.NumPrompts = selfCheckStreams
	}
	frames, prompt := selfCheckFrames, 16
	if o.Dataset.OutputLen == nil {
		o.Dataset.OutputLen = &frames
	}
	if o.Dataset.InputLen == nil {
		o.Dataset.InputLen = &prompt
	}
	o.Server.Backend, o.Server.Model, o.Server.Tokenizer = "openai", selfCheckModel, "name:words"
	return nil
}

// startPaced starts the server of --self-check in this process: every request gets as many frames as it
// asks for, one each millisecond of its own absolute schedule. It returns the server's URL.
func startPaced(ctx context.Context) (base string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("start the server of --self-check: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"data":[{"id":%q}]}`, selfCheckModel)
	})
	mux.HandleFunc("POST /v1/completions", paced)
	s := &http.Server{Handler: mux, BaseContext: func(net.Listener) context.Context { return ctx }, ReadHeaderTimeout: time.Minute}
	go func() {
		_ = s.Serve(l) // ends with Close
	}()
	return "http://" + l.Addr().String(), func() { _ = s.Close() }, nil
}

// paced answers one request of --self-check.
func paced(w http.ResponseWriter, r *http.Request) {
	var body struct {
		MaxTokens int `json:"max_tokens"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	began := time.Now()
	for k := range body.MaxTokens {
		time.Sleep(time.Until(began.Add(time.Duration(k+1) * selfCheckGap)))
		_, err := io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"text\":\" a\"}]}\n\n")
		if err = errors.Join(err, flush.Flush(), r.Context().Err()); err != nil {
			return
		}
	}
	fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":16,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", body.MaxTokens)
}

// selfChecked is what --self-check found, from the capture alone.
type selfChecked struct {
	Streams    int      `json:"streams"`
	Frames     int64    `json:"frames"` // that came
	Expected   int64    `json:"frames_expected"`
	MeanGapMS  *float64 `json:"mean_gap_ms"`
	OffPercent *float64 `json:"off_percent"` // of the gap that the server keeps
}

// selfCheckOff is by how many percent the mean gap may miss the server's.
const selfCheckOff = 5

// selfChecked judges a run of --self-check; nil for any other.
func (s *servedReport) selfChecked() *selfChecked {
	if !s.o.Server.SelfCheck {
		return nil
	}
	c := &selfChecked{Streams: len(s.exact().Exact)}
	for i := range s.exact().Exact {
		q := &s.exact().Exact[i]
		c.Frames += int64(q.Frames)
		c.Expected += int64(q.Requested)
	}
	if m := s.exact().ExactM; m != nil && m.FrameGap != nil {
		off := 100 * (m.FrameGap.Mean/(float64(selfCheckGap)/float64(time.Millisecond)) - 1)
		c.MeanGapMS, c.OffPercent = &m.FrameGap.Mean, &off
	}
	return c
}

// limit says why the client is not to be trusted with such a load; "" where it is.
func (c *selfChecked) limit() string {
	switch {
	case c == nil:
		return ""
	case c.Frames != c.Expected:
		return fmt.Sprintf("client-limited: self-check: %d of %d frames came", c.Frames, c.Expected)
	case c.OffPercent != nil && math.Abs(*c.OffPercent) > selfCheckOff:
		return fmt.Sprintf("client-limited: self-check: the mean gap is %.3f ms where the server keeps %v", *c.MeanGapMS, selfCheckGap)
	}
	return ""
}

// note is the line under the table.
func (c *selfChecked) note() string {
	line := fmt.Sprintf("self-check: %d streams of a frame each %v: %d of %d frames", c.Streams, selfCheckGap, c.Frames, c.Expected)
	if c.MeanGapMS != nil {
		line += fmt.Sprintf(", mean gap %.4f ms (%+.2f %%)", *c.MeanGapMS, *c.OffPercent)
	}
	return line
}

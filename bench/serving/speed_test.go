//go:build unix

package serving

import (
	"bytes"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"lathe/bench"
)

// BenchmarkReadings is what evaluating a run costs: its capture, as a client
// writes it, of 256 streams of 150 frames, in every reading that fits. Figures
// are processor time of all threads a frame.
func BenchmarkReadings(b *testing.B) {
	for _, endpoint := range []string{"completions", "chat", "generate"} {
		b.Run(endpoint, func(b *testing.B) {
			const streams, frames = 256, 150
			path := filepath.Join(b.TempDir(), "run.jsonl.zst")
			writeRun(b, path, endpoint, streams, frames)
			b.ReportAllocs()
			b.ResetTimer()
			began := processor(b)
			for range b.N {
				r, err := bench.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				opt := november()
				opt.Count = nil
				_, results, err := Read(r, Fitting(endpoint), opt)
				if err != nil {
					b.Fatal(err)
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
				if x := results[len(results)-1]; len(x.OutputLens) != streams || x.OutputLens[streams-1].N != frames {
					b.Fatalf("%s: %s %v", x.Semantics, x.Err, x.OutputLens)
				}
			}
			b.ReportMetric(float64(processor(b)-began)/float64(b.N)/streams/frames, "cpu-ns/frame")
		})
	}
}

// processor is the processor time of the process in ns.
func processor(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// frameOf is frame k of a stream, as the servers of 2026 send it.
func frameOf(endpoint string, i, k int) string {
	switch endpoint {
	case "chat":
		return fmt.Sprintf(`{"id":"chatcmpl-%032x","object":"chat.completion.chunk","created":1790000000,"model":"model","choices":[{"index":0,"delta":{"content":" w%d"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`, i, k)
	case "generate":
		return fmt.Sprintf(`{"text":" w%d","output_ids":[%d],"meta_info":{"id":"%032x","finish_reason":null,"prompt_tokens":9,"weight_version":"default","completion_tokens":%d,"cached_tokens":0,"e2e_latency":0.25}}`, k, k, i, k+1)
	}
	return fmt.Sprintf(`{"id":"cmpl-%032x","object":"text_completion","created":1790000000,"model":"model","choices":[{"index":0,"text":" w%d","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":null}`, i, k)
}

// writeRun writes a capture: every stream has a frame each 20 ms, and what came
// goes to the file twice a second.
func writeRun(b *testing.B, path, endpoint string, streams, frames int) {
	w, err := bench.OpenWriter(path, bench.New)
	if err != nil {
		b.Fatal(err)
	}
	put := func(recs ...any) {
		if err := w.Write(recs...); err != nil {
			b.Fatal(err)
		}
	}
	put(&bench.Run{Kind: bench.KindRun, Schema: bench.Schema, Command: "bench serve", Options: []byte("{}")})
	const flush = 25
	for k := 0; k < frames; k += flush {
		var recs []any
		for i := range streams {
			q := &bench.Reads{Kind: bench.KindReads, ID: fmt.Sprintf("r%d", i)}
			for j := k; j < min(k+flush, frames); j++ {
				t := int64(j+1)*20_000_000 + int64(i)*78_125
				kernel := t - 23_456 - int64(i*j)
				q.Reads = append(q.Reads, bench.Read{TNS: t, KernelNS: &kernel, B64: []byte(sse(frameOf(endpoint, i, j)))})
			}
			recs = append(recs, q)
		}
		put(recs...)
	}
	last := int64(frames+2) * 20_000_000
	status := 200
	for i := range streams {
		rest := bytes.NewBufferString(sse(fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`, frames)))
		if endpoint == "generate" {
			rest.Reset()
		}
		rest.WriteString(sse("[DONE]"))
		put(&bench.Request{Kind: bench.KindRequest, ID: fmt.Sprintf("r%d", i), Endpoint: endpoint, PromptLen: 9, RequestedOutputLen: frames,
			Status: &status, Reason: "OK", Reads: []bench.Read{{TNS: last, B64: rest.Bytes()}}, End: &bench.RequestEnd{Kind: "eof", TNS: last}})
	}
	put(&bench.End{Kind: bench.KindEnd, DurationNS: last, Reason: bench.EndCompleted})
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

package serving

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"

	"lathe/bench"
)

// flood writes a capture of many requests that are all open at once, their
// reads in lines of 50 as a client flushes them.
func flood(w io.Writer, requests, events int) {
	fmt.Fprintln(w, `{"kind":"run","schema":1,"command":"bench serve","argv":[],"started_at":"","workload":{},"workload_sha256":"","host":{},"build":{},"backend":{},"options":{},"warnings":[]}`)
	const batch = 50
	frame := base64.StdEncoding.EncodeToString([]byte(sse(`{"id":"cmpl-0123456789abcdef","object":"text_completion","created":1790000000,"model":"m","choices":[{"index":0,"text":" word","logprobs":null,"finish_reason":null}],"usage":null}`)))
	for k := 0; k < events; k += batch {
		for i := range requests {
			fmt.Fprintf(w, `{"kind":"reads","id":"r%d","reads":[`, i)
			for j := range batch {
				if j > 0 {
					io.WriteString(w, ",")
				}
				fmt.Fprintf(w, `{"t_ns":%d,"kernel_ns":null,"b64":"%s"}`, int64(k+j+1)*20_000_000+int64(i)*1000, frame)
			}
			fmt.Fprintln(w, "]}")
		}
	}
	last := int64(events+1) * 20_000_000
	done := base64.StdEncoding.EncodeToString([]byte(sse(fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`, events)) + sse("[DONE]")))
	for i := range requests {
		fmt.Fprintf(w, `{"kind":"request","id":"r%d","endpoint":"completions","prompt_len":9,"requested_output_len":%d,"scheduled_ns":0,"admitted_ns":0,"sent_ns":0,"status":200,"reason":"OK","reads":[{"t_ns":%d,"kernel_ns":null,"b64":"%s"}],"end":{"kind":"eof","t_ns":%d}}`+"\n", i, events, last, done, last)
	}
	fmt.Fprintf(w, `{"kind":"end","duration_ns":%d,"reason":"completed"}`+"\n", last)
}

// P132, at a hundredth of its size: the memory of reading a capture follows the
// samples, not the bytes, though every request is open until the end.
func TestP132_MemoryFollowsSamples(t *testing.T) {
	const requests, events = 100, 2000
	var file bytes.Buffer
	z, err := zstd.NewWriter(&file, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	n := &counting{w: z}
	flood(n, requests, events)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if per := float64(file.Len()) / (requests * events); per > 60 {
		t.Errorf("%.1f bytes an event on disk, want at most 60", per)
	}
	before := live()
	dec, err := zstd.NewReader(&file, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	opt := august()
	all := []Semantics{{VLLM, "openai", Completions}, {Harness: Exact}}
	readings := make([]*Reading, len(all))
	for i, s := range all {
		if readings[i], err = NewReading(s, opt); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Scan(bench.NewReader(dec, "flood"), readings...); err != nil {
		t.Fatal(err)
	}
	// Two readings hold a stamp and a word an event, and slack of growing slices.
	held, limit := int64(live())-int64(before), int64(2*requests*events*64)
	if held > limit || limit > n.n/2 {
		t.Errorf("%d bytes held of a capture of %d, want at most %d", held, n.n, limit)
	}
	for _, g := range readings {
		r := g.Result(-1)
		if r.Err != "" || len(r.OutputLens) != requests || r.OutputLens[0].N != events {
			t.Errorf("%s: %+v", r.Semantics, r.Err)
		}
	}
}

type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return c.w.Write(b)
}

func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The cost of a frame, without reading the file.
func BenchmarkFrame(b *testing.B) {
	read := []byte(sse(`{"id":"cmpl-0123456789abcdef","object":"text_completion","created":1790000000,"model":"m","choices":[{"index":0,"text":" word","logprobs":null,"finish_reason":null}],"usage":null}`))
	for _, name := range []string{"vllm:openai", "sglang:sglang-oai", "exact"} {
		b.Run(name, func(b *testing.B) {
			sem, err := ParseSemantics(name)
			if err != nil {
				b.Fatal(err)
			}
			g, err := NewReading(sem, august())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := range b.N {
				g.Reads(&bench.Reads{ID: "r0", Reads: []bench.Read{{TNS: int64(i), B64: read}}})
			}
		})
	}
}

func BenchmarkCapture(b *testing.B) {
	var file bytes.Buffer
	flood(&file, 20, 1000)
	b.SetBytes(int64(file.Len()))
	for range b.N {
		if _, _, err := Read(bench.NewReader(bytes.NewReader(file.Bytes()), "flood"), []Semantics{{Harness: Exact}}, august()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20_000, "ns/event")
}

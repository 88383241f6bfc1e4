package serving

import (
	"fmt"
	"testing"

	"lathe/bench"
)

// FuzzReading: no body and no cut of it stops a reading, and those that do not
// look at read boundaries (SGLang's and the exact one) say the same of any cut.
func FuzzReading(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"text\":\"a\",\"delta\":{\"content\":\"b\"}}],\"usage\":{\"completion_tokens\":3}}\n\ndata: [DONE]\n\n"), byte(3), byte(0))
	f.Add([]byte("{\"text\":\"a\",\"meta_info\":{\"completion_tokens\":1}}\n{\"text\":\"ab\",\"meta_info\":{\"completion_tokens\":0}}\n"), byte(7), byte(2))
	f.Add([]byte("event: error\ndata: {\"error\":{\"message\":\"x\"}}\n\n: c\n\n"), byte(1), byte(1))
	f.Add([]byte(`{"choices":[{"message":{"content":"a"}}],"usage":{"completion_tokens":2}}`), byte(5), byte(5))
	f.Add([]byte("data: {\"text\":\"a\",\"meta_info\":{\"completion_tokens\":1,\"cached_tokens\":3,\"cached_tokens_details\":{\"device\":1,\"storage\":2,\"storage_backend\":\"x\"}}}\n\n"), byte(9), byte(2+64))
	f.Add([]byte("data: {\"choices\":[{\"text\":\"a\"}],\"sglext\":{\"cached_tokens_details\":{\"device\":\"1\",\"host\":null}}}\n\n"), byte(9), byte(0+64))
	names := SemanticsNames()
	kinds := []string{"eof", "cut", "timeout", "http_error"}
	f.Fuzz(func(t *testing.T, body []byte, step, how byte) {
		status, end := 200, int64(9)
		if how&8 != 0 {
			status = 500
		}
		q := bench.Request{ID: "r0", Endpoint: []string{"completions", "chat", "generate"}[int(how)%3], RequestedOutputLen: 4, Status: &status, End: &bench.RequestEnd{Kind: kinds[how>>4&3], TNS: end}}
		for _, name := range names {
			sem, err := ParseSemantics(name)
			if err != nil {
				t.Fatal(err)
			}
			opt := november()
			opt.DisableStream, opt.CacheReport = how&4 != 0, how&64 != 0
			var say [2]string
			for i, size := range []int{len(body), int(step)%17 + 1} {
				g, err := NewReading(sem, opt)
				if err != nil {
					t.Fatal(err)
				}
				for rest := body; len(rest) > 0; {
					n := min(size, len(rest))
					g.Reads(&bench.Reads{ID: "r0", Reads: []bench.Read{{TNS: 5, B64: append([]byte(nil), rest[:n]...)}}})
					rest = rest[n:]
				}
				g.Request(&q)
				r := g.Result(end)
				for k := range r.Requests {
					o := &r.Requests[k]
					say[i] = fmt.Sprint(o.Success, o.TTFT, o.ITL, o.Latency, o.Text, o.Prompt, o.Output, o.ErrorClass)
					if o.Cache != nil {
						say[i] += fmt.Sprint(*o.Cache, r.CacheErr)
					}
				}
				for _, x := range r.Exact {
					say[i] = fmt.Sprint(x.Success, x.ErrorClass, x.ErrorText, x.Gaps, x.FrameTokens, x.Output, x.Prompt, x.Text, x.Keepalives, x.Heartbeats, x.Malformed, x.Unterminated, x.FinishReason, x.Warnings)
				}
			}
			if sem.Harness != VLLM && say[0] != say[1] {
				t.Errorf("%s of %q, cut at %d:\n%s\nwhole:\n%s", name, body, int(step)%17+1, say[1], say[0])
			}
		}
	})
}

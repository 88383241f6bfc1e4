package serving

import (
	"reflect"
	"testing"
)

// A server that was asked for usage sends a frame that SGLang's client would not
// have got: left out, its reading is that of the stream without it, in both
// versions, of completions and of chat; vLLM's and the exact reading keep it.
func TestUsageAsked(t *testing.T) {
	stream := func(endpoint string, usage bool) *wire {
		w := wireOf(endpoint, 9)
		for i, text := range []string{"a", "b", "c"} {
			if endpoint == "chat" {
				w.delta(10*float64(i+1), `{"content":"`+text+`"}`)
			} else {
				w.token(10*float64(i+1), text)
			}
		}
		if usage {
			w.usage(31, 5, 3)
		}
		return w.done(40).end(41, "eof")
	}
	for _, version := range Versions() {
		for endpoint, backend := range map[string]string{"completions": "sglang:sglang-oai", "chat": "sglang:sglang-oai-chat"} {
			opt := Options{Version: version, UsageAsked: true}
			got, want := reading(t, backend, opt, stream(endpoint, true)), reading(t, backend, opt, stream(endpoint, false))
			if got.Unasked != 1 || want.Unasked != 0 {
				t.Errorf("%s %s: %d and %d frames left out", version, backend, got.Unasked, want.Unasked)
			}
			if got.Unasked = 0; !reflect.DeepEqual(got, want) || !got.Requests[0].Success || got.Err != "" {
				t.Errorf("%s %s:\n%+v, without the frame\n%+v", version, backend, got, want)
			}
			asIs := reading(t, backend, Options{Version: version}, stream(endpoint, true))
			if reflect.DeepEqual(asIs, want) || asIs.Unasked != 0 {
				t.Errorf("%s %s: the frame changes nothing where it counts", version, backend)
			}
			for _, other := range []string{"vllm:openai", "exact"} {
				if endpoint == "chat" && other != "exact" {
					other = "vllm:openai-chat"
				}
				a, b := reading(t, other, opt, stream(endpoint, true)), reading(t, other, Options{Version: version}, stream(endpoint, true))
				if !reflect.DeepEqual(a, b) {
					t.Errorf("%s %s: read differently", version, other)
				}
			}
		}
	}
	// A frame with text and usage is one of SGLang's too.
	w := wireOf("completions", 2).json(10, `{"choices":[{"text":"a"}],"usage":{"completion_tokens":1}}`).done(20).end(21, "eof")
	if r := reading(t, "sglang:sglang-oai", Options{Version: Latest, UsageAsked: true}, w); r.Unasked != 0 || !r.Requests[0].Success {
		t.Errorf("%+v", r)
	}
}

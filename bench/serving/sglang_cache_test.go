package serving

import (
	"strings"
	"testing"
)

// cacheOf is SGLang's reading with its cache report.
func cacheOf(t *testing.T, name string, v Version, whole bool, wires ...*wire) *Result {
	t.Helper()
	opt := august()
	opt.Version, opt.CacheReport, opt.DisableStream = v, true, whole
	return reading(t, name, opt, wires...)
}

// native is an answer of /generate with three frames of these meta_info members.
func native(meta ...string) *wire {
	w := wireOf("generate", 3)
	for i, m := range meta {
		all := strings.Repeat("a", i+1)
		w.json(float64(10*(i+1)), `{"text":"`+all+`","meta_info":{"completion_tokens":`+string(rune('1'+i))+`,"prompt_tokens":20`+m+`}}`)
	}
	return w
}

// telling is an answer of an OpenAI endpoint with two frames of text and one with
// these members.
func telling(endpoint, members string) *wire {
	w := wireOf(endpoint, 2)
	for i := range 2 {
		if endpoint == "chat" {
			w.delta(float64(10*(i+1)), `{"content":"a"}`)
		} else {
			w.token(float64(10*(i+1)), "a")
		}
	}
	return w.json(21, "{"+members+"}").done(22)
}

const (
	oneText = `"choices":[{"index":0,"text":""}]`
	noText  = `"choices":[]`
)

// hits writes what a reading kept of each request: the error, the cached tokens
// and their details.
func hits(r *Result) string {
	var b strings.Builder
	for _, o := range r.Requests {
		n, _ := o.Cache.Tokens.MarshalJSON()
		b.WriteString(o.ErrorClass + "|" + string(n) + "|" + o.Cache.Details + "\n")
	}
	return b.String()
}

// What SGLang's client takes out of each kind of frame, and what it adds up.
// Expected are the figures that the client of SGLang 0.5.23 gave for these
// frames; where a release has its own, the one of August is of the row's prompt
// length, 5, in place of the server's.
func TestCacheReport(t *testing.T) {
	sglext := func(details string) string { return `,"sglext":{"cached_tokens_details":` + details + `}` }
	full := `{"device":3,"host":1,"storage":2,"storage_backend":"nixl"}`
	for _, c := range []struct {
		name, backend string
		wires         []*wire
		hits          string
		want          SGLangCache // of November
		class         string
	}{
		{"the last frame of a native answer counts", "sglang", []*wire{native(`,"cached_tokens":9,"cached_tokens_details":{"device":9}`, `,"cached_tokens":6,"cached_tokens_details":`+full)},
			"|6|" + full + "\n", SGLangCache{Prompt: 20, Cached: 6, Detailed: true, Device: 3, Host: 1, Storage: 2, StorageBackend: `"nixl"`, HitRate: 30}, ""},
		{"a native frame without figures takes them back", "sglang", []*wire{native(`,"cached_tokens":9,"cached_tokens_details":{"device":9}`).json(15, `{"x":1}`)},
			"|0|\n", SGLangCache{Prompt: 20}, ""},
		{"no figures", "sglang", []*wire{native("", "")}, "|0|\n", SGLangCache{Prompt: 20}, ""},
		{"empty details are none", "sglang", []*wire{native(`,"cached_tokens":4,"cached_tokens_details":{}`)}, "|4|{}\n", SGLangCache{Prompt: 20, Cached: 4, HitRate: 20}, ""},
		{"null is 0 in details", "sglang", []*wire{native(`,"cached_tokens":4,"cached_tokens_details":{"device":null,"host":4}`)},
			"|4|{\"device\":null,\"host\":4}\n", SGLangCache{Prompt: 20, Cached: 4, Detailed: true, Host: 4, HitRate: 20}, ""},
		{"the last storage names them all", "sglang", []*wire{native(`,"cached_tokens":2,"cached_tokens_details":` + full), native(`,"cached_tokens":2,"cached_tokens_details":{"storage":2,"storage_backend":null}`), native(`,"cached_tokens":1,"cached_tokens_details":{"device":1,"storage_backend":"x"}`)},
			"|2|" + full + "\n|2|{\"storage\":2,\"storage_backend\":null}\n|1|{\"device\":1,\"storage_backend\":\"x\"}\n",
			SGLangCache{Prompt: 60, Cached: 5, Detailed: true, Device: 4, Host: 1, Storage: 4, HitRate: 8.333333333333332}, ""},
		{"a failed request is left out", "sglang", []*wire{native(`,"cached_tokens":4`), native(`,"cached_tokens":7`).json(12, `{"text":"b","meta_info":{"cached_tokens":5}}`)},
			"|4|\nKeyError|5|\n", SGLangCache{Prompt: 20, Cached: 4, HitRate: 20}, ""},
		{"null tokens end the client", "sglang", []*wire{native(`,"cached_tokens":null`)}, "|null|\n", SGLangCache{}, typeError},
		{"a list of details ends the client", "sglang", []*wire{native(`,"cached_tokens":4,"cached_tokens_details":[1]`)}, "|4|[1]\n", SGLangCache{}, attributeError},
		{"a text in details ends the client", "sglang", []*wire{native(`,"cached_tokens":4,"cached_tokens_details":{"host":"4"}`)}, "|4|{\"host\":\"4\"}\n", SGLangCache{}, typeError},

		{"completions, details beside a choice", "sglang-oai", []*wire{telling("completions", oneText+sglext(full)+`,"usage":{"prompt_tokens":40,"completion_tokens":2}`)},
			"|6|" + full + "\n", SGLangCache{Prompt: 40, Cached: 6, Detailed: true, Device: 3, Host: 1, Storage: 2, StorageBackend: `"nixl"`, HitRate: 15}, ""},
		{"completions, the frame that SGLang's server sends fails the request", "sglang-oai", []*wire{telling("completions", noText+sglext(full)), telling("completions", oneText)},
			"IndexError|6|" + full + "\n|0|\n", SGLangCache{Prompt: 5}, ""},
		{"the standard's cached tokens are not looked at", "sglang-oai", []*wire{telling("completions", oneText+`,"usage":{"prompt_tokens":40,"prompt_tokens_details":{"cached_tokens":12}}`)},
			"|0|\n", SGLangCache{Prompt: 40}, ""},
		{"details with nothing in them are details", "sglang-oai", []*wire{telling("completions", oneText+sglext(`{"device":null}`)), telling("completions", oneText+`,"sglext":null`), telling("completions", oneText+sglext("{}"))},
			"|0|{\"device\":null}\n|0|\n|0|\n", SGLangCache{Prompt: 15, Detailed: true}, ""},
		{"what is no object fails the request", "sglang-oai", []*wire{telling("completions", oneText+`,"sglext":[1]`), telling("completions", oneText+sglext(`"x"`)), telling("completions", oneText+sglext(`{"host":"4"}`)), telling("completions", oneText)},
			"AttributeError|0|\nAttributeError|0|\nTypeError|0|\n|0|\n", SGLangCache{Prompt: 5}, ""},
		{"so does a frame that is none", "sglang-oai", []*wire{wireOf("completions", 1).json(1, "7"), telling("completions", oneText)}, "AttributeError|0|\n|0|\n", SGLangCache{Prompt: 5}, ""},
		{"another server's backend", "vllm", []*wire{telling("completions", oneText+sglext(`{"device":4}`))}, "|4|{\"device\":4}\n", SGLangCache{Prompt: 5, Cached: 4, Detailed: true, Device: 4, HitRate: 80}, ""},

		{"chat, a frame without choices", "sglang-oai-chat", []*wire{telling("chat", noText+sglext(full)+`,"usage":{"prompt_tokens":24,"completion_tokens":2}`)},
			"|6|" + full + "\n", SGLangCache{Prompt: 24, Cached: 6, Detailed: true, Device: 3, Host: 1, Storage: 2, StorageBackend: `"nixl"`, HitRate: 25}, ""},
		{"chat, a frame after it that says nothing takes nothing back", "sglang-oai-chat", []*wire{telling("chat", `"sglext":{"cached_tokens_details":{"host":8}}`).json(23, "{}")},
			"|8|{\"host\":8}\n", SGLangCache{Prompt: 5, Cached: 8, Detailed: true, Host: 8, HitRate: 160}, ""},
	} {
		for _, v := range Versions() {
			r := cacheOf(t, "sglang:"+c.backend, v, false, c.wires...)
			if got := hits(r); got != c.hits {
				t.Errorf("%s, %s: kept %q, want %q", c.name, v, got, c.hits)
			}
			checkCache(t, c.name, r, c.want, c.class)
		}
	}
}

// checkCache compares a cache report. The release of August knows the rows'
// prompts only.
func checkCache(t *testing.T, name string, r *Result, want SGLangCache, class string) {
	t.Helper()
	if r.Version == August {
		want.Prompt, want.HitRate = 0, 0
		for _, o := range r.Requests {
			if o.Success {
				want.Prompt += int64(o.RowPrompt)
			}
		}
		want.HitRate = float64(want.Cached) / float64(want.Prompt) * 100
	}
	switch {
	case class != "":
		if r.CacheErr != class || r.Cache != nil || r.SGLang == nil {
			t.Errorf("%s, %s: %q, %+v; want %s behind the metrics", name, r.Version, r.CacheErr, r.Cache, class)
		}
	case r.CacheErr != "" || r.Cache == nil || *r.Cache != want:
		t.Errorf("%s, %s: %q, %+v; want %+v", name, r.Version, r.CacheErr, r.Cache, want)
	}
}

// A chat without streaming is read the same; what ends it there leaves its text.
func TestCacheReportOfWholeAnswers(t *testing.T) {
	whole := func(members string) *wire {
		return wireOf("chat", 2).at(5, `{"choices":[{"message":{"content":"ab"}}],`+members+`}`)
	}
	wires := []*wire{whole(`"usage":{"prompt_tokens":40,"completion_tokens":2},"sglext":{"cached_tokens_details":{"device":10}}`),
		whole(`"usage":{"completion_tokens":2},"sglext":7`), whole(`"usage":null`)}
	for _, v := range Versions() {
		r := cacheOf(t, "sglang:sglang-oai-chat", v, true, wires...)
		if got, want := hits(r), "|10|{\"device\":10}\nAttributeError|0|\nAttributeError|0|\n"; got != want {
			t.Errorf("%s: kept %q, want %q", v, got, want)
		}
		for _, o := range r.Requests {
			if o.Text != "ab" || o.TTFT == 0 {
				t.Errorf("%s, %s: text %q, TTFT %v", v, o.ID, o.Text, o.TTFT)
			}
		}
		checkCache(t, "whole", r, SGLangCache{Prompt: 40, Cached: 10, Detailed: true, Device: 10, HitRate: 25}, "")
	}
}

// Without --cache-report nothing of it is read.
func TestNoCacheReport(t *testing.T) {
	r := reading(t, "sglang:sglang", november(), native(`,"cached_tokens_details":[1],"cached_tokens":null`))
	if r.Cache != nil || r.CacheErr != "" || r.Requests[0].Cache != nil {
		t.Errorf("%+v", r)
	}
}

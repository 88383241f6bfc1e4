package report

import (
	"encoding/json"
	"strings"
	"testing"

	"lathe/bench/serving"
)

// The lines and members of SGLang's cache report, as the client of SGLang 0.5.23
// writes them for these sums.
func TestSGLangCacheReport(t *testing.T) {
	const title = "----------------Cache Hit Details-----------------\n"
	const close = "==================================================\n"
	for _, c := range []struct {
		name       string
		cache      serving.SGLangCache
		lines, key string
	}{
		{"storage", serving.SGLangCache{Prompt: 66, Cached: 21, Detailed: true, Device: 2, Host: 4, Storage: 8, StorageBackend: `"mooncake"`, HitRate: 31.818181818181817},
			"Total prompt tokens:                     66        \n" +
				"Total cached tokens:                     21        \n" +
				"  Device:                                2         \n" +
				"  Host:                                  4         \n" +
				"  Storage (mooncake):                    8         \n" +
				"Cache hit rate:                          31.8%\n" +
				"  Device:                                9.5%\n" +
				"  Host:                                  19.0%\n" +
				"  Storage (mooncake):                    38.1%\n",
			`{"total_prompt_tokens": 66, "total_cached_tokens": 21, "cache_hit_rate_pct": 31.82, "device_cached_tokens": 2, "host_cached_tokens": 4, "storage_cached_tokens": 8, "storage_backend": "mooncake"}`},
		{"no details", serving.SGLangCache{Prompt: 66, Cached: 6, HitRate: 9.090909090909092},
			"Total prompt tokens:                     66        \nTotal cached tokens:                     6         \nCache hit rate:                          9.1%\n",
			`{"total_prompt_tokens": 66, "total_cached_tokens": 6, "cache_hit_rate_pct": 9.09, "device_cached_tokens": null, "host_cached_tokens": null, "storage_cached_tokens": null, "storage_backend": null}`},
		{"details of nothing", serving.SGLangCache{Prompt: 66, Detailed: true},
			"Total prompt tokens:                     66        \nTotal cached tokens:                     0         \nCache hit rate:                          0.0%\n",
			`{"total_prompt_tokens": 66, "total_cached_tokens": 0, "cache_hit_rate_pct": 0.0, "device_cached_tokens": 0, "host_cached_tokens": 0, "storage_cached_tokens": null, "storage_backend": null}`},
		{"a storage without a name", serving.SGLangCache{Prompt: 8, Cached: 8, Detailed: true, Storage: 8, StorageBackend: `""`, HitRate: 100},
			"Total prompt tokens:                     8         \nTotal cached tokens:                     8         \n" +
				"  Device:                                0         \n  Host:                                  0         \n  Storage:                               8         \n" +
				"Cache hit rate:                          100.0%\n" +
				"  Device:                                0.0%\n  Host:                                  0.0%\n  Storage:                               100.0%\n",
			`{"total_prompt_tokens": 8, "total_cached_tokens": 8, "cache_hit_rate_pct": 100.0, "device_cached_tokens": 0, "host_cached_tokens": 0, "storage_cached_tokens": 8, "storage_backend": ""}`},
		{"a name that steers a terminal", serving.SGLangCache{Cached: 1, Detailed: true, Storage: 1, StorageBackend: `"a\u001b[2J\nb"`},
			"Total prompt tokens:                     0         \nTotal cached tokens:                     1         \n" +
				"  Device:                                0         \n  Host:                                  0         \n  Storage (a[2J b):                      1         \n" +
				"Cache hit rate:                          0.0%\n" +
				"  Device:                                0.0%\n  Host:                                  0.0%\n  Storage (a[2J b):                      100.0%\n",
			`{"total_prompt_tokens": 0, "total_cached_tokens": 1, "cache_hit_rate_pct": 0.0, "device_cached_tokens": 0, "host_cached_tokens": 0, "storage_cached_tokens": 1, "storage_backend": "a\u001b[2J\nb"}`},
	} {
		k := &block{}
		k.cache(&c.cache)
		if got, want := k.close(), title+c.lines+close; got != want {
			t.Errorf("%s: %s", c.name, firstDifference(got, want))
		}
		w := &pyJSON{}
		sglangCacheKeys(w, &c.cache)
		if string(w.b) != c.key {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, w.b, c.key)
		}
	}
}

// The report stands behind the goodput in the block's last place, and its lists
// behind all others.
func TestSGLangCachePlaces(t *testing.T) {
	for _, v := range serving.Versions() {
		opt := serving.Options{Version: v, Goodput: []string{"ttft:200"}, CacheReport: true}
		r := loadCorpus(t).results(t, "forty-chat-1", opt, "sglang:sglang-oai-chat")[0]
		run := SGLangRun{Date: goldenDate(), Backend: "sglang-oai-chat", Dataset: "sharegpt", RequestRate: 4, OutputDetails: true}
		text, err := SGLangBlock(run, r)
		if at := strings.Index(text, "Max ITL (ms):"); err != nil || at < 0 || strings.Index(text[at:], "Cache Hit Details") != 68 {
			t.Fatalf("%s: %v\n%s", v, err, text)
		}
		file, err := SGLangResult(run, r)
		if err != nil {
			t.Fatal(err)
		}
		want := "max_concurrent_requests goodput_slos_ms request_goodput slo_attainment slo_attainment_by_metric cache_report input_lens output_lens ttfts itls generated_texts errors cached_tokens cached_tokens_details"
		if v == serving.August {
			want = strings.Replace(want, " goodput_slos_ms request_goodput slo_attainment slo_attainment_by_metric", "", 1)
		}
		if got := strings.Join(keysOf(t, file), " "); !strings.HasSuffix(got, want) {
			t.Errorf("%s: keys %s\nwant at their end %s", v, got, want)
		}
		var lists struct {
			Tokens  []int `json:"cached_tokens"`
			Details []any `json:"cached_tokens_details"`
		}
		if err := json.Unmarshal(file, &lists); err != nil || len(lists.Tokens) != len(r.Requests) || len(lists.Details) != len(r.Requests) {
			t.Errorf("%s: %v, %d and %d items of %d requests", v, err, len(lists.Tokens), len(lists.Details), len(r.Requests))
		}
	}
}

// A client that ends in its cache report has neither block nor file.
func TestSGLangCacheEnds(t *testing.T) {
	r := loadCorpus(t).results(t, "forty-chat-1", serving.Options{Version: serving.November, CacheReport: true}, "sglang:sglang-oai-chat")[0]
	r.Cache, r.CacheErr = nil, "TypeError"
	run := SGLangRun{Date: goldenDate(), Backend: "sglang-oai-chat", Dataset: "sharegpt", RequestRate: 4}
	const want = "report sglang:sglang-oai-chat: the harness ends in TypeError in its cache report and writes no result file"
	if text, err := SGLangBlock(run, r); text != "" || err == nil || err.Error() != want {
		t.Errorf("%q, %v", text, err)
	}
	if file, err := SGLangResult(run, r); file != nil || err == nil || err.Error() != want {
		t.Errorf("%q, %v", file, err)
	}
	var b strings.Builder
	if err := ServingTable(&b, []*serving.Result{r}); err != nil || !strings.Contains(b.String(), "the harness ends in TypeError in its cache report") {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	if err := ServingJSON(&b, []*serving.Result{r}); err != nil || !strings.Contains(b.String(), `"cache_report_error": "TypeError"`) {
		t.Errorf("%v: %.300s", err, b.String())
	}
}

// keysOf are the names of a JSON object in their order.
func keysOf(t *testing.T, object []byte) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(object)))
	var names []string
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		if delim, ok := token.(json.Delim); ok {
			if depth += map[json.Delim]int{'{': 1, '}': -1}[delim]; depth == 0 {
				return names
			}
			continue
		}
		names = append(names, token.(string))
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			t.Fatal(err)
		}
	}
}

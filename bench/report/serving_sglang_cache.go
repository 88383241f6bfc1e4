package report

import (
	"fmt"
	"strconv"

	"lathe/bench/frame"
	"lathe/bench/serving"
)

// cache prints SGLang's cache report.
func (k *block) cache(c *serving.SGLangCache) {
	k.title("Cache Hit Details", '-')
	places := []struct {
		label  string
		tokens int64
	}{{"  Device:", c.Device}, {"  Host:", c.Host}, {storageLabel(c.StorageBackend), c.Storage}}
	if c.Storage <= 0 {
		places = places[:2]
	}
	if !c.Detailed || c.Cached <= 0 {
		places = nil
	}
	k.line("Total prompt tokens:", c.Prompt)
	k.line("Total cached tokens:", c.Cached)
	for _, p := range places {
		k.line(p.label, p.tokens)
	}
	k.percent("Cache hit rate:", c.HitRate)
	for _, p := range places {
		k.percent(p.label, float64(p.tokens)/float64(c.Cached)*100)
	}
}

// percent is a line whose value is not padded.
func (k *block) percent(label string, x float64) {
	fmt.Fprintf(&k.b, "%-*s %.1f%%\n", labelWidth, label, x)
}

// storageLabel names the storage where the server did; what would steer a
// terminal is left out.
func storageLabel(backend string) string {
	var d frame.Doc
	if d.Parse([]byte(backend)) != nil || !d.Root().Truthy() {
		return "  Storage:"
	}
	name := d.Root().Raw()
	if d.Root().Is(frame.String) {
		name = d.Root().Text()
	}
	return "  Storage (" + plain(name) + "):"
}

// sglangCacheKeys writes the cache report as SGLang's result file has it.
func sglangCacheKeys(w *pyJSON, c *serving.SGLangCache) {
	told := func(n int64, there bool) any {
		if !there {
			return nil
		}
		return n
	}
	w.object(func() {
		w.set("total_prompt_tokens", c.Prompt)
		w.set("total_cached_tokens", c.Cached)
		w.set("cache_hit_rate_pct", twoDecimals(c.HitRate))
		w.set("device_cached_tokens", told(c.Device, c.Detailed))
		w.set("host_cached_tokens", told(c.Host, c.Detailed))
		w.set("storage_cached_tokens", told(c.Storage, c.Storage > 0))
		w.with("storage_backend", func() { w.raw(c.StorageBackend) })
	})
}

// servingCache writes the cache report, or what ended it, where one was asked
// for.
func servingCache(w *pyJSON, r *serving.Result) {
	switch {
	case r.Cache != nil:
		w.with("cache_report", func() { sglangCacheKeys(w, r.Cache) })
	case r.CacheErr != "":
		w.set("cache_report_error", r.CacheErr)
	}
}

// cacheLists writes the two lists of requests that SGLang's result file has of
// the cache with --output-details.
func cacheLists(w *pyJSON, r *serving.Result) {
	each := func(name string, write func(c *serving.CacheHit)) {
		w.with(name, func() {
			w.array(func() {
				for i := range r.Requests {
					write(r.Requests[i].Cache)
				}
			})
		})
	}
	each("cached_tokens", func(c *serving.CacheHit) { w.value(countValue(c.Tokens)) })
	each("cached_tokens_details", func(c *serving.CacheHit) { w.raw(c.Details) })
}

// twoDecimals is Python's round(x, 2): to the nearest, a tie of the exact value
// to even.
func twoDecimals(x float64) float64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 2, 64), 64)
	if err != nil {
		return x
	}
	return f
}

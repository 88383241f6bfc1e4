package serving

import "lathe/bench/frame"

// CacheHit is what SGLang's client keeps of one answer for its cache report.
type CacheHit struct {
	Tokens  Count  // prompt tokens from a cache; null and what is no whole number is the zero Count
	Details string // JSON text of where they were; "" for none
}

// SGLangCache is SGLang's cache report: sums over the requests that succeeded.
type SGLangCache struct {
	Prompt, Cached        int64
	Detailed              bool // an answer said where its tokens were
	Device, Host, Storage int64
	StorageBackend        string  // JSON text, of the last answer with tokens from a storage; "" for none
	HitRate               float64 // percent of Prompt; 0 where there is none
}

// cacheFrames is the part of a response that the cache report takes.
type cacheFrames struct {
	tokens  Count
	details []byte
}

func (c *cacheFrames) hit() *CacheHit { return &CacheHit{c.tokens, string(c.details)} }

// meta takes a frame of the native protocol: each replaces what was known, one
// that says nothing too.
func (c *cacheFrames) meta(root frame.Value) failure {
	c.tokens, c.details = counted(0), c.details[:0]
	meta := root.Get("meta_info")
	if !meta.Truthy() {
		return failure{}
	}
	if !meta.Is(frame.Object) {
		return python(attributeError)
	}
	if n := meta.Get("cached_tokens"); !n.Is(frame.Missing) {
		c.tokens = countOf(n)
	}
	c.details = append(c.details, jsonOf(meta.Get("cached_tokens_details"))...)
	return failure{}
}

// extension takes a frame of an OpenAI protocol, where SGLang's server puts the
// details into an object of its own.
func (c *cacheFrames) extension(root frame.Value) failure {
	ext := root.Get("sglext")
	if !ext.Truthy() {
		return failure{}
	}
	if !ext.Is(frame.Object) {
		return python(attributeError)
	}
	details := ext.Get("cached_tokens_details")
	if !details.Truthy() {
		return failure{}
	}
	if !details.Is(frame.Object) {
		return python(attributeError)
	}
	sum := counted(0)
	for _, key := range [...]string{"device", "host", "storage"} {
		n, ok := termOf(details.Get(key))
		if !ok {
			return python(typeError)
		}
		sum.N, sum.Valid = sum.N+n.N, sum.Valid && n.Valid
	}
	c.tokens, c.details = sum, append(c.details[:0], details.Raw()...)
	return failure{}
}

// termOf is a value as a term of a sum, 0 where it says nothing; not ok where
// Python cannot add it.
func termOf(v frame.Value) (n Count, ok bool) {
	if !v.Truthy() {
		return counted(0), true
	}
	switch v.Kind() {
	case frame.String, frame.Array, frame.Object:
		return Count{}, false
	}
	return countOf(v), true
}

// cacheReport adds up what the answers said; class is that of the exception that
// ends SGLang's client in it, "" for none.
func cacheReport(requests []Outcome, doc *frame.Doc) (c *SGLangCache, class string) {
	c = &SGLangCache{}
	for i := range requests {
		o := &requests[i]
		if !o.Success {
			continue
		}
		if !o.Prompt.Valid || !o.Cache.Tokens.Valid {
			return nil, typeError
		}
		c.Prompt += o.Prompt.N
		c.Cached += o.Cache.Tokens.N
		if class = c.add(o.Cache.Details, doc); class != "" {
			return nil, class
		}
	}
	if c.Prompt > 0 {
		c.HitRate = float64(c.Cached) / float64(c.Prompt) * 100
	}
	return c, ""
}

// add takes the details of one answer.
func (c *SGLangCache) add(details string, doc *frame.Doc) string {
	if details == "" || doc.Parse([]byte(details)) != nil {
		return ""
	}
	d := doc.Root()
	if !d.Truthy() {
		return ""
	}
	if !d.Is(frame.Object) {
		return attributeError
	}
	c.Detailed = true
	for _, place := range []struct {
		key string
		sum *int64
	}{{"device", &c.Device}, {"host", &c.Host}, {"storage", &c.Storage}} {
		n, ok := termOf(d.Get(place.key))
		if !ok || !n.Valid {
			return typeError
		}
		*place.sum += n.N
		if place.key == "storage" && n.N != 0 {
			c.StorageBackend = jsonOf(d.Get("storage_backend"))
		}
	}
	return ""
}

// jsonOf is the JSON text of a value; "" for none and null.
func jsonOf(v frame.Value) string {
	switch v.Kind() {
	case frame.Missing, frame.Null:
		return ""
	case frame.String:
		return `"` + v.Raw() + `"`
	}
	return v.Raw()
}

package load

import (
	"fmt"
	"strings"
)

// VLLMHeaders reads vLLM's --header values: K=V, both trimmed; one without "="
// is an error.
func VLLMHeaders(flags []string) ([]Header, error) {
	var all []Header
	for _, f := range flags {
		name, value, ok := strings.Cut(f, "=")
		if !ok {
			return nil, fmt.Errorf("header %q: it must be KEY=VALUE", f)
		}
		all = setHeader(all, strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return all, nil
}

// SGLangHeaders reads SGLang's: split at the first "=", malformed ones dropped.
func SGLangHeaders(flags []string) []Header {
	var all []Header
	for _, f := range flags {
		if name, value, ok := strings.Cut(f, "="); ok {
			all = setHeader(all, name, value)
		}
	}
	return all
}

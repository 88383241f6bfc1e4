package serving

import (
	"fmt"
	"slices"
	"strings"
)

// Harness is whose rules a reading follows.
type Harness string

// The harnesses. Exact is ours and has no backends.
const (
	VLLM   Harness = "vllm"
	SGLang Harness = "sglang"
	Exact  Harness = "exact"
)

// Wire is the kind of frames that a backend reads.
type Wire int

// The wires.
const (
	Completions Wire = iota // choices[0].text
	Chat                    // choices[0].delta
	Native                  // text and meta_info, SGLang's /generate
	Responses               // OpenAI's response.* events
)

// Semantics is one reading's name: a harness and one of its backends.
type Semantics struct {
	Harness Harness
	Backend string
	Wire    Wire
}

// String is the name as ParseSemantics takes it.
func (s Semantics) String() string {
	if s.Harness == Exact {
		return string(Exact)
	}
	return string(s.Harness) + ":" + s.Backend
}

// backends are those that the two harnesses know for text.
func backends(h Harness) []Semantics {
	switch h {
	case VLLM:
		return []Semantics{{VLLM, "openai", Completions}, {VLLM, "vllm", Completions}, {VLLM, "openai-chat", Chat}, {VLLM, "openai-responses", Responses}}
	case SGLang:
		return []Semantics{
			{SGLang, "sglang", Native}, {SGLang, "sglang-native", Native},
			{SGLang, "sglang-oai", Completions}, {SGLang, "vllm", Completions}, {SGLang, "lmdeploy", Completions},
			{SGLang, "sglang-oai-chat", Chat}, {SGLang, "vllm-chat", Chat}, {SGLang, "lmdeploy-chat", Chat},
		}
	}
	return nil
}

// ParseSemantics reads "vllm:openai", "sglang:sglang-oai-chat", "exact", ….
func ParseSemantics(name string) (Semantics, error) {
	if name == string(Exact) {
		return Semantics{Harness: Exact}, nil
	}
	h, b, _ := strings.Cut(name, ":")
	all := backends(Harness(h))
	if i := slices.IndexFunc(all, func(s Semantics) bool { return s.Backend == b }); i >= 0 {
		return all[i], nil
	}
	return Semantics{}, fmt.Errorf("semantics %q: not one of %s", name, strings.Join(SemanticsNames(), ", "))
}

// SemanticsNames lists every name that ParseSemantics takes.
func SemanticsNames() []string {
	var names []string
	for _, h := range []Harness{VLLM, SGLang} {
		for _, s := range backends(h) {
			names = append(names, s.String())
		}
	}
	return append(names, string(Exact))
}

// wireOfEndpoint is what an endpoint of a capture sends.
func wireOfEndpoint(endpoint string) (Wire, bool) {
	wire, ok := map[string]Wire{"completions": Completions, "chat": Chat, "generate": Native, "responses": Responses}[endpoint]
	return wire, ok
}

// Fitting is the semantics of each harness that fit an endpoint of a capture
// (completions, chat, generate, responses), their default backends first.
func Fitting(endpoint string) []Semantics {
	wire, ok := wireOfEndpoint(endpoint)
	var all []Semantics
	for _, h := range []Harness{VLLM, SGLang} {
		for _, s := range backends(h) {
			if ok && s.Wire == wire {
				all = append(all, s)
				break
			}
		}
	}
	return append(all, Semantics{Harness: Exact})
}

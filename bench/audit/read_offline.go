package audit

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"lathe/bench/frame"
)

// traits lists members of an object as traits, those that are there.
func (f *File) traits(v frame.Value, refuses bool, keys ...string) {
	for _, key := range keys {
		x := v.Get(key)
		if x.Is(frame.Missing) || x.Is(frame.Null) {
			continue
		}
		value := x.Raw()
		if x.Is(frame.String) {
			value = x.Text()
		}
		f.Traits = append(f.Traits, Trait{key, clip(value, 120), refuses})
	}
}

func isVLLMOffline(v frame.Value) bool {
	latency := !v.Get("avg_latency").Is(frame.Missing) && v.Get("latencies").Is(frame.Array)
	throughput := !v.Get("elapsed_time").Is(frame.Missing) && !v.Get("tokens_per_second").Is(frame.Missing)
	return latency || throughput
}

// readVLLMOffline reads the results of vLLM's bench latency and throughput.
func readVLLMOffline(v frame.Value, _ Options) (*File, error) {
	f := &File{Form: "result of vLLM's bench latency", Kind: Offline, Harness: VLLM}
	question := "whole generate calls, one batch at a time"
	if v.Get("avg_latency").Is(frame.Missing) {
		f.Form, question = "result of vLLM's bench throughput", "all requests at once, to the last token"
	}
	f.Traits = []Trait{{"timed", question, true}}
	f.traits(v, true, "model_id", "num_requests", "total_num_tokens")
	f.Work.Model = v.Get("model_id").Text()
	f.warn("batch, lengths and the prefix cache are not told by the file")
	return f, nil
}

// isOneBatch tells a row of SGLang's one_batch, one_batch_server or of our
// bench one-batch.
func isOneBatch(v frame.Value) bool {
	return !v.Get("run_name").Is(frame.Missing) && !v.Get("batch_size").Is(frame.Missing) && (!v.Get("prefill_latency").Is(frame.Missing) || !v.Get("last_ttft").Is(frame.Missing))
}

// readOneBatch reads all rows of a sweep: they belong together.
func readOneBatch(texts [][]byte, entry int) (*File, error) {
	if entry > 0 {
		return nil, errors.New("the rows of a sweep belong together: they have no numbers here")
	}
	f := &File{Form: "result rows of SGLang's one_batch", Kind: Offline, Harness: SGLang, Entry: 1, Entries: 1}
	question := "synchronised steps of an engine in the process, one prefill a point"
	seen := map[string][]string{}
	var points []string
	for i, text := range texts {
		var d frame.Doc
		if err := d.Parse(text); err != nil {
			return nil, err
		}
		v := d.Root()
		if !isOneBatch(v) {
			return nil, fmt.Errorf("one_batch result: line %d is no row of it", i+1)
		}
		if !v.Get("last_ttft").Is(frame.Missing) {
			f.Form, question = "result rows of SGLang's one_batch_server", "whole batches sent to a server, one run a point"
		}
		if v.Get("semantics").Text() == "step" {
			f.Form, f.Harness, question = "result rows of bench one-batch", Lathe, "synchronised steps of an engine in the process"
		}
		if p := fmt.Sprintf("%s x %s + %s", v.Get("batch_size").Raw(), v.Get("input_len").Raw(), v.Get("output_len").Raw()); len(points) < 64 {
			points = append(points, clip(p, 60))
		}
		for _, key := range []string{"model", "backend", "graph", "run_name"} {
			if x := v.Get(key).Text(); x != "" && !slices.Contains(seen[key], x) && len(seen[key]) < 16 {
				seen[key] = append(seen[key], clip(x, 80))
			}
		}
	}
	f.Traits = []Trait{{"timed", question, true}, {"points", strings.Join(points, ", "), true}}
	for _, key := range []string{"model", "backend", "graph", "run_name"} {
		if len(seen[key]) > 0 {
			f.Traits = append(f.Traits, Trait{key, strings.Join(seen[key], ", "), key == "model"})
		}
	}
	if len(seen["model"]) == 0 {
		f.warn("model and machine are not told by the file")
	}
	return f, nil
}

func isSGLangThroughput(v frame.Value) bool {
	return !v.Get("successful_requests").Is(frame.Missing) && !v.Get("total_latency").Is(frame.Missing)
}

// readSGLangThroughput reads the result of SGLang's offline_throughput.
func readSGLangThroughput(v frame.Value, _ Options) (*File, error) {
	f := &File{Form: "result of SGLang's offline_throughput", Kind: Offline, Harness: SGLang, Traits: []Trait{{"timed", "all requests at once, to the last token", true}}}
	f.traits(v, true, "backend", "successful_requests", "total_input_tokens", "total_output_tokens")
	f.warn("model and machine are not told by the file")
	return f, nil
}

func isLlama(v frame.Value) bool {
	if v.Is(frame.Array) {
		v = v.First()
	}
	return !v.Get("build_commit").Is(frame.Missing) && !v.Get("n_prompt").Is(frame.Missing) && !v.Get("n_gen").Is(frame.Missing)
}

// llamaKeys are those whose values two files must share, and those that are
// only worth knowing.
func llamaKeys() (must, noted []string) {
	return []string{"model_filename", "model_type", "model_size", "model_n_params", "cpu_info", "gpu_info", "backends", "n_batch", "n_ubatch", "n_threads",
		"type_k", "type_v", "n_gpu_layers", "split_mode", "no_kv_offload", "flash_attn"}, []string{"build_commit", "build_number"}
}

// readLlama reads llama-bench's JSON (an array) or JSONL (a test a line).
func readLlama(texts [][]byte, entry int) (*File, error) {
	if entry > 0 {
		return nil, errors.New("llama-bench's tests belong together: they have no numbers here")
	}
	l := newLlama()
	for _, text := range texts {
		var d frame.Doc
		if err := d.Parse(text); err != nil {
			return nil, err
		}
		tests := d.Root().All()
		if d.Root().Is(frame.Object) {
			tests = func(yield func(frame.Value) bool) { yield(d.Root()) }
		}
		for v := range tests {
			if !isLlama(v) {
				return nil, errors.New("llama-bench result: an entry that is no test of it")
			}
			l.add(func(key string) (string, bool) {
				x := v.Get(key)
				if x.Is(frame.String) {
					return x.Text(), true
				}
				return x.Raw(), !x.Is(frame.Missing)
			})
		}
	}
	return l.file()
}

// isLlamaCSV tells llama-bench's CSV by its first line.
func isLlamaCSV(data []byte) bool {
	line, _, _ := strings.Cut(string(data[:min(len(data), headSize)]), "\n")
	return strings.HasPrefix(strings.ReplaceAll(line, `"`, ""), "build_commit,") && strings.Contains(line, "n_prompt")
}

func readLlamaCSV(data []byte, entry int) (*File, error) {
	if entry > 0 {
		return nil, errors.New("llama-bench's tests belong together: they have no numbers here")
	}
	r := csv.NewReader(strings.NewReader(string(data)))
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("llama-bench result: %w", err)
	}
	header = slices.Clone(header)
	l := newLlama()
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return l.file()
		}
		if err != nil {
			return nil, fmt.Errorf("llama-bench result: %w", err)
		}
		l.add(func(key string) (string, bool) {
			if i := slices.Index(header, key); i >= 0 {
				return row[i], true
			}
			return "", false
		})
	}
}

// llama gathers the tests of a file.
type llama struct {
	values map[string][]string // of each key, once each
	tests  []string
}

func newLlama() *llama { return &llama{values: map[string][]string{}} }

func (l *llama) add(get func(key string) (string, bool)) {
	must, noted := llamaKeys()
	for _, key := range append(must, noted...) {
		if v, ok := get(key); ok && !slices.Contains(l.values[key], v) && len(l.values[key]) < 16 {
			l.values[key] = append(l.values[key], v)
		}
	}
	p, _ := get("n_prompt")
	g, _ := get("n_gen")
	depth, _ := get("n_depth")
	test := "pp" + p
	if p == "0" || p == "" {
		test = "tg" + g
	} else if g != "0" && g != "" {
		test = "pp" + p + "+tg" + g
	}
	if depth != "" && depth != "0" {
		test += " @ d" + depth
	}
	if test = clip(test, 60); !slices.Contains(l.tests, test) && len(l.tests) < 64 {
		l.tests = append(l.tests, test)
	}
}

func (l *llama) file() (*File, error) {
	if len(l.tests) == 0 {
		return nil, errors.New("llama-bench result: no test in it")
	}
	f := &File{Form: "llama-bench result", Kind: Offline, Harness: LlamaBench, Entry: 1, Entries: 1, Traits: []Trait{
		{"timed", "prompt and decode runs of one sequence, mean tokens/s, not synchronised by step, nothing sampled", true},
		{"tests", strings.Join(l.tests, ", "), true}}}
	must, noted := llamaKeys()
	for _, set := range []struct {
		keys    []string
		refuses bool
	}{{must, true}, {noted, false}} {
		for _, key := range set.keys {
			if v := l.values[key]; len(v) > 0 && strings.Join(v, "") != "" {
				f.Traits = append(f.Traits, Trait{key, clip(strings.Join(v, ", "), 120), set.refuses})
			}
		}
	}
	return f, nil
}

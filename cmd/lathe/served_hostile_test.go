package main

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// steering holds what a terminal, a table or a page would act on.
const steering = "a\x1b[31m|b\n| **c**,\"d\"\r\n<script>\u009b31m\x7f\u202e\u2066\x00end"

// poisoned replaces every text of a JSON tree but those under the keys in keep.
func poisoned(v any, keep ...string) any {
	switch v := v.(type) {
	case string:
		return steering
	case []any:
		for i := range v {
			v[i] = poisoned(v[i], keep...)
		}
	case map[string]any:
		for k := range v {
			if !slices.Contains(keep, k) {
				v[k] = poisoned(v[k], keep...)
			}
		}
	}
	return v
}

// eachLine rewrites the lines of a capture.
func eachLine(t *testing.T, from, to string, change func(line map[string]any)) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var line map[string]any
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.UseNumber()
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		change(line)
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	write(t, to, out.String())
}

// TestServedHostileCapture: no text of a capture steers the terminal or becomes markup, whatever it is
// of; options that no run could have had are refused in one line.
func TestServedHostileCapture(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{})
	for _, harness := range []string{"--harness exact --input-len 8 --output-len 4 --goodput ttft:100", "--random-input-len 8 --random-output-len 4 --probe-request-rate 900",
		"--harness sglang --backend sglang-oai --dataset-name random-ids --random-input-len 8 --random-output-len 4"} {
		os.Remove("c.jsonl")
		serveOK(t, s, append([]string{"--model", "preset:tiny", "--num-prompts", "3", "--request-rate", "900", "--raw", "c.jsonl"}, strings.Fields(harness)...)...)
		failed := map[any]int{}
		eachLine(t, "c.jsonl", "h.jsonl", func(line map[string]any) {
			if kind := line["kind"]; kind == "request" || kind == "probe" {
				if failed[kind]++; failed[kind] == 1 { // one that failed, with words of its own
					line["error"], line["error_class"], line["status"] = "x", "x", nil
					line["end"] = map[string]any{"kind": "cut", "t_ns": 5}
				}
			}
			poisoned(line, "kind", "endpoint", "harness", "harness_version", "backend", "percentile_metrics", "metric_percentiles", "goodput", "tokenizer", "b64", "request_rate",
				"burstiness", "reads", "metadata")
		})
		for _, format := range []string{"text", "markdown", "csv", "json", "html"} {
			code, stdout, stderr := latheWith(t, nil, "report", "h.jsonl", "--format", format)
			if code != 0 {
				t.Errorf("%s: exit %d: %s", format, code, stderr)
				continue
			}
			for _, text := range []string{stdout, stderr} {
				if at := strings.IndexFunc(text, func(r rune) bool {
					// JSON as Python writes it leaves DEL as it is.
					return unicode.IsControl(r) && r != '\n' && (r != '\t' || format != "html") && (r != 0x7f || format != "json") || r == 0x202e || r == 0x2066
				}); at >= 0 {
					t.Errorf("%s: control characters in %q", format, text[max(0, at-60):min(len(text), at+60)])
				}
			}
			if (format == "markdown" || format == "html") && strings.Contains(stdout, "<script>") {
				t.Errorf("%s: markup", format)
			}
			if format == "json" && !json.Valid([]byte(stdout)) {
				t.Error("no JSON")
			}
		}
	}
	for name, change := range map[string]func(o map[string]any){
		"backend": func(o map[string]any) { o["server"].(map[string]any)["backend"] = "nobody" },
		"harness": func(o map[string]any) { o["harness"] = "nobody" },
		"ramp":    func(o map[string]any) { o["traffic"].(map[string]any)["ramp_up_strategy"] = "linear" },
		"percent": func(o map[string]any) { o["result"].(map[string]any)["metric_percentiles"] = "x" },
		"version": func(o map[string]any) { o["harness_version"] = "1999" },
		"closed":  func(o map[string]any) { o["traffic"].(map[string]any)["arrival"] = "closed" },
	} {
		eachLine(t, "c.jsonl", "bad.jsonl", func(line map[string]any) {
			if line["kind"] == "run" {
				change(line["options"].(map[string]any))
			}
		})
		code, stdout, stderr := latheWith(t, nil, "report", "bad.jsonl")
		if code != 2 || stdout != "" || !strings.HasPrefix(stderr, "error: ") {
			t.Errorf("%s: exit %d: %s%.300s", name, code, stderr, stdout)
		}
	}
}

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// captureWith writes a capture of two requests with the options of its header;
// overlap says whether they ran at the same time, reused whether the second took
// the first one's connection.
func captureWith(t *testing.T, options string, overlap, reused bool) *File {
	t.Helper()
	second := 900
	if overlap {
		second = 1
	}
	sum := "a"
	if m := regexp.MustCompile(`"sum":"([a-z]+)"`).FindStringSubmatch(options); m != nil {
		sum = m[1]
	}
	text := fmt.Sprintf(`{"kind":"run","schema":1,"command":"bench serve","workload":{"kind":"serve","model":"m","seed":3,"dataset":"random, 2 requests, sha256 `+sum+`"},"workload_sha256":"x","host":{"os":"linux","arch":"amd64","cpu":"c","cores":2},"options":%s}
{"kind":"request","id":"r0","endpoint":"completions","prompt_len":8,"requested_output_len":4,"scheduled_ns":0,"sent_ns":0,"status":200,"reads":[],"end":{"kind":"eof","t_ns":500},"reused":false}
{"kind":"request","id":"r1","endpoint":"completions","prompt_len":8,"requested_output_len":4,"scheduled_ns":%d,"sent_ns":%d,"status":200,"reads":[],"end":{"kind":"eof","t_ns":1500},"reused":%v}
{"kind":"end","duration_ns":2000,"reason":"completed"}
`, options, second, second, reused)
	path := filepath.Join(t.TempDir(), "c.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// headerOf is a header as bench serve writes it.
func headerOf(harness, traffic, dataset string) string {
	return fmt.Sprintf(`{"harness":%q,"harness_version":"2026-11","server":{"backend":"sglang-oai","proxy":"","ready_check_timeout_sec":0},`+
		`"dataset":{"name":"random","seed":3,"num_prompts":2%s},"traffic":{%s},"body":{"ignore_eos":true},"around":{"warmups":0},"used":{"base_url":"http://a:1","ignore_eos":true}}`, harness, dataset, traffic)
}

// TestCapturesByTheirHeaders: what two captures of ours were made with keeps them
// apart, what a harness makes of their bytes does not.
func TestCapturesByTheirHeaders(t *testing.T) {
	const rate, inf = `"request_rate":6,"burstiness":1,"max_concurrency":null`, `"request_rate":"inf","max_concurrency":null`
	base := headerOf("vllm", rate, "")
	for name, c := range map[string]struct {
		a, b string
		rows string
	}{
		"the same":                  {base, base, ""},
		"nothing told":              {"{}", "{}", ""},
		"two harnesses":             {base, headerOf("sglang", rate, ""), "A4 A5 A6 A15 B1 B3 B4 E14 E15 G7"},
		"two harnesses, at once":    {headerOf("vllm", inf, ""), headerOf("sglang", inf, ""), "B1 B3 B4 E14 E15 G7"},
		"two rates":                 {base, headerOf("vllm", `"request_rate":12,"burstiness":1,"max_concurrency":null`, ""), "A2"},
		"two burstinesses":          {base, headerOf("vllm", `"request_rate":6,"burstiness":0.5,"max_concurrency":null`, ""), "A3"},
		"a limit":                   {base, headerOf("vllm", `"request_rate":6,"burstiness":1,"max_concurrency":4`, ""), "A12"},
		"a ramp":                    {base, headerOf("vllm", `"request_rate":"inf","ramp_up_strategy":"linear","ramp_up_start_rps":1,"ramp_up_end_rps":9,"max_concurrency":null`, ""), "A7"},
		"two seeds":                 {base, strings.Replace(base, `"seed":3`, `"seed":4`, 1), "A14"},
		"two draws of one data set": {base, strings.Replace(base, `"seed":3`, `"seed":4,"sum":"b"`, 1), "A14"},
		"two files, one seed":       {base, strings.Replace(base, `"seed":3`, `"seed":3,"sum":"b"`, 1), "G13"},
		"warm-up":                   {base, strings.Replace(base, `"warmups":0`, `"warmups":2`, 1), "G2"},
		"flushed":                   {base, strings.Replace(base, `"warmups":0`, `"warmups":0,"flush_cache":true`, 1), "G3"},
		"ignore_eos":                {base, strings.ReplaceAll(base, `"ignore_eos":true`, `"ignore_eos":false`), "G6"},
		"temperature":               {base, strings.Replace(base, `"body":{`, `"body":{"temperature":0.7,`, 1), "G7"},
		"profiled":                  {base, strings.Replace(base, `"warmups":0`, `"warmups":0,"profile":true`, 1), "G10"},
		"adapters":                  {base, strings.Replace(base, `"body":{`, `"body":{"lora_modules":["x"],`, 1), "G11"},
		"extra body":                {base, strings.Replace(base, `"body":{`, `"body":{"extra_body":"{\"a\":1}",`, 1), "G12"},
		"proxy":                     {base, strings.Replace(base, `"proxy":""`, `"proxy":"http://p:2"`, 1), "B5"},
		"ready check":               {base, strings.Replace(base, `"ready_check_timeout_sec":0`, `"ready_check_timeout_sec":9`, 1), "G1"},
		"two servers":               {base, strings.Replace(base, `http://a:1`, `http://b:1`, 1), ""},
		"options elsewhere":         {base, strings.Replace(base, `"traffic":{`, `"request_rate":6,"x":{`, 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Compare(captureWith(t, c.a, true, false), captureWith(t, c.b, true, false))
			var ids []string
			for _, f := range got.Rows {
				ids = append(ids, f.ID)
			}
			if rows := strings.Join(ids, " "); rows != c.rows {
				t.Errorf("rows %q, want %q", rows, c.rows)
			}
		})
	}
}

// TestConnectionsOfACapture: a pool shows by a connection that was used again, a
// connection a request only where one was free and not used.
func TestConnectionsOfACapture(t *testing.T) {
	for name, c := range map[string]struct {
		overlap, reused bool
		want            any
	}{
		"used again":              {false, true, false},
		"free and not used":       {false, false, true},
		"all at the same time":    {true, false, nil},
		"used again, overlapping": {true, true, false},
	} {
		if got := deref(captureWith(t, "{}", c.overlap, c.reused).Load.PerConn); got != c.want {
			t.Errorf("%s: a connection a request %v, want %v", name, got, c.want)
		}
	}
}

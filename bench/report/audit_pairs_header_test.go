package report

import (
	"slices"
	"strings"
	"testing"

	"lathe/bench/audit"
)

// asBenchServe is the header of a capture that bench serve wrote.
const asBenchServe = `"options":{"harness":"vllm","server":{"backend":"openai","proxy":"","ready_check_timeout_sec":0},"dataset":{"name":"random","seed":3,"num_prompts":2},` +
	`"traffic":{"request_rate":6,"burstiness":1,"max_concurrency":null},"body":{},"around":{"warmups":0},"used":{"base_url":"http://a:1","ignore_eos":true}},"host":{"os":"linux","arch":"amd64","cpu":"c","cores":2}`

// served is a capture with such a header, parts of which are replaced.
func served(replace ...string) made {
	return made{scenario: "plain-completions-2", by: "capture", edit: [][2]string{{`"options":{}`, strings.NewReplacer(replace...).Replace(asBenchServe)}}}
}

// auditHeaderPairs are pairs that differ in what only a capture tells, and in
// what no scenario holds.
func auditHeaderPairs() []pair {
	const backend, rate = `"harness":"vllm","server":{"backend":"openai"`, `"request_rate":6`
	asSGLang := []string{backend, `"harness":"sglang","server":{"backend":"sglang-oai"`}
	probes := [2]string{`"rtfx": 0.0,`, `"rtfx": 0.0, "probe_completed": 3, "probe_failed": 0,`}
	chatDetails := made{scenario: "plain-chat-2", by: "vllm:openai-chat", version: nov, args: "--save-detailed"}
	return []pair{
		{name: "captures alike", a: served(), b: served()},
		{name: "captures by two harnesses", a: served(), b: served(asSGLang...), rows: "A4 A5 A6 A15 B1 B3 B4 E14 E15 G7"},
		{name: "captures, closed loop and open", a: served(rate, `"arrival":"closed","request_rate":6`), b: served(), rows: "A1"},
		{name: "captures, constant gaps", a: served(rate, `"arrival":"constant","request_rate":6`), b: served(), rows: "A3"},
		{name: "captures, two seeds", a: served(), b: served(`"seed":3`, `"seed":4`), rows: "A14"},
		{name: "captures, a proxy", a: served(), b: served(`"proxy":""`, `"proxy":"http://p:1"`), rows: "B5"},
		{name: "captures, a ready check", a: served(), b: served(`"ready_check_timeout_sec":0`, `"ready_check_timeout_sec":9`), rows: "G1"},
		{name: "captures, warm-ups", a: served(), b: served(`"warmups":0`, `"warmups":2`), rows: "G2"},
		{name: "captures, a flush", a: served(), b: served(`"warmups":0`, `"warmups":0,"flush_cache":true`), rows: "G3"},
		{name: "captures, ignore_eos", a: served(), b: served(`"ignore_eos":true`, `"ignore_eos":false`), rows: "G6"},
		{name: "captures, temperature", a: served(), b: served(`"body":{}`, `"body":{"temperature":0.7}`), rows: "G7"},
		{name: "captures, profiled", a: served(), b: served(`"warmups":0`, `"warmups":0,"profile":true`), rows: "G10"},
		{name: "captures, adapters", a: served(), b: served(`"body":{}`, `"body":{"lora_modules":["x"]}`), rows: "G11"},
		{name: "captures, an extra body", a: served(), b: served(`"body":{}`, `"body":{"extra_body":"{}"}`), rows: "G12"},
		{name: "captures, two servers", a: served(), b: served(`http://a:1`, `http://b:1`)},
		{name: "captures, two machines", a: served(), b: served(`"cores":2`, `"cores":4`), rows: "W2"},
		{name: "captures of completions and of chat", a: made{scenario: "plain-completions-2", by: "capture"}, b: made{scenario: "plain-chat-2", by: "capture"}},
		{name: "capture with an error in an answer", a: made{scenario: "error-mid-completions-2", by: "capture"}, b: made{scenario: "plain-completions-2", by: "capture"}, rows: "E12"},
		{name: "probes in a pool with an end", a: made{scenario: "plain-completions-2", by: "vllm:openai", version: aug, args: "--max-concurrency 4", edit: [][2]string{probes}},
			b: made{scenario: "plain-completions-2", by: "vllm:openai", version: nov, args: "--max-concurrency 4", edit: [][2]string{probes}}, rows: "B2 E14 E15 G9"},
		{name: "chat templates", a: chatDetails, b: made{scenario: "plain-chat-2", by: "sglang:sglang-oai-chat", version: nov, args: "--output-details", edit: [][2]string{{`"total_input_tokens": 86`, `"total_input_tokens": 70`}}}, rows: "B1 B3 B4 B9 C7 D6 D7 E5 E14 E15", oneSided: "D5 E1 E9 E16"},
		{name: "several tokens in the first frames of sglang native, and other work by vllm", a: made{scenario: "eagle-completions-1", by: "vllm:openai", version: nov, args: "--save-detailed"}, b: made{scenario: "native-first-multi-generate-3", by: "sglang:sglang", version: nov, args: "--output-details"}, rows: "B1 B3 B4 B9 C2 C3 C4 C5 C7 D6 E5 E7 E14 E15 G13 W1", oneSided: "D5 E1 E9 E16"},
		{name: "vllm's two clients", a: made{scenario: "plain-completions-2", by: "vllm:openai", version: nov, args: "--save-detailed"}, b: made{scenario: "plain-completions-2", by: "vllm:openai", version: nov, args: "--save-detailed", edit: [][2]string{{`"rtfx": 0.0,`, `"rtfx": 0.0, "max_model_len": 4096,`}}}, rows: "B9"},
		{name: "sglang, with details and without", a: made{scenario: "plain-generate-2", by: "sglang:sglang", version: nov, args: "--output-details"}, b: made{scenario: "plain-generate-2", by: "sglang:sglang", version: nov}},
	}
}

// onlyRemarked are rows that files can never show: they differ on rare streams,
// or are never told.
func onlyRemarked() []string {
	return []string{"B6", "B7", "C1", "C6", "C8", "D2", "G5", "G14", "G16", "G18", "W5"}
}

// TestEveryRowHasAPair: the pairs name each row that can keep two serving files
// apart at least once, and each of the others among their remarks.
func TestEveryRowHasAPair(t *testing.T) {
	c := loadCorpus(t)
	found, remarked := map[string]bool{}, map[string]bool{}
	for _, p := range slices.Concat(auditPairs(), auditHeaderPairs()) {
		for _, id := range strings.Fields(p.rows + " " + p.oneSided) {
			found[id] = true
		}
		for _, r := range audit.Compare(p.a.open(t, c), p.b.open(t, c)).NotTold {
			remarked[r.ID] = true
		}
	}
	for _, r := range audit.Rows() {
		switch only := slices.Contains(onlyRemarked(), r.ID); {
		case r.Never != "" || r.ID == "W4": // of other programs' files: their own tests
		case only && (!remarked[r.ID] || found[r.ID]):
			t.Errorf("%s %s: remarked %v, found %v", r.ID, r.Topic, remarked[r.ID], found[r.ID])
		case !only && !found[r.ID]:
			t.Errorf("no pair is kept apart by %s %s", r.ID, r.Topic)
		}
	}
}

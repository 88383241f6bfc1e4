package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/bench/audit"
	"lathe/bench/serving"
)

// made is a result file, or a capture, made from a scenario of the golden
// corpus.
type made struct {
	scenario string
	by       string // vllm:openai, sglang:sglang, …, capture
	version  serving.Version
	args     string
	info     string      // body of GET /server_info
	metrics  []string    // of vLLM's server, before and after
	edit     [][2]string // text of the file that is replaced, for what no scenario does
	name     string      // of the file
}

func (m *made) write(t *testing.T, c *corpus) string {
	t.Helper()
	at := slices.IndexFunc(c.scenarios, func(s scenario) bool { return s.Name == m.scenario })
	if at < 0 {
		t.Fatalf("no scenario %q", m.scenario)
	}
	s := &c.scenarios[at]
	data, name := lines(t, s.records(t)), "capture.jsonl"
	if harness, backend, ok := strings.Cut(m.by, ":"); ok {
		p := printed{Scenario: m.scenario, Harness: harness, Backend: backend, Args: strings.Fields(m.args), Metrics: m.metrics, ServerInfo: json.RawMessage(m.info)}
		if m.info == "" {
			p.ServerInfo = json.RawMessage("null")
		}
		var err error
		if _, name, data, err = p.render(t, s, m.version); err != nil {
			t.Fatal(err)
		}
		name = filepath.Base(name)
	}
	text := string(data)
	for _, e := range m.edit {
		if !strings.Contains(text, e[0]) {
			t.Fatalf("%s: no %q to replace", m.scenario, e[0])
		}
		text = strings.ReplaceAll(text, e[0], e[1])
	}
	if m.name != "" {
		name = m.name
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func (m *made) open(t *testing.T, c *corpus) *audit.File {
	t.Helper()
	f, err := audit.Open(m.write(t, c), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// accept is a server that tells SGLang's client of an acceptance length.
const accept = `{"internal_states": [{"avg_spec_accept_length": 3.5}], "version": "0"}`

// pair is two files and the rows that apply to them.
type pair struct {
	name     string
	a, b     made
	rows     string // ids of the rows that keep them apart
	oneSided string
}

func idsOf(c *audit.Comparison, effect audit.Effect) string {
	var ids []string
	for _, f := range c.Rows {
		if f.Effect == effect {
			ids = append(ids, f.ID)
		}
	}
	return strings.Join(ids, " ")
}

func TestAuditPairs(t *testing.T) {
	c := loadCorpus(t)
	for _, p := range slices.Concat(auditPairs(), auditHeaderPairs()) {
		t.Run(p.name, func(t *testing.T) {
			got := audit.Compare(p.a.open(t, c), p.b.open(t, c))
			rows, oneSided := idsOf(got, audit.Moves), idsOf(got, audit.OneSided)
			if rows != p.rows || oneSided != p.oneSided {
				var b strings.Builder
				if err := AuditPair(&b, got, "text"); err != nil {
					t.Fatal(err)
				}
				t.Errorf("rows %q, want %q; in one only %q, want %q\n%s", rows, p.rows, oneSided, p.oneSided, b.String())
			}
			if got.Comparable != (p.rows == "") {
				t.Errorf("comparable %v with the rows %q", got.Comparable, p.rows)
			}
			back := audit.Compare(p.b.open(t, c), p.a.open(t, c))
			if there := idsOf(back, audit.Moves); there != rows {
				t.Errorf("the other way round the rows are %q, not %q", there, rows)
			}
		})
	}
}

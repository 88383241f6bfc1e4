package audit

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryRowIsThere compares the ids with those of the published tables.
func TestEveryRowIsThere(t *testing.T) {
	want := map[string]int{"A": 15, "B": 14, "C": 11, "D": 9, "E": 16, "F": 10, "G": 18}
	got := map[string]int{}
	seen := map[string]bool{}
	for _, r := range Rows() {
		if (len(r.Moves) == 0 && r.ID != "E1") == (r.Never == "") {
			t.Errorf("%s: it must either move figures or say why it does not", r.ID)
		}
		if !seen[r.ID] {
			got[r.ID[:1]]++
		}
		seen[r.ID] = true
	}
	for table, n := range want {
		if got[table] != n {
			t.Errorf("table 1%s has %d rows, want %d", table, got[table], n)
		}
	}
	notes, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "spec", "serving-semantics.md"))
	if err != nil {
		t.Skip("the notes are not beside the repository")
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-G][0-9]+) \|`).FindAllStringSubmatch(string(notes), -1) {
		if !seen[m[1]] {
			t.Errorf("%s of the notes is missing", m[1])
		}
	}
}

// all are the files of testdata that are of a serving client.
func servingFiles(t testing.TB) []*File {
	t.Helper()
	var all []*File
	for _, name := range []string{"vllm-python.json", "vllm-rust.json", "vllm-rust-chat.json", "sglang-python.jsonl", "sglang-rust.jsonl", "sglang-rust-oai.jsonl", "aiperf-concurrency.json", "aiperf-rate.json", "guidellm.json", "guidellm-sweep.json"} {
		all = append(all, openFile(t, name))
	}
	return all
}

// TestComparisonIsFair: a file compares with itself; two files differ in the same
// rows either way round, with opposite directions; and no row stands in two
// lists.
func TestComparisonIsFair(t *testing.T) {
	all := servingFiles(t)
	opposite := map[string]string{"higher in B": "lower in B", "lower in B": "higher in B", "either way": "either way", "only in A": "only in B", "only in B": "only in A", "not the same in both": "not the same in both"}
	for i, a := range all {
		if self := Compare(a, a); !self.Comparable || len(self.Rows) > 0 || len(self.RuledOut) > 0 {
			t.Errorf("%s does not compare with itself: %v", a.Name, self.Rows)
		}
		for _, b := range all[i+1:] {
			there, back := Compare(a, b), Compare(b, a)
			if len(there.Rows) != len(back.Rows) {
				t.Fatalf("%s, %s: %d rows and %d the other way round", a.Name, b.Name, len(there.Rows), len(back.Rows))
			}
			for k, f := range there.Rows {
				g := back.Rows[k]
				if f.ID != g.ID || f.A != g.B || f.B != g.A || len(f.Moves) != len(g.Moves) {
					t.Errorf("%s, %s: %s is not itself the other way round", a.Name, b.Name, f.ID)
				}
				for _, m := range f.Moves {
					if !slices.Contains(g.Moves, Move{m.Figure, opposite[m.Direction]}) {
						t.Errorf("%s, %s: %s moves %s %s, and not the opposite the other way round: %v", a.Name, b.Name, f.ID, m.Figure, m.Direction, g.Moves)
					}
				}
			}
			once(t, there)
		}
	}
}

func once(t *testing.T, c *Comparison) {
	t.Helper()
	seen := map[string]string{}
	see := func(id, topic, list string) {
		if other := seen[id+topic]; other != "" && !(id == "G13") {
			t.Errorf("%s, %s: %s stands in %s and in %s", c.A.Name, c.B.Name, id, other, list)
		}
		seen[id+topic] = list
	}
	for _, f := range c.Rows {
		see(f.ID, f.Topic, "the rows")
		if f.A == f.B || len(f.Moves) == 0 {
			t.Errorf("%s, %s: %s differs in nothing, or moves nothing", c.A.Name, c.B.Name, f.ID)
		}
	}
	for _, r := range c.NotTold {
		see(r.ID, r.Topic, "what is not told")
	}
	for _, r := range c.RuledOut {
		see(r.ID, r.Topic, "what is ruled out")
	}
}

// TestClientsOfOneRelease: what keeps the Python and the Rust client of a release
// apart.
func TestClientsOfOneRelease(t *testing.T) {
	for _, c := range []struct{ a, b, rows, oneSided string }{
		{"vllm-python.json", "vllm-rust.json", "A15 B9 D6", "E1 E16"},
		{"sglang-python.jsonl", "sglang-rust.jsonl", "A15 B1 B3 B4 B9 E14 E15", ""},
		{"sglang-rust.jsonl", "sglang-rust-oai.jsonl", "", ""},
		{"eagle-sglang-python-oai.jsonl", "eagle-sglang-rust-oai.jsonl", "B1 B3 B4 B9 D8 E6 E14 E15", ""},
		{"vllm-rust.json", "sglang-rust.jsonl", "A4 A5 A6 A15 C7 E5 G13", "D5 E1 E9"},
		{"aiperf-concurrency.json", "guidellm.json", "A12 E12 G13 G15 W4", "E1"},
		{"aiperf-rate.json", "vllm-python.json", "W4", "E1"},
	} {
		got := Compare(openFile(t, c.a), openFile(t, c.b))
		var rows, oneSided []string
		for _, f := range got.Rows {
			if f.Effect == Moves {
				rows = append(rows, f.ID)
			} else {
				oneSided = append(oneSided, f.ID)
			}
		}
		if strings.Join(rows, " ") != c.rows || strings.Join(oneSided, " ") != c.oneSided {
			t.Errorf("%s, %s: rows %v, one-sided %v; want %s, %s", c.a, c.b, rows, oneSided, c.rows, c.oneSided)
		}
		if got.Comparable != (c.rows == "") {
			t.Errorf("%s, %s: comparable %v", c.a, c.b, got.Comparable)
		}
	}
}

// TestOffline: files that time other things do not compare, those of one program
// do where their runs agree.
func TestOffline(t *testing.T) {
	rows, steps := "../../report/testdata/sweep.rows.jsonl", "../../report/testdata/sweep.jsonl"
	for _, c := range []struct {
		a, b string
		rows []string
	}{
		{"llama-bench.json", "llama-bench.csv", nil},
		{"llama-bench.json", "llama-bench.jsonl", nil},
		{"nvbench.json", "nvbench.json", nil},
		{"one-batch.jsonl", "one-batch.jsonl", nil},
		{steps, steps, nil},
		{"nvbench.json", "llama-bench.json", []string{"W0"}},
		{"vllm-python.json", "vllm-latency.json", []string{"W0"}},
		{"vllm-latency.json", "vllm-throughput.json", []string{"W3"}},
		{"one-batch.jsonl", rows, []string{"W0"}},
		{"one-batch.jsonl", "llama-bench.json", []string{"W0"}},
		{steps, "../../report/testdata/latency.jsonl", []string{"W3", "W3"}},
	} {
		got := Compare(openFile(t, c.a), openFile(t, c.b))
		var ids []string
		for _, f := range got.Rows {
			ids = append(ids, f.ID)
		}
		if !slices.Equal(ids, c.rows) || got.Comparable != (len(c.rows) == 0) {
			t.Errorf("%s, %s: rows %v, comparable %v; want %v", filepath.Base(c.a), filepath.Base(c.b), ids, got.Comparable, c.rows)
		}
	}
}

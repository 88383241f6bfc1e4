package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type goldenFlag struct {
	Names []string `json:"names"`
	Type  *string  `json:"type"`
	Bool  bool     `json:"bool"`
	List  bool     `json:"list"`
}

// goldenFlags reads the flags of the two releases as they declare them.
func goldenFlags(t testing.TB) (groups map[string][]goldenFlag, raw []byte) {
	t.Helper()
	f, err := os.Open("testdata/flags-2026-11.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Flags map[string][]goldenFlag `json:"flags"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Flags, raw
}

func TestGoldenFlagsAreACopy(t *testing.T) {
	_, raw := goldenFlags(t)
	original, err := os.ReadFile(filepath.Join(repoRoot(t), "../shared/golden/flags-2026-11.json"))
	if os.IsNotExist(err) {
		t.Skip("no ../shared/golden beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, original) {
		t.Error("testdata/flags-2026-11.json.gz differs from ../shared/golden")
	}
}

// TestEveryHarnessFlagIsInTheTable counts the names of both releases: each stands in the table with
// its kind and a decision.
func TestEveryHarnessFlagIsInTheTable(t *testing.T) {
	golden, _ := goldenFlags(t)
	names := 0
	for _, group := range slices.Sorted(maps.Keys(golden)) {
		rows, err := loadForeign(group)
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]*foreignFlag{}
		for _, row := range rows {
			for _, n := range row.names {
				if byName[n] == nil { // one name is declared twice, as a value and as a list's alias
					byName[n] = row
				}
			}
		}
		for _, flag := range golden[group] {
			for i, n := range flag.Names {
				names++
				row := byName[n]
				if row == nil {
					t.Errorf("%s: %s is not in the table", group, n)
					continue
				}
				if i > 0 && row.names[0] == n {
					continue
				}
				if want := goldenKind(flag); row.kind != want {
					t.Errorf("%s: %s: kind %d, want %d", group, n, row.kind, want)
				}
			}
		}
	}
	if want := 1168; names != want {
		t.Errorf("%d names, want %d", names, want)
	}
}

func goldenKind(f goldenFlag) flagKind {
	switch {
	case slices.Contains([]string{"--disable-cuda-graph", "--enable-dp-attention"}, f.Names[0]):
		return switchFlag // declared twice; the second declaration leaves the type out
	case f.Names[0] == "--self-timed":
		return switchFlag // with --no-self-timed beside it
	case f.Names[0] == "--hf-token":
		return optionalFlag // bool | str | None
	case f.List, slices.Contains([]string{"--lora-paths", "--lora-target-modules"}, f.Names[0]):
		return repeatFlag // the two take several values though their annotation is a union
	case f.Bool:
		return switchFlag
	}
	return valueFlag
}

// TestTableDecides holds every row to what its decision needs.
func TestTableDecides(t *testing.T) {
	golden, _ := goldenFlags(t)
	built := map[string]bool{}
	flagsOfOurs := map[string]bool{}
	for _, path := range harnessCommands() {
		g := testGrammar(t, path...)
		groups := harnessOf(testCommand(t, path...))
		for _, group := range append(groups.own, groups.other...) {
			built[group] = true
		}
		for _, d := range g.own {
			flagsOfOurs[d.target] = true
		}
	}
	for group := range golden {
		rows, err := loadForeign(group)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if err := decided(row, flagsOfOurs); err != nil {
				t.Errorf("%s: %s: %v", group, row.names[0], err)
			}
			if built[group] == (row.disposition == later) {
				t.Errorf("%s: %s: disposition %s, command built: %v", group, row.names[0], row.disposition, built[group])
			}
		}
	}
}

func decided(row *foreignFlag, flagsOfOurs map[string]bool) error {
	switch row.disposition {
	case ours:
		if !flagsOfOurs[row.detail] {
			return fmt.Errorf("stands for %s, which no command has", row.detail)
		}
	case same, noEffect, refused, later:
		if row.reason == "" || strings.HasSuffix(row.reason, ".") {
			return fmt.Errorf("reason %q", row.reason)
		}
	}
	return nil
}

// TestOurFlagsKeepTheHarnessMeaning: where a flag of ours has the name of a harness flag, it is
// that flag.
func TestOurFlagsKeepTheHarnessMeaning(t *testing.T) {
	for _, path := range harnessCommands() {
		g := testGrammar(t, path...)
		for name, d := range g.own {
			if d.target == name && d.entry != nil && (d.entry.disposition != ours || d.entry.detail != name) {
				t.Errorf("%s: %s is the harness's %v: %s %s", g.command, name, d.entry.names, d.entry.disposition, d.entry.detail)
			}
		}
	}
}

// TestUniquePrefixesStayUnique: every prefix that names one flag in the Python harness names the
// same flag here, whatever flags of ours start alike. The one exception is a whole flag name of
// ours, which the command-line contract fixes.
func TestUniquePrefixesStayUnique(t *testing.T) {
	golden, _ := goldenFlags(t)
	for _, path := range harnessCommands() {
		g := testGrammar(t, path...)
		python := map[string][]string{} // prefix -> flags, each by its first name
		var scripts []goldenFlag
		for _, group := range harnessOf(testCommand(t, path...)).own {
			scripts = append(scripts, golden[group]...)
		}
		for _, flag := range scripts {
			for _, name := range flag.Names {
				for end := len("--x"); end <= len(name); end++ {
					if !slices.Contains(python[name[:end]], flag.Names[0]) {
						python[name[:end]] = append(python[name[:end]], flag.Names[0])
					}
				}
			}
		}
		checkPrefixes(t, g, python)
	}
}

func checkPrefixes(t *testing.T, g *grammar, python map[string][]string) {
	checked := 0
	for prefix, flags := range python {
		if len(flags) != 1 || !strings.HasPrefix(prefix, "--") {
			continue
		}
		want, _, err := g.resolve(flags[0])
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := g.resolve(prefix)
		if err != nil {
			t.Errorf("%s: %s: unique in Python (%s): %v", g.command, prefix, flags[0], err)
			continue
		}
		if own := g.own[prefix]; own != nil && own.rank == onlyOurs {
			t.Logf("%s: %s is a flag of ours; in Python it is short for %s", g.command, prefix, flags[0])
			continue
		}
		if got.identity() != want.identity() {
			t.Errorf("%s: %s is %s, in Python %s", g.command, prefix, got.name, flags[0])
		}
		checked++
	}
	t.Logf("%s: %d unique prefixes", g.command, checked)
}

func TestJudgeForeign(t *testing.T) {
	const tp = "tensor parallelism is not built: one device runs the whole model"
	cases := []struct{ path, in, refusal, warning string }{
		{"one-batch", "--tp-size 1", "", ""},
		{"one-batch", "--tensor-parallel-size=1 --dp 1", "", ""},
		{"one-batch", "--tp-size 2", "--tp-size 2: refused: " + tp, ""},
		{"latency", "-tp 2", "-tp 2: refused: " + tp, ""},
		{"latency", "--tensor_parallel_size 8", "--tensor_parallel_size 8: refused: " + tp, ""},
		{"latency", "--enable-prefix-caching", "--enable-prefix-caching: refused: prefix caching would poison the numbers: a cached prompt is not prefilled", ""},
		{"latency", "--no-enable-prefix-caching", "", ""},
		{"latency", "--enable-prefix-caching=False", "", ""},
		{"one-batch", "--disable-radix-cache", "", ""},
		{"one-batch", "--disable-radix-cache=false", "--disable-radix-cache false: refused: nothing is cached between prompts", ""},
		{"one-batch", "--quantization fp8", "--quantization fp8: refused: fp8 and int4 weights are not built: the weights run as the checkpoint stores them", ""},
		{"one-batch", "--speculative-algorithm EAGLE", "--speculative-algorithm EAGLE: refused: speculative decoding is not built: every step yields one token a sequence", ""},
		{"one-batch", "--dtype auto", "", ""},
		{"one-batch", "--dtype float16", "--dtype float16: refused: weights run in the type the checkpoint stores, arithmetic in the class of the backend", ""},
		{"one-batch", "--attention-backend fa3", "", "--attention-backend: accepted without effect: the kernels are those of --backend; --kernel replaces one"},
		{"latency", "--n 2", "--n 2: refused: parallel sampling is not built: raise --batch-size", ""},
		{"latency", "--use-beam-search", "--use-beam-search: refused: beam search is not built", ""},
		{"latency", "--disable-detokenize", "", ""},
		{"latency", "--cpu-offload-gb 0 --max-num-seqs 4", "", "--max-num-seqs: accepted without effect: a batch is never split: it runs whole, or its point is skipped with the reason"},
		{"generate", "--tp-size 2", "--tp-size 2: refused: " + tp, ""},
	}
	for _, c := range cases {
		path := []string{"bench", c.path}
		if c.path == "generate" {
			path = path[1:]
		}
		p, err := normaliseArgs(tokens(c.in), testGrammar(t, path...))
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		warning, refusal := "", ""
		err = judgeForeign(p.foreign, "lathe "+strings.Join(path, " "), func(format string, args ...any) { warning = fmt.Sprintf(format, args...) })
		if err != nil {
			refusal = err.Error()
		}
		if refusal != c.refusal || warning != c.warning {
			t.Errorf("%s %s:\n refusal %q\n    want %q\n warning %q\n    want %q", c.path, c.in, refusal, c.refusal, warning, c.warning)
		}
	}
}

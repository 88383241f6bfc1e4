package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// testCommand is a command as the program builds it; --harness NAME may follow its words.
func testCommand(t testing.TB, path ...string) *cobra.Command {
	t.Helper()
	app := &application{term: newTerminal(nil, nil), env: func(string) string { return "" }, argv: path}
	cmd, _, rest, err := findCommand(newRootCommand(app), path)
	if err != nil || len(rest) > 0 && rest[0] != "--harness" {
		t.Fatalf("no command %v: %v", path, err)
	}
	return cmd
}

// testGrammar is the grammar of a command as the program builds it.
func testGrammar(t testing.TB, path ...string) *grammar {
	t.Helper()
	g, err := grammarOf(testCommand(t, path...))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// harnessCommands are the commands that stand in for a script of a Python harness.
func harnessCommands() [][]string {
	return [][]string{{"bench", "one-batch"}, {"bench", "latency"}, {"bench", "serve"}, {"bench", "serve", "--harness", "sglang"}}
}

func TestArgvNormalises(t *testing.T) {
	one := []string{"bench", "one-batch"}
	cases := []struct {
		name string
		path []string
		in   string // split at blanks; "_" alone is an empty token
		want string
	}{
		{"list by spaces", one, "--batch-size 1 12 14 --input-len 256 512", "--batch-size=1 --batch-size=12 --batch-size=14 --input-len=256 --input-len=512"},
		{"list by commas", one, "--batch-size 1,12,14", "--batch-size=1 --batch-size=12 --batch-size=14"},
		{"list by repeating", one, "--batch-size 1 --batch-size 12,14", "--batch-size=1 --batch-size=12 --batch-size=14"},
		{"list after equals", one, "--batch-size=1,2 --input-len=3", "--batch-size=1 --batch-size=2 --input-len=3"},
		{"list with a trailing comma", one, "--batch-size 1, 2", "--batch-size=1 --batch-size=2"},
		{"list keeps an empty element for its check", one, "--batch-size 1,,2", "--batch-size=1 --batch-size= --batch-size=2"},
		{"negative numbers are values", one, "--batch-size 0 -1 -2.5 x", "--batch-size=0 --batch-size=-1 --batch-size=-2.5 --batch-size=x"},
		{"a huge negative number is a value", one, "--seed -1e999", "--seed=-1e999"},
		{"prefix of a script flag before server flags", one, "--batch 1 12", "--batch-size=1 --batch-size=12"},
		{"prefix of a switch", one, "--correct", "--correctness-test=true"},
		{"prefix of a flag that only we have", one, "--thr 2", "--threads=2"},
		{"prefix that only a refused flag has", one, "--tensor-p 1", ""},
		{"underscores", one, "--batch_size 4 --run_name a_b", "--batch-size=4 --run-name=a_b"},
		{"alias", one, "--model-path preset:tiny --context-length 64 --random-seed 3", "--model=preset:tiny --max-model-len=64 --seed=3"},
		{"alias of the other harness", one, "--gpu-memory-utilization 0.5 --enforce-eager", "--mem-fraction-static=0.5 --disable-cuda-graph=true"},
		{"negated switch", one, "--no-resume --no_profile", "--resume=false --profile=false"},
		{"negated prefix", one, "--no-correct", "--correctness-test=false"},
		{"negated alias", one, "--no-enforce-eager", "--disable-cuda-graph=false"},
		{"switch with a value", one, "--resume=false", "--resume=false"},
		{"value with equals inside", one, "--kernel attn_decode=./a,b.so silu_mul=x.so", "--kernel=attn_decode=./a,b.so --kernel=silu_mul=x.so"},
		{"a lone dash is a value", one, "--prompt-filename -", "--prompt-filename=-"},
		{"a value that looks like a flag", one, "--run-name=--x", "--run-name=--x"},
		{"an empty value", one, "--run-name _ --resume", "--run-name= --resume=true"},
		{"help", one, "-h", "--help=true"},
		{"positional before the flags", []string{"generate"}, "hello --max-tokens 4", "hello --max-tokens=4"},
		{"positional after --", []string{"generate"}, "--max-tokens 4 -- --hello -h", "--max-tokens=4 -- --hello -h"},
		{"-- ends a list", one, "--batch-size 1 2 -- 3", "--batch-size=1 --batch-size=2 -- 3"},
		{"harness flags leave", one, "--tp-size 1 --attention-backend fa3 --batch-size 2 --lora-paths a b c --page-size 1", "--batch-size=2 --page-size=1"},
		{"vLLM's short names", []string{"bench", "latency"}, "-tp 1 --n 1 -O3 --batch-size 2", "--batch-size=2"},
		{"vLLM's dotted keys", []string{"bench", "latency"}, "--compilation-config.mode 3 --batch-size 2", "--batch-size=2"},
		{"flag with an optional value", []string{"bench", "latency"}, "--hf-token --batch-size 2 --hf-token abc", "--batch-size=2"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := normaliseArgs(tokens(c.in), testGrammar(t, c.path...))
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Fields(c.want); !slices.Equal(got.args(), want) {
				t.Errorf("%s\n got %q\nwant %q", c.in, got.args(), want)
			}
			again, err := normaliseArgs(got.args(), testGrammar(t, c.path...))
			if err != nil || !slices.Equal(again.args(), got.args()) || len(again.foreign) > 0 {
				t.Errorf("second pass: %q, %v", again.args(), err)
			}
		})
	}
}

func tokens(line string) []string {
	out := strings.Fields(line)
	for i, token := range out {
		if token == "_" {
			out[i] = ""
		}
	}
	return out
}

func TestArgvRefuses(t *testing.T) {
	cases := []struct{ name, in, want, hint string }{
		{"unknown flag, nearest ours", "--batchsize 2", "unknown flag: --batchsize: lathe bench one-batch has no such flag", "did you mean --batch-size?"},
		{"unknown flag, swapped letters", "--ouptut-len 2", "unknown flag: --ouptut-len: lathe bench one-batch has no such flag", "did you mean --output-len?"},
		{"unknown flag, nearest theirs", "--triton-attention-reduce-fp32", "unknown flag: --triton-attention-reduce-fp32: lathe bench one-batch has no such flag", "did you mean --triton-attention-reduce-in-fp32?"},
		{"unknown flag, nothing near", "--frobnicate-the-widget", "unknown flag: --frobnicate-the-widget: lathe bench one-batch has no such flag", "lathe bench one-batch --help lists the flags"},
		{"ambiguous prefix", "--speculative-n 1", "--speculative-n: ambiguous: --speculative-ngram-capacity, --speculative-ngram-external-corpus-max-tokens, --speculative-ngram-external-corpus-path, --speculative-ngram-external-sam-budget, --speculative-ngram-match-type, --speculative-ngram-max-bfs-breadth and 4 more", ""},
		{"missing value", "--output-len", "--output-len: needs a value", ""},
		{"missing value before a flag", "--run-name --resume", "--run-name: needs a value", "a value that starts with a dash is written --run-name=--resume"},
		{"missing list", "--batch-size -- 3", "--batch-size: needs a value", ""},
		{"one-letter flag", "-b 3", "unknown flag: -b: lathe bench one-batch has no such flag", ""},
		{"a number where no flag stands", "-5", `unexpected argument: "-5": there are no one-letter flags`, "a positional that starts with a dash stands after --"},
		{"a number behind a positional", "x -1e5 --resume", `unexpected argument: "-1e5": there are no one-letter flags`, ""},
		{"stray positional", "--resume 3", `unexpected argument: "3"`, "--resume takes no value; positionals stand before the flags or after --"},
		{"second value", "--run-name a b", `unexpected argument: "b"`, "--run-name takes one value; positionals stand before the flags or after --"},
		{"negated value flag", "--no-output-len 3", "--no-output-len: --output-len takes a value and cannot be negated", ""},
		{"negated with a value", "--no-resume=true", `--no-resume: a negated flag takes no value: got "true"`, ""},
		{"two dashes and a blank", "--=3", "unknown flag: --: lathe bench one-batch has no such flag", ""},
	}
	g := testGrammar(t, "bench", "one-batch")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := normaliseArgs(tokens(c.in), g)
			if err == nil {
				t.Fatalf("accepted: %s", c.in)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			if c.hint != "" {
				if diff := cmp.Diff(c.hint, err.(*exitError).Hint()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// FuzzArgv feeds the pass tokens separated by line feeds. It must not panic, and what it makes of a
// command line it must leave alone the second time.
func FuzzArgv(f *testing.F) {
	grammars := []*grammar{testGrammar(f, "bench", "one-batch"), testGrammar(f, "bench", "latency"), testGrammar(f, "generate"), testGrammar(f)}
	f.Fuzz(func(t *testing.T, line string, which uint8) {
		g := grammars[int(which)%len(grammars)]
		first, err := normaliseArgs(strings.Split(line, "\n"), g)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("error without a text")
			}
			return
		}
		second, err := normaliseArgs(first.args(), g)
		if err != nil {
			t.Fatalf("second pass refuses %q: %v", first.args(), err)
		}
		if !slices.Equal(first.args(), second.args()) || len(second.foreign) > 0 {
			t.Fatalf("first %q\nsecond %q, foreign %d", first.args(), second.args(), len(second.foreign))
		}
	})
}

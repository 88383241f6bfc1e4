package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readmeBlock is a command of the README and the lines that it shows below it.
func readmeBlock(t *testing.T, command string) (args []string, shown []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repoRoot(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		rest, ok := strings.CutPrefix(line, "    $ "+command)
		if !ok {
			continue
		}
		for _, line := range lines[i+1:] {
			if !strings.HasPrefix(line, "    ") {
				break
			}
			shown = append(shown, line[4:])
		}
		return strings.Fields(strings.TrimPrefix(command, "lathe ") + rest), shown
	}
	t.Fatalf("the README has no command %q", command)
	return nil, nil
}

// TestReadmeShowsWhatIsPrinted: the lines under the README's reading of the
// speculative-decoding case are lines that the command prints, in their order.
func TestReadmeShowsWhatIsPrinted(t *testing.T) {
	args, shown := readmeBlock(t, "lathe report docs/examples/eagle/capture.jsonl")
	t.Chdir(repoRoot(t))
	code, out, stderr := lathe(t, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if len(shown) < 7 {
		t.Fatalf("only %d lines are shown", len(shown))
	}
	printed := strings.Split(out, "\n")
	at := 0
	for _, line := range shown {
		for at < len(printed) && printed[at] != line {
			at++
		}
		if at == len(printed) {
			t.Fatalf("the README shows %q, which is not printed there:\n%s", line, out)
		}
	}
	serve, _ := readmeBlock(t, "lathe bench serve --harness sglang --backend sglang-oai")
	if code, _, stderr := lathe(t, append(serve, "--dry-run")...); code != 0 {
		t.Errorf("the README's client does not even plan: exit %d: %s", code, stderr)
	}
	if _, out, _ = lathe(t, args[:len(args)-2]...); !strings.Contains(out, "mean ITL ms                7.500              7.500") {
		t.Errorf("without an acceptance length SGLang's ITL is not that of frames:\n%s", out)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentedCommandLines: every command line of ours in the documents names a command and flags
// that exist, and takes the values that it is given.
func TestDocumentedCommandLines(t *testing.T) {
	root := repoRoot(t)
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range append(files, filepath.Join(root, "README.md")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range documentedLines(string(data)) {
			seen++
			if err := understood(line); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(file), strings.Join(line, " "), err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d command lines found, expected those of README.md and docs", seen)
	}
}

// documentedLines are the command lines in code blocks, as words; continued lines are joined, and what
// the shell does with the outcome is cut off.
func documentedLines(doc string) (lines [][]string) {
	fenced := false
	joined := ""
	for line := range strings.SplitSeq(doc, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if !fenced && !strings.HasPrefix(line, "    ") {
			continue
		}
		joined += strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		if rest, more := strings.CutSuffix(joined, `\`); more {
			joined = rest
			continue
		}
		words := strings.Fields(joined)
		joined = ""
		if len(words) == 0 || words[0] != "lathe" && words[0] != "bin/lathe" {
			continue
		}
		for i, w := range words {
			if w == ">" || w == ">>" || w == "||" || w == "#" || w == "|" {
				words = words[:i]
				break
			}
		}
		for i, w := range words {
			words[i] = strings.Trim(w, `"`)
		}
		lines = append(lines, words[1:])
	}
	return lines
}

// understood parses a command line as the program does, and runs nothing.
func understood(args []string) error {
	root := newRootCommand(&application{term: newTerminal(nil, nil), env: func(string) string { return "" }})
	cmd, _, rest, err := findCommand(root, args)
	if err != nil {
		return err
	}
	g, err := grammarOf(cmd)
	if err != nil {
		return err
	}
	parsed, err := normaliseArgs(rest, g)
	if err != nil {
		return err
	}
	if err := judgeForeign(parsed.foreign, g.command, func(string, ...any) {}); err != nil {
		return err
	}
	return cmd.Flags().Parse(parsed.args())
}

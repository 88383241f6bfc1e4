package main

import (
	"embed"
	"fmt"
	"strings"
)

// The flags of the two Python harnesses, one file a group of golden/flags-2026-11.json, one row a
// flag: names, kind, disposition, detail, reason, separated by tabs. Nothing of theirs is ignored
// without a word: what we do not have is refused by name, or accepted with a warning that says why
// it changes nothing here.
//
//go:embed flags/*.tsv
var flagFiles embed.FS

// disposition says what becomes of a harness flag.
type disposition string

const (
	ours     disposition = "ours"     // detail: the flag of ours that it is
	same     disposition = "same"     // it asks for what is done anyway; detail: the value that does (others are refused)
	noEffect disposition = "noeffect" // accepted with a warning
	refused  disposition = "refused"  // detail: values, separated by "|", that ask for what is done anyway
	later    disposition = "later"    // the command it belongs to is not built; detail: that command
)

// foreignFlag is one row of the table.
type foreignFlag struct {
	names       []string
	kind        flagKind
	disposition disposition
	detail      string
	reason      string
}

// loadForeign reads one group of the table, such as "sglang_server".
func loadForeign(group string) ([]*foreignFlag, error) {
	data, err := flagFiles.ReadFile("flags/" + group + ".tsv")
	if err != nil {
		return nil, fmt.Errorf("load the flag table: %s: %w", group, err)
	}
	var rows []*foreignFlag
	for n, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row, err := parseForeign(line)
		if err != nil {
			return nil, fmt.Errorf("load the flag table: %s line %d: %w", group, n+1, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func parseForeign(line string) (*foreignFlag, error) {
	cells := strings.Split(line, "\t")
	if len(cells) != 5 {
		return nil, fmt.Errorf("%d cells, want 5: %q", len(cells), line)
	}
	kinds := map[string]flagKind{"switch": switchFlag, "value": valueFlag, "list": repeatFlag, "optional": optionalFlag}
	kind, ok := kinds[cells[1]]
	if !ok {
		return nil, fmt.Errorf("unknown kind %q", cells[1])
	}
	switch d := disposition(cells[2]); d {
	case ours, same, noEffect, refused, later:
		return &foreignFlag{strings.Split(cells[0], ","), kind, d, cells[3], cells[4]}, nil
	}
	return nil, fmt.Errorf("unknown disposition %q", cells[2])
}

// judgeForeign warns about the harness flags that change nothing here and refuses the others; command
// is the command as it is printed.
func judgeForeign(uses []flagUse, command string, warn func(format string, args ...any)) error {
	for _, use := range uses {
		entry := use.decl.entry
		switch {
		case entry.asksForWhatIsDone(use.values):
		case entry.disposition == noEffect:
			warn("%s: accepted without effect: %s", use.written, entry.reason)
		case entry.disposition == ours:
			return usageError(command+" --help lists the flags", "%s: refused: %s has no %s", use.written, command, entry.detail)
		default:
			return usageError("", "%s: refused: %s", strings.Join(append([]string{use.written}, shown(entry, use.values)...), " "), entry.reason)
		}
	}
	return nil
}

// asksForWhatIsDone reports whether the values ask for exactly what Lathe does anyway.
func (f *foreignFlag) asksForWhatIsDone(values []string) bool {
	if f.disposition != same && f.disposition != refused {
		return false
	}
	accepted := f.detail
	if accepted == "" && f.kind == switchFlag {
		accepted = map[disposition]string{same: "true", refused: "false"}[f.disposition]
	}
	for _, v := range values {
		if !containsFold(strings.Split(accepted, "|"), v) {
			return false
		}
	}
	return accepted != ""
}

func containsFold(list []string, v string) bool {
	for _, item := range list {
		if strings.EqualFold(item, v) {
			return true
		}
	}
	return false
}

// shown leaves the "true" of a switch out of messages.
func shown(f *foreignFlag, values []string) []string {
	if f.kind == switchFlag && len(values) == 1 && values[0] == "true" {
		return nil
	}
	return values
}

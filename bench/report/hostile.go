package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// A raw file may come from anybody. What it holds must neither steer the
// terminal that shows its report nor leave the line or the cell it stands in.

// steers says whether a character controls a terminal or turns the direction
// of writing round.
func steers(r rune) bool {
	return unicode.Is(unicode.Cc, r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// printable leaves out what steers, but for line ends and tabs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// plain is text of a file on one line.
func plain(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }

// jsonText writes JSON with what steers as escapes. JSON itself asks for them
// below U+0020 only, and the encoder does no more. Every Write must be whole
// characters, as the encoder's are.
type jsonText struct{ w io.Writer }

func (j jsonText) Write(p []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(p) {
		if steers(r) && r != '\n' {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	if _, err := io.WriteString(j.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// csvText writes CSV of which every field is one line.
type csvText struct{ *csv.Writer }

func newCSV(w io.Writer) csvText { return csvText{csv.NewWriter(w)} }

// Write writes a record; an error shows at Error.
func (c csvText) Write(fields []string) {
	clean := make([]string, len(fields))
	for i, f := range fields {
		clean[i] = plain(f)
	}
	_ = c.Writer.Write(clean)
}

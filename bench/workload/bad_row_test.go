package workload

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// A row that a file cannot mean is named by its line or place, in the words of
// its format and never of this program.
func TestBadRowsAreNamed(t *testing.T) {
	custom := func(r io.Reader) error { _, err := ReadCustom(r); return err }
	lengths := func(r io.Reader) error {
		rows, err := ReadCustom(r)
		for _, row := range rows {
			if _, e := row.OutputTokens(); e != nil {
				err = e
			}
		}
		return err
	}
	chats := func(r io.Reader) error { _, err := ReadConversations(r); return err }
	trace := func(r io.Reader) error {
		_, err := ReadTrace(r, TraceLabels{Timestamp: "t", InputLength: "i", OutputLength: "o", HashIDs: "h"})
		return err
	}
	burst := func(r io.Reader) error {
		_, err := ReadBurstGPT(io.MultiReader(strings.NewReader("Timestamp,Model,Request tokens,Response tokens\n1,GPT-4,2,3\n"), r))
		return err
	}
	ourWords := regexp.MustCompile(`Go value|bufio|json:|strconv|RawMessage|float64|int64`)
	for _, c := range []struct {
		read       func(io.Reader) error
		text, want string
	}{
		{custom, "{\"prompt\":\"a\"}\n[1]\n", "line 2: a JSON array where an object is needed"},
		{custom, "\"a\"", "line 1: a JSON string where an object is needed"},
		{custom, "5", "line 1: a JSON number where an object is needed"},
		{custom, "{\"prompt\"", "line 1: no JSON: unexpected end"},
		{custom, strings.Repeat(" ", maxLine+1), "line 1: longer than 67108864 bytes"},
		{lengths, "{\"prompt\":\"a\",\"output_tokens\":16777217}", "not a count from 1 to 16777216"},
		{lengths, "{\"prompt\":\"a\",\"output_tokens\":\"99999999\"}", "not a count from 1 to 16777216"},
		{lengths, "{\"prompt\":\"a\",\"output_tokens\":0}", "not a count from 1 to 16777216"},
		{chats, "[{}, \"x\"]", "row 1: a JSON string where an object is needed"},
		{chats, "[{}, {", "row 1: no JSON: unexpected EOF"},
		{trace, `{"t":"x","i":1,"o":1}`, `line 1: "t": a JSON string where a number is needed`},
		{trace, `{"t":1,"i":1.5,"o":1}`, `line 1: "i": a JSON number 1.5 where a whole number is needed`},
		{trace, `{"t":1,"i":1,"o":1,"h":"x"}`, `line 1: "h": a JSON string where a list of whole numbers is needed`},
		{trace, `{"t":1,"i":99999999999,"o":1}`, "line 1: 99999999999 prompt and 1 output tokens"},
		{trace, `{"t":1,"i":1,"o":16777217}`, "line 1: 1 prompt and 16777217 output tokens"},
		{burst, "1,GPT-4,99999999999,3\n", `line 3: "99999999999" is no count of tokens`},
		{burst, "1,GPT-4,-3,3\n", `line 3: "-3" is no count of tokens`},
		{burst, "1,GPT-4,2,16777217\n", `line 3: "16777217" is no count of tokens`},
	} {
		err := c.read(strings.NewReader(c.text))
		switch {
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		case ourWords.MatchString(err.Error()):
			t.Errorf("%.60q: %v speaks of this program", c.text, err)
		case !errors.Is(err, ErrRow) && !strings.Contains(err.Error(), "no JSON"):
			t.Errorf("%.60q: %v is no ErrRow", c.text, err)
		}
	}
}

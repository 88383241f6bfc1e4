package bench

import (
	"strings"
	"testing"
)

// TestReadWordsWrongTypes wants the key, what stands there and what belongs there, and no name of a Go type.
func TestReadWordsWrongTypes(t *testing.T) {
	step := func(key, value string) string {
		return head + `{"kind":"step","point":0,"phase":"decode","batch":1,"context_len":9,"` + key + `":` + value + "}\n" + head
	}
	tests := map[string]struct{ data, want string }{
		"a list":             {"[1,2]\n", "line 1: not a record: array where an object belongs"},
		"a number":           {"5\n", "line 1: not a record: number where an object belongs"},
		"a kind that is one": {`{"kind":5}` + "\n", "line 1: not a record: kind: number where a string belongs"},
		"text for a time":    {step("host_ns", `"NaN"`), "line 2: step record: host_ns: string where a whole number of 64 bits belongs"},
		"a fraction":         {step("host_ns", "1.5"), "host_ns: number 1.5 where a whole number of 64 bits belongs"},
		"beyond 64 bits":     {step("host_ns", "9223372036854775808"), "host_ns: number 9223372036854775808 where a whole number"},
		"a number for a bit": {step("warmup", "1"), "warmup: number where true or false belongs"},
		"within the header":  {`{"kind":"run","schema":1,"model":{"weight_bytes":-1}}` + "\n", "run record: model.weight_bytes: number -1 where a whole number of 64 bits, not negative, belongs"},
		"a list for text":    {`{"kind":"run","schema":1,"argv":"lathe"}` + "\n", "argv: string where a list belongs"},
	}
	for name, tt := range tests {
		_, err := read(tt.data)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

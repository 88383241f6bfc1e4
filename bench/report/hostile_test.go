package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"lathe/bench"
)

// hostile holds what a terminal, a table, a CSV field and a web page would act on.
const hostile = "a\x1b[31m|b\n| **c**,\"d\"\r\n<script>\u009b31m\x7f\u202e\u2066\x00end"

// poison replaces every text below v, but for the words that the records are read by.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			if v.Len() > 0 {
				v.SetBytes([]byte("{\"x\":\"\u009b\x7f\u202e\"}"))
			}
			return
		}
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !slices.Contains([]string{"Kind", "Phase", "Status"}, v.Type().Field(i).Name) {
				poison(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString(hostile)
	}
}

// poisonJSON does it to JSON.
func poisonJSON(t *testing.T, data json.RawMessage) json.RawMessage {
	t.Helper()
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			return hostile
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		}
		return v
	}
	out, err := json.Marshal(walk(tree))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What a raw file holds cannot steer a terminal or break out of a table, whichever of its texts
// it is.
func TestHostileText(t *testing.T) {
	f := load(t, "sweep.jsonl")
	reason := ""
	f.Warnings, f.End.Warnings, f.Run.Warnings = []string{""}, []string{""}, []string{""}
	f.Resumes = []bench.Resume{{Warnings: []string{""}, Argv: []string{""}}}
	f.Run.Model = &bench.Model{}
	f.Run.Host.GPUs = []bench.GPU{{}}
	f.Checks = append(f.Checks, bench.Check{Detail: json.RawMessage(`{}`)})
	for i := range f.Points {
		f.Points[i].Reason, f.Points[i].Warnings = &reason, []string{""}
	}
	poison(reflect.ValueOf(f).Elem())
	noModel := *f
	noModel.Run.Model, noModel.End = nil, nil
	roofs := sheetFile(t, 9e6)
	poison(reflect.ValueOf(&roofs.Run).Elem())
	for i, c := range roofs.Checks {
		roofs.Checks[i].Detail = poisonJSON(t, c.Detail)
	}
	for _, f := range []*bench.File{f, &noModel, roofs} {
		for _, format := range Formats() {
			text := string(render(t, f, format))
			if i := strings.IndexFunc(text, func(r rune) bool {
				return unicode.IsControl(r) && r != '\n' && (r != '\t' || format != "html") || r == 0x202e || r == 0x2066
			}); i >= 0 {
				t.Errorf("%s: control characters in %q", format, text[max(0, i-40):min(len(text), i+40)])
			}
			if format == "markdown" && strings.Contains(text, "31m|b") || (format == "markdown" || format == "html") && strings.Contains(text, "<script>") {
				t.Errorf("%s: markup in %q", format, text)
			}
			if format == "json" && !json.Valid([]byte(text)) {
				t.Error("not JSON")
			}
		}
		records, err := csv.NewReader(bytes.NewReader(render(t, f, "csv"))).ReadAll()
		if err != nil || f != roofs && len(records) != 1+len(f.Points) {
			t.Fatalf("csv: %d records, %v", len(records), err)
		}
		if got, want := records[1][2], `a[31m|b | **c**,"d" <script>31mend`; f != roofs && got != want {
			t.Errorf("csv: reason %q, want %q", got, want)
		}
		if lines := strings.Count(string(render(t, f, "csv")), "\n"); lines != len(records) {
			t.Errorf("csv: %d lines of %d records", lines, len(records))
		}
	}
	rows := bytes.Buffer{}
	if err := WriteOneBatchRows(&rows, OneBatchRows(f, hostile)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(rows.String()) {
		var row OneBatchRow
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.RunName != hostile || strings.ContainsAny(line, "\x7f\u009b\u202e") {
			t.Errorf("%v: %q", err, line)
		}
	}
}

package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const head = `{"kind":"run","schema":1,"command":"bench one-batch"}` + "\n"

func read(data string) (*File, error) { return ReadAll(NewReader(strings.NewReader(data), "x.jsonl")) }

func TestReadAccepts(t *testing.T) {
	pt := `{"kind":"point","point":0,"status":"ok","future":{"a":[1]}}`
	tests := map[string]struct {
		data     string
		points   int
		warnings int
	}{
		"unknown keys and kinds":    {head + pt + "\n" + `{"kind":"weather","point":-1}` + "\n", 1, 0},
		"key order":                 {`{"schema":1,"kind":"run"}` + "\n" + `{"status":"ok","kind":"point"}` + "\n", 1, 0},
		"escaped kind":              {head + `{"kind":"p\u006fint","status":"ok"}` + "\n", 1, 0},
		"no last line end":          {head + pt, 1, 0},
		"blank lines, CRLF":         {head + "\r\n\n" + pt + "\r\n\r\n", 1, 0},
		"torn":                      {head + pt + "\n" + pt[:20], 1, 1},
		"torn, with a line end":     {head + pt + "\n" + pt[:20] + "\n", 1, 1},
		"torn within the kind":      {head + pt + "\n" + `{"kin`, 1, 1},
		"torn unknown kind":         {head + pt + "\n" + `{"kind":"weather","x":`, 1, 1},
		"torn at a bracket":         {head + pt + "\n" + "{", 1, 1},
		"no schema counts as known": {`{"kind":"run"}` + "\n", 0, 0},
	}
	for name, tt := range tests {
		f, err := read(tt.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(f.Points) != tt.points || len(f.Warnings) != tt.warnings {
			t.Errorf("%s: %d points, warnings %q", name, len(f.Points), f.Warnings)
		}
	}
}

// TestAhead: what was looked at in advance comes again, in its order; looking behind the end is io.EOF.
func TestAhead(t *testing.T) {
	data := head + `{"kind":"weather"}` + "\n" + `{"kind":"point","point":0,"status":"ok"}` + "\n" + `{"kind":"end","duration_ns":5,"reason":"completed"}` + "\n"
	is := func(kind string) func(any) bool {
		return func(rec any) bool { return fmt.Sprintf("%T", rec) == "*bench."+kind }
	}
	for _, first := range []string{"Run", "Point", "End"} {
		r := NewReader(strings.NewReader(data), "x")
		for range 2 { // the second time from what was kept
			if rec, err := r.Ahead(is(first)); err != nil || !is(first)(rec) {
				t.Fatalf("%s ahead: %T, %v", first, rec, err)
			}
		}
		var kinds []string
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, fmt.Sprintf("%T", rec))
		}
		if diff := cmp.Diff([]string{"*bench.Run", "*bench.Point", "*bench.End"}, kinds); diff != "" {
			t.Errorf("after looking for %s: -want +got\n%s", first, diff)
		}
	}
	r := NewReader(strings.NewReader(data), "x")
	if rec, err := r.Ahead(is("Request")); !errors.Is(err, io.EOF) {
		t.Errorf("no such record: %v, %v", rec, err)
	}
	if rec, err := r.Next(); err != nil || !is("Run")(rec) {
		t.Errorf("after looking in vain: %T, %v", rec, err)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := map[string]struct{ data, want string }{
		"empty":           {"", "no run header"},
		"torn header":     {head[:30], "no run header"},
		"no header":       {`{"kind":"point","status":"ok"}` + "\n", "line 1: not a raw file"},
		"another JSON":    {`{"backend":"vllm","duration":1}` + "\n", "line 1: not a raw file"},
		"torn text":       {"goos: linux", "line 1: not a record"},
		"torn JSON":       {`{"kind":"point","sta`, "line 1: point record"},
		"not JSON":        {"goos: linux\npkg: x\n", "line 1: not a record"},
		"array":           {"[1]\n[2]\n", "line 1: not a record"},
		"newer schema":    {`{"kind":"run","schema":2}` + "\n", "line 1: schema 2 is newer than 1"},
		"second header":   {head + head, "line 2: a second run header"},
		"damaged middle":  {head + `{"kind":"poi` + "\n" + `{"kind":"end"}` + "\n", "line 2:"},
		"damaged unknown": {head + `{"kind":"weather",}` + "\n" + `{"kind":"end"}` + "\n", "line 2: not a JSON object"},
		"wrong type":      {head + `{"kind":"step","phase":"decode","host_ns":"fast"}`, "line 2: step record"},
		"negative time":   {head + `{"kind":"step","phase":"decode","batch":1,"context_len":1,"host_ns":-1}`, "negative"},
		"negative device": {head + `{"kind":"step","phase":"decode","batch":1,"context_len":1,"host_ns":1,"device_ns":-1}`, "negative"},
		"negative check":  {head + `{"kind":"check","name":"x","point":-1}`, "negative point"},
		"overflow":        {head + `{"kind":"step","phase":"decode","batch":1,"context_len":1,"t_ns":9223372036854775807,"host_ns":1}`, "292 years"},
		"phase":           {head + `{"kind":"step","phase":"verify","host_ns":1}`, `"verify"`},
		"status":          {head + `{"kind":"point","status":"great"}`, `"great"`},
		"NaN":             {head + `{"kind":"step","phase":"decode","host_ns":NaN}` + "\n" + `{"kind":"end"}`, "line 2"},
		"null time":       {head + `{"kind":"step","phase":"decode","batch":1,"context_len":1,"host_ns":null}`, "host_ns is missing or null"},
		"no time":         {head + `{"kind":"iteration","iteration":0}`, "host_ns is missing or null"},
		"no batch":        {head + `{"kind":"step","phase":"decode","batch":-4,"context_len":1,"host_ns":5}`, "batch -4"},
		"two kinds":       {head + `{"kind":"end","kind":"step"}` + "\n", "two kinds"},
		"float time":      {head + `{"kind":"step","phase":"decode","host_ns":1.5}`, "line 2"},
		"beyond int64":    {head + `{"kind":"step","phase":"decode","host_ns":9223372036854775808}`, "line 2"},
	}
	for name, tt := range tests {
		_, err := read(tt.data)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", name, err, tt.want)
		}
	}
}

// endless is a line of n bytes that never was in memory.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.n)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.n -= n
	return int(n), nil
}

func TestLongLineIsRefusedBeforeItIsRead(t *testing.T) {
	tail := &endless{n: 1 << 30}
	r := NewReader(io.MultiReader(strings.NewReader(head+`{"kind":"`), tail), "x.jsonl")
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	_, err := r.Next()
	if !errors.Is(err, ErrLineTooLong) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v, want ErrLineTooLong on line 2", err)
	}
	if used := int64(1<<30) - tail.n; used > MaxLine+(1<<20) {
		t.Errorf("read %d bytes before refusing", used)
	}
}

// steps makes a file of any length without holding it.
type steps struct {
	left int
	buf  bytes.Buffer
}

func (s *steps) Read(p []byte) (int, error) {
	for s.buf.Len() == 0 {
		if s.left == 0 {
			return 0, io.EOF
		}
		s.left--
		fmt.Fprintf(&s.buf, `{"kind":"reads","id":"r%d","reads":[{"t_ns":%d,"kernel_ns":null,"b64":"ZGF0YTogeHh4eHh4eHh4eHh4eHh4eAoK"}]}`+"\n", s.left, s.left)
	}
	return s.buf.Read(p)
}

// The stream is 15 MB; the reader must hold a line, not the stream.
func TestP132_ReaderHoldsOneLine(t *testing.T) {
	const n = 150_000
	r := NewReader(io.MultiReader(strings.NewReader(head), &steps{left: n}), "x.jsonl")
	var peak, got uint64
	var m runtime.MemStats
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got++; got%50_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	if got != n+1 {
		t.Errorf("%d records, want %d", got, n+1)
	}
	if peak > 8<<20 {
		t.Errorf("%d bytes live while streaming", peak)
	}
}

func TestReadDecidesCompressionByContent(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl.zst"), 1)
	mustWrite(t, filepath.Join(dir, "renamed.json"), mustRead(t, filepath.Join(dir, "a.jsonl.zst")))
	f, err := ReadFile(filepath.Join(dir, "renamed.json"))
	if err != nil || len(f.Points) != 1 {
		t.Errorf("%v, %v", f, err)
	}
}

func TestCorruptStreamIsAnError(t *testing.T) {
	for _, suffix := range suffixes[1:] {
		path := filepath.Join(t.TempDir(), "raw"+suffix)
		write(t, path, 4)
		data := mustRead(t, path)
		for i := len(data) / 2; i < len(data)/2+8; i++ {
			data[i] ^= 0x55
		}
		mustWrite(t, path, data)
		if f, err := ReadFile(path); err == nil && len(f.Warnings) == 0 {
			t.Errorf("%s: a damaged stream was read as if it were whole", suffix)
		}
	}
}

func FuzzReadFile(f *testing.F) {
	pt := `{"kind":"point","point":0,"status":"ok","reason":null,"memory":{"kv_bytes":1}}` + "\n"
	st := `{"kind":"step","point":0,"phase":"decode","host_ns":5,"device_ns":null,"graph":"none"}` + "\n"
	f.Add([]byte(head + st + pt + `{"kind":"end","duration_ns":9,"reason":"completed"}` + "\n"))
	f.Add([]byte(head + st + `{"kind":"resume","clock":null}` + "\n" + st + pt + pt))
	f.Add([]byte(head + `{"kind":"check","name":"x","ok":true,"detail":{"a": 1}}` + "\n{"))
	f.Add([]byte(head + `{"kind":"reads","id":"r0","reads":[{"t_ns":1,"b64":"AA=="}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ReadAll(NewReader(bytes.NewReader(data), "x"))
		if err != nil {
			return
		}
		// What was read can be written, and reads back as the same.
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		write := func(v any) {
			if err := enc.Encode(v); err != nil {
				t.Fatalf("%+v cannot be written: %v", v, err)
			}
		}
		if file.Run.Options == nil {
			file.Run.Options = json.RawMessage("null")
		}
		write(file.Run)
		for _, s := range file.Steps {
			write(s)
		}
		for _, i := range file.Iterations {
			write(i)
		}
		for _, p := range file.Points {
			write(p)
		}
		again, err := ReadAll(NewReader(&out, "y"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(file.Steps, again.Steps, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(file.Points, again.Points, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

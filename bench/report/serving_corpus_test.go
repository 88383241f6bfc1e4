package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"lathe/bench"
	"lathe/bench/serving"
)

// scenario is a recording of the golden corpus.
type scenario struct {
	Name      string
	Tokenizer *string
	DurationS json.Number `json:"duration_s"`
	Options   struct {
		Percentiles  []float64
		Goodput      []string
		AcceptLength *float64 `json:"accept_length"`
		MultiTurn    bool     `json:"sglang_multi_turn"`
		NoStream     bool     `json:"sglang_disable_stream"`
	}
	Requests []struct {
		ID              string
		Endpoint        string
		StartS          json.Number `json:"start_s"`
		Status          *int
		Reason          *string
		PromptLen       int  `json:"prompt_len"`
		TextPromptLen   *int `json:"text_prompt_len"`
		VisionPromptLen *int `json:"vision_prompt_len"`
		RequestedLen    int  `json:"requested_output_len"`
		Reads           []struct {
			TS  json.Number `json:"t_s"`
			B64 []byte
		}
		End struct {
			Kind string
			TS   json.Number `json:"t_s"`
		}
	}
	Expect map[string]json.RawMessage
}

// corpus is the copy of the golden files in testdata.
type corpus struct {
	files     map[string][]byte // by name
	scenarios []scenario        // in the order of their names
	november  map[string]map[string]json.RawMessage
}

func gunzip(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	data, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func loadCorpus(t testing.TB) *corpus {
	t.Helper()
	c := &corpus{files: map[string][]byte{}}
	files := tar.NewReader(bytes.NewReader(gunzip(t, "serving-2026-08.tar.gz")))
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		c.files[h.Name] = data
		if h.Name == "reports.json" {
			continue
		}
		var s scenario
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		c.scenarios = append(c.scenarios, s)
	}
	var over struct {
		Expect map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(gunzip(t, "serving-2026-11.json.gz"), &over); err != nil {
		t.Fatal(err)
	}
	c.november = over.Expect
	if len(c.scenarios) != 372 || len(c.november) != 372 {
		t.Fatalf("%d and %d scenarios, want 372 twice", len(c.scenarios), len(c.november))
	}
	return c
}

// ns reads seconds exactly.
func ns(t testing.TB, s json.Number) int64 {
	t.Helper()
	f, err := s.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return int64(math.Round(f * 1e9))
}

func (s *scenario) records(t testing.TB) []any {
	t.Helper()
	all := []any{&bench.Run{Kind: bench.KindRun, Schema: bench.Schema, Command: "bench serve", StartedAt: "2026-08-17T12:34:56Z", Argv: []string{}, Options: json.RawMessage("{}"), Warnings: []string{}}}
	for _, r := range s.Requests {
		start := ns(t, r.StartS)
		q := &bench.Request{
			Kind: bench.KindRequest, ID: r.ID, Endpoint: r.Endpoint, PromptLen: r.PromptLen, TextPromptLen: r.TextPromptLen, VisionPromptLen: r.VisionPromptLen,
			RequestedOutputLen: r.RequestedLen, ScheduledNS: start, AdmittedNS: start, SentNS: start, Status: r.Status,
			End: &bench.RequestEnd{Kind: r.End.Kind, TNS: ns(t, r.End.TS)},
		}
		if r.Reason != nil {
			q.Reason = *r.Reason
		}
		for _, x := range r.Reads {
			q.Reads = append(q.Reads, bench.Read{TNS: ns(t, x.TS), B64: x.B64})
		}
		all = append(all, q)
	}
	return append(all, &bench.End{Kind: bench.KindEnd, DurationNS: ns(t, s.DurationS), Reason: bench.EndCompleted})
}

func lines(t testing.TB, records []any) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

func counter(name *string) serving.Counter {
	if name == nil {
		return nil
	}
	switch *name {
	case "chars":
		return utf8.RuneCountInString
	case "bytes":
		return func(s string) int { return len(s) }
	case "words":
		return func(s string) int {
			n := 0
			for w := range strings.SplitSeq(s, " ") {
				if w != "" {
					n++
				}
			}
			return n
		}
	}
	return nil
}

func (s *scenario) options(v serving.Version) serving.Options {
	o := serving.Options{
		Version: v, Count: counter(s.Tokenizer), Percentiles: s.Options.Percentiles, Goodput: s.Options.Goodput,
		MultiTurn: s.Options.MultiTurn, DisableStream: s.Options.NoStream,
	}
	if s.Options.AcceptLength != nil {
		o.AcceptLength = *s.Options.AcceptLength
	}
	return o
}

func (c *corpus) expect(s *scenario, v serving.Version) map[string]json.RawMessage {
	if v == serving.November {
		return c.november[s.Name]
	}
	return s.Expect
}

func read(t testing.TB, raw io.Reader, names []string, opt serving.Options) []*serving.Result {
	t.Helper()
	var all []serving.Semantics
	for _, n := range names {
		sem, err := serving.ParseSemantics(n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sem)
	}
	_, results, err := serving.Read(bench.NewReader(raw, "capture"), all, opt)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func servingJSON(t testing.TB, results []*serving.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ServingJSON(&b, results); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

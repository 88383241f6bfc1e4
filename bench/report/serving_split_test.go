package report

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"lathe/bench"
	"lathe/bench/serving"
)

// scatter writes a capture as a client would that was busy with many requests:
// reads in lines of any number, those of different requests mixed, some left to
// the request's own line, requests closed in any order.
func scatter(t testing.TB, s *scenario, rng *rand.Rand) []any {
	t.Helper()
	records := s.records(t)
	out := []any{records[0]}
	type open struct {
		q    *bench.Request
		left []bench.Read
	}
	var all []*open
	for _, r := range records[1 : len(records)-1] {
		q := *r.(*bench.Request)
		all = append(all, &open{&q, q.Reads})
		q.Reads = nil
	}
	for len(all) > 0 {
		i := rng.IntN(len(all))
		o := all[i]
		n := rng.IntN(len(o.left) + 1)
		if rng.IntN(3) > 0 && len(o.left) > 0 {
			out = append(out, &bench.Reads{Kind: bench.KindReads, ID: o.q.ID, Reads: o.left[:n]})
			o.left = o.left[n:]
			continue
		}
		q := *o.q
		q.Reads = o.left
		out = append(out, &q)
		all = slices.Delete(all, i, i+1)
	}
	return append(out, records[len(records)-1])
}

// adorn adds keys that no reader knows, at every level, and a line of an
// unknown kind.
func adorn(t testing.TB, records []any) []byte {
	t.Helper()
	var b bytes.Buffer
	for i, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		m["x_unknown"] = map[string]any{"reads": []any{nil, 1}, "kind": "end"}
		if list, ok := m["reads"].([]any); ok {
			for _, one := range list {
				one.(map[string]any)["x_more"] = "y"
			}
		}
		if end, ok := m["end"].(map[string]any); ok {
			end["why"] = []any{}
		}
		if line, err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
		if i == 0 {
			b.WriteString("{\"kind\":\"weather\",\"reads\":3}\n\n")
		}
	}
	return b.Bytes()
}

func compressed(t testing.TB, data []byte, how string) []byte {
	t.Helper()
	var b bytes.Buffer
	switch how {
	case "gz":
		z := gzip.NewWriter(&b)
		z.Write(data)
		z.Close()
	case "zst":
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		z.Write(data)
		z.Close()
	default:
		return data
	}
	return b.Bytes()
}

// However a capture is cut into lines, files and blocks, the report is the same
// to the byte.
func TestCorpusHoweverItIsWritten(t *testing.T) {
	c := loadCorpus(t)
	rng := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	forms := []string{"", "gz", "zst"}
	for i := range c.scenarios {
		s := &c.scenarios[i]
		v := serving.Versions()[i%2]
		names := append(slices.Sorted(maps.Keys(c.expect(s, v))), "exact")
		want := servingJSON(t, read(t, bytes.NewReader(lines(t, s.records(t))), names, s.options(v)))
		form := forms[i%len(forms)]
		path := filepath.Join(dir, "c.jsonl."+form)
		if err := os.WriteFile(path, compressed(t, adorn(t, scatter(t, s, rng)), form), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := bench.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var all []serving.Semantics
		for _, n := range names {
			sem, err := serving.ParseSemantics(n)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, sem)
		}
		_, results, err := serving.Read(r, all, s.options(v))
		r.Close()
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if got := servingJSON(t, results); !bytes.Equal(got, want) {
			t.Errorf("%s %s: %s", v, s.Name, firstDifference(string(got), string(want)))
		}
	}
}

// P056: the same capture gives the same bytes, however often and in whichever
// company it is read.
func TestP056_SameBytesAgain(t *testing.T) {
	c := loadCorpus(t)
	for i := 0; i < len(c.scenarios); i += 7 {
		s := &c.scenarios[i]
		names := append(slices.Sorted(maps.Keys(s.Expect)), "exact")
		raw := lines(t, s.records(t))
		one := servingJSON(t, read(t, bytes.NewReader(raw), names, s.options(serving.August)))
		two := servingJSON(t, read(t, bytes.NewReader(raw), names, s.options(serving.August)))
		if !bytes.Equal(one, two) {
			t.Errorf("%s: two readings differ", s.Name)
		}
		for _, n := range names {
			alone := tree(t, servingJSON(t, read(t, bytes.NewReader(raw), []string{n}, s.options(serving.August)))).(map[string]any)
			if d := different(alone[n], tree(t, one).(map[string]any)[n], n); d != "" {
				t.Errorf("%s alone: %s", s.Name, d)
			}
		}
	}
}

// Every report of the corpus is JSON that a strict parser takes (P128).
func TestP128_StrictJSON(t *testing.T) {
	c := loadCorpus(t)
	for i := range c.scenarios {
		s := &c.scenarios[i]
		names := append(slices.Sorted(maps.Keys(s.Expect)), "exact")
		if out := servingJSON(t, read(t, bytes.NewReader(lines(t, s.records(t))), names, s.options(serving.November))); !json.Valid(out) {
			t.Errorf("%s: not JSON: %.200s", s.Name, out)
		}
	}
}

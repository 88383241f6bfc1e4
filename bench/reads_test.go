package bench

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// sameAsJSON says whether the direct parser took a line, which encoding/json must
// read the same.
func sameAsJSON(t *testing.T, line []byte) bool {
	t.Helper()
	got, ok := parseReads(bytes.Clone(line))
	if !ok {
		return false
	}
	var want Reads
	if err := json.Unmarshal(line, &want); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("%q: %+v, want %+v", line, *got, want)
	}
	return true
}

// FuzzParseReads: what the direct parser takes, encoding/json reads the same.
func FuzzParseReads(f *testing.F) {
	for _, s := range append(otherReads(), readsLines(f, 3)...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) { sameAsJSON(t, line) })
}

// readsLines are lines of a Writer.
func readsLines(t testing.TB, n int) []string {
	t.Helper()
	stamps := []int64{0, 7, -3, 999_999_999_999_999_999}
	var lines []string
	for i := range n {
		r := Reads{Kind: KindReads, ID: fmt.Sprintf("r%d", i), Reads: []Read{}}
		for k := range i {
			x := Read{TNS: stamps[(i+k)%len(stamps)], B64: bytes.Repeat([]byte{byte(k), 0xFF, '"'}, 3*k+i%3)[k%2*2*k:]}
			if k%3 > 0 {
				x.KernelNS = &stamps[k%len(stamps)]
			}
			r.Reads = append(r.Reads, x)
		}
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	return lines
}

// The direct parser takes every line of a Writer.
func TestParseReadsTakesOurLines(t *testing.T) {
	for _, line := range readsLines(t, 20) {
		if !sameAsJSON(t, []byte(line)) {
			t.Errorf("not taken: %s", line)
		}
	}
}

// Reads that begin alike, whatever their lengths and where they part.
func TestParseReadsThatBeginAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	body := make([]byte, 200)
	for i := range body {
		body[i] = byte(random.IntN(256))
	}
	for range 500 {
		r := Reads{Kind: KindReads, ID: "r0"}
		for range 4 {
			b := bytes.Clone(body[:random.IntN(len(body)+1)])
			if random.IntN(3) > 0 && len(b) > 0 {
				b[random.IntN(len(b))]++
			}
			r.Reads = append(r.Reads, Read{B64: b})
		}
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if !sameAsJSON(t, line) {
			t.Fatalf("not taken: %s", line)
		}
		// a text that goes on behind what was the end of the one before
		text := base64.StdEncoding.EncodeToString(r.Reads[0].B64)
		line = fmt.Appendf(nil, `{"kind":"reads","id":"r0","reads":[{"t_ns":1,"kernel_ns":null,"b64":"%s"},{"t_ns":1,"kernel_ns":null,"b64":"%s"}]}`, text, text+text)
		if taken := sameAsJSON(t, line); taken == strings.HasSuffix(text, "=") {
			t.Errorf("taken %v: %s", taken, line)
		}
	}
}

// otherReads are lines that are encoding/json's: of another form, or wrong.
func otherReads() []string {
	read := func(t, kernel, b64 string) string {
		return `{"kind":"reads","id":"r0","reads":[{"t_ns":` + t + `,"kernel_ns":` + kernel + `,"b64":` + b64 + `}]}`
	}
	return []string{
		``, `{`, `{"kind":"reads","id":"r0"}`, `{"kind":"reads","id":"r0","reads":null}`,
		` ` + read("5", "null", `"YQ=="`), read("5", "null", `"YQ=="`) + " ", read("5", "null", `"YQ=="`) + "x",
		read("5", "null", `"YQ=="`)[:50], read(" 5", "null", `"YQ=="`), read("5", "Null", `"YQ=="`),
		read("05", "null", `"YQ=="`), read("-", "null", `"YQ=="`), read("5.0", "null", `"YQ=="`), read("5e3", "null", `"YQ=="`),
		read("1000000000000000000", "null", `"YQ=="`), read("9223372036854775808", "null", `"YQ=="`), read("null", "null", `"YQ=="`),
		read("5", "01", `"YQ=="`), read("5", `"7"`, `"YQ=="`),
		read("5", "null", `null`), read("5", "null", `"YQ="`), read("5", "null", `"Y"`), read("5", "null", `"YQ"`), read("5", "null", `"Y_=="`),
		read("5", "null", `"YQ\u003d="`), read("5", "null", "\"YQ=\r=\""), read("5", "null", "\"YQ=\n=\""), read("5", "null", `"YQ=\n="`),
		read("5", "null", "\"\r\r\r\r\""), read("5", "null", "\"YWFh\r\r\r\r\""), read("5", "null", "\"\r\r\r\rYQ==\""), read("5", "null", "\"YQ==\r\r\r\r\""),
		read("5", "null", "\"YQ\r\r==\""), read("5", "null", "\"Y\r\r\rWE=\""), read("5", "null", "\"YWE=\r\""), read("5", "null", `"=="`), read("5", "null", `"===="`),
		read("5", "null", `"YQ==","b64":"YQ=="`), read("5", "null", `"YQ==","more":1`), read("5", `null,"kernel_ns":1`, `"YQ=="`),
		strings.Replace(read("5", "null", `"YQ=="`), "r0", `r\u0030`, 1), strings.Replace(read("5", "null", `"YQ=="`), "r0", "r\xff", 1),
		strings.Replace(read("5", "null", `"YQ=="`), "r0", "r\t", 1), strings.Replace(read("5", "null", `"YQ=="`), "r0", "é", 1),
		strings.Replace(read("5", "null", `"YQ=="`), "t_ns", "T_NS", 1), strings.Replace(read("5", "null", `"YQ=="`), "reads\":[", "Reads\":[", 1),
		strings.Replace(read("5", "null", `"YQ=="`), `"reads":[`, `"id":"r1","reads":[`, 1), `{"kind":"reads","id":"r0","reads":[{}]}`,
		`{"kind":"reads","id":"r0","reads":[]],"reads":[]}`, `{"kind":"reads","id":"r0","reads":[],"kind":"end"}`,
		`{"kind":"reads","id":"r0","reads":[,]}`, `{"kind":"reads","id":"r0","reads":[` + strings.Repeat("{", 5000),
		strings.Replace(read("5", "null", `"YQ=="`), "}]", `},]`, 1), strings.Replace(read("5", "null", `"YQ=="`), "}]", `}{"t_ns":5,"kernel_ns":null,"b64":""}]`, 1),
	}
}

// What is not the very form of a Writer goes to encoding/json, and its outcome stays.
func TestParseReadsLeavesOthers(t *testing.T) {
	for _, line := range otherReads() {
		if sameAsJSON(t, []byte(line)) {
			t.Errorf("taken: %q", line)
		}
		var want Reads
		wantErr := json.Unmarshal([]byte(line), &want)
		if want.Kind != KindReads {
			continue // of no kind, or of two
		}
		rec, err := decode([]byte(line))
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%q: %v, encoding/json says %v", line, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(rec, &want) {
			t.Errorf("%q: %+v, want %+v", line, rec, want)
		}
	}
}

// However a line of a Writer is bent, what the direct parser takes of it is what
// encoding/json reads.
func TestParseReadsOfBentLines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "{}[]\",:\\0123456789-+.eEnulkTt_bAQ=/ \r\n\x00\xff"
	lines := readsLines(t, 6)
	taken := 0
	for range 20_000 {
		line := []byte(lines[random.IntN(len(lines))])
		for range 1 + random.IntN(3) {
			i, c := random.IntN(len(line)), letters[random.IntN(len(letters))]
			switch random.IntN(4) {
			case 0:
				line[i] = c
			case 1:
				line = append(line[:i], line[i+1:]...)
			case 2:
				line = append(line[:i], append([]byte{c}, line[i:]...)...)
			default:
				j := random.IntN(len(line))
				line[i], line[j] = line[j], line[i]
			}
		}
		if sameAsJSON(t, line) {
			taken++
		}
	}
	if taken < 300 {
		t.Errorf("%d of 20000 lines were taken: too few to tell anything", taken)
	}
}

// The memory for a line is that of its reads: one that only looks like many reads
// gets none.
func TestParseReadsMemory(t *testing.T) {
	hostile := []byte(`{"kind":"reads","id":"r0","reads":[` + strings.Repeat("{", 1<<20))
	if n := testing.AllocsPerRun(10, func() { parseReads(hostile) }); n > 0 {
		t.Errorf("%v allocations for a line without reads", n)
	}
	r := Reads{Kind: KindReads, ID: "r0"}
	kernel := int64(1)
	for range 100 {
		r.Reads = append(r.Reads, Read{TNS: 1, KernelNS: &kernel, B64: make([]byte, 100)})
	}
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { parseReads(line) }); n > 5 {
		t.Errorf("%v allocations for a line of 100 reads", n)
	}
	got, _ := parseReads(line)
	for i := range got.Reads {
		if b := got.Reads[i].B64; cap(b) != len(b) {
			t.Fatalf("read %d has room %d behind %d bytes, which are the next read's", i, cap(b), len(b))
		}
	}
}

func BenchmarkDecodeReads(b *testing.B) {
	kernel := int64(123_456_789)
	r := Reads{Kind: KindReads, ID: "r0"}
	for i := range 25 {
		r.Reads = append(r.Reads, Read{TNS: int64(i) * 20_000_000, KernelNS: &kernel, B64: bytes.Repeat([]byte("data"), 45)})
	}
	line, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for range b.N {
		if _, err := decode(line); err != nil {
			b.Fatal(err)
		}
	}
}

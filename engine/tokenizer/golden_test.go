//go:build cgo && !notokenizer

package tokenizer_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/engine/tokenizer"
	llama3tokenizer "lathe/third_party/llama3-tokenizer"
	"lathe/third_party/smollm2"
)

// cacheDir is the cache that the lathe command uses too.
func cacheDir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("LATHE_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "lathe")
}

// unavailable ends a test whose download failed: a failure, unless downloads are switched off by hand.
func unavailable(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("SKIP_DOWNLOADS") == "1" {
		t.Skipf("SKIP_DOWNLOADS=1 and not in the cache: %v", err)
	}
	t.Fatalf("%v (SKIP_DOWNLOADS=1 skips what needs it)", err)
}

func smolDir(t testing.TB) string {
	t.Helper()
	dir, err := smollm2.Fetch(context.Background(), cacheDir(t), func(line string) { t.Log(line) })
	if err != nil {
		unavailable(t, err)
	}
	return dir
}

func llama3Dir(t testing.TB) string {
	t.Helper()
	dir, ok := llama3tokenizer.Dir(cacheDir(t))
	if ok {
		return dir
	}
	pin := smollm2.Pin{Package: llama3tokenizer.Package, Version: llama3tokenizer.Version, SHA256: llama3tokenizer.WheelSHA256}
	wheel, err := pin.Download(context.Background(), nil, t.TempDir())
	if err != nil {
		unavailable(t, err)
	}
	if err := llama3tokenizer.FromWheel(wheel, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t testing.TB, path string) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tok.Close)
	return tok
}

func readGolden(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// idResult is a list of ids, or for a long one its ends and its sum.
type idResult struct {
	IDs    []int32 `json:"ids"`
	Count  int     `json:"count"`
	Head   []int32 `json:"head"`
	Tail   []int32 `json:"tail"`
	SHA256 string  `json:"sha256"`
}

func (want *idResult) check(t *testing.T, got []int32) {
	t.Helper()
	if want.SHA256 == "" {
		if !slices.Equal(got, want.IDs) {
			t.Errorf("ids %v, want %v", got, want.IDs)
		}
		return
	}
	if len(got) != want.Count {
		t.Fatalf("%d ids, want %d", len(got), want.Count)
	}
	if !slices.Equal(got[:16], want.Head) || !slices.Equal(got[len(got)-16:], want.Tail) {
		t.Errorf("ids %v … %v, want %v … %v", got[:16], got[len(got)-16:], want.Head, want.Tail)
	}
	texts := make([]string, len(got))
	for i, id := range got {
		texts[i] = strconv.Itoa(int(id))
	}
	sum := sha256.Sum256([]byte(strings.Join(texts, ",")))
	if s := hex.EncodeToString(sum[:]); s != want.SHA256 {
		t.Errorf("sha256 of the ids %s, want %s", s, want.SHA256)
	}
}

type encodeCase struct {
	N          int
	Category   string
	Text       string
	Repeat     string
	Times      int
	UTF8Bytes  int       `json:"utf8_bytes"`
	Smol       idResult  `json:"smollm2"`
	SmolPlain  *idResult `json:"smollm2_plain"`
	SmolBack   *string   `json:"smollm2_roundtrip"`
	Llama      idResult  `json:"llama3"`
	LlamaPlain *idResult `json:"llama3_plain"`
	LlamaBack  *string   `json:"llama3_roundtrip"`
}

func (c *encodeCase) text() string {
	if c.Repeat != "" {
		return strings.Repeat(c.Repeat, c.Times)
	}
	return c.Text
}

// check encodes in both modes and decodes again.
func (c *encodeCase) check(t *testing.T, tok *tokenizer.Tokenizer, control, plain *idResult, back *string) {
	t.Helper()
	if plain == nil {
		plain = control
	}
	text := c.text()
	if len(text) != c.UTF8Bytes {
		t.Fatalf("case %d has %d bytes, want %d", c.N, len(text), c.UTF8Bytes)
	}
	for _, mode := range []struct {
		control bool
		want    *idResult
	}{{true, control}, {false, plain}} {
		ids, err := tok.Encode(text, mode.control)
		if err != nil {
			t.Fatalf("case %d: %v", c.N, err)
		}
		mode.want.check(t, ids)
		got := tok.Decode(ids, false)
		switch {
		case back == nil && got != text:
			t.Errorf("case %d decodes to %.80q, want %.80q", c.N, got, text)
		case back != nil && *back == "differs" && got == text:
			t.Errorf("case %d decodes to itself, which it should not", c.N)
		case back != nil && *back != "differs" && got != *back:
			t.Errorf("case %d decodes to %q, want %q", c.N, got, *back)
		}
	}
}

func TestGoldenEncode(t *testing.T) {
	var golden struct{ Cases []encodeCase }
	readGolden(t, "encode.json", &golden)
	if len(golden.Cases) != 304 {
		t.Fatalf("%d cases, want 304", len(golden.Cases))
	}
	t.Run("smollm2", func(t *testing.T) {
		tok := open(t, smolDir(t))
		for _, c := range golden.Cases {
			c.check(t, tok, &c.Smol, c.SmolPlain, c.SmolBack)
		}
	})
	t.Run("llama3", func(t *testing.T) {
		tok := open(t, llama3Dir(t))
		for _, c := range golden.Cases {
			c.check(t, tok, &c.Llama, c.LlamaPlain, c.LlamaBack)
		}
	})
}

func TestGoldenStream(t *testing.T) {
	var golden struct {
		Cases []struct {
			N           int
			Tokenizer   string
			Note        string
			SkipSpecial bool `json:"skip_special"`
			IDs         []int32
			Pieces      []string
			Final       string
			Text        string
			BytesHex    string `json:"bytes_hex"`
		}
	}
	readGolden(t, "stream.json", &golden)
	if len(golden.Cases) != 50 {
		t.Fatalf("%d cases, want 50", len(golden.Cases))
	}
	byName := map[string]*tokenizer.Tokenizer{"smollm2": open(t, smolDir(t)), "llama3": open(t, llama3Dir(t))}
	for _, c := range golden.Cases {
		tok := byName[c.Tokenizer]
		s := tok.Stream(c.SkipSpecial)
		var raw []byte
		for i, id := range c.IDs {
			if got := s.Push(id); got != c.Pieces[i] {
				t.Errorf("case %d (%s): token %d gave %q, want %q", c.N, c.Note, i, got, c.Pieces[i])
			}
			if b, _ := tok.TokenBytes(id); !c.SkipSpecial || !tok.Control(id) {
				raw = append(raw, b...)
			}
		}
		if got := s.Finish(); got != c.Final {
			t.Errorf("case %d (%s): the end gave %q, want %q", c.N, c.Note, got, c.Final)
		}
		if got := tok.Decode(c.IDs, c.SkipSpecial); got != c.Text {
			t.Errorf("case %d (%s): decodes to %q, want %q", c.N, c.Note, got, c.Text)
		}
		if got := hex.EncodeToString(raw); got != c.BytesHex {
			t.Errorf("case %d (%s): bytes %s, want %s", c.N, c.Note, got, c.BytesHex)
		}
	}
}

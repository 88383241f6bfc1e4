package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// pieces is a vocabulary whose token i is the bytes chunks[i].
func pieces(chunks ...string) *vocabulary {
	v := &vocabulary{kind: kindByteLevel, size: len(chunks)}
	for _, c := range chunks {
		v.tokens = append(v.tokens, token{text: c, bytes: c, present: true})
	}
	return v
}

func streamAll(v *vocabulary, ids []int32, skip bool) (parts []string, all string) {
	s := v.Stream(skip)
	for _, id := range ids {
		parts = append(parts, s.Push(id))
	}
	parts = append(parts, s.Finish())
	return parts, strings.Join(parts, "")
}

// replaced is rule 4 by search instead of by table: a maximal subpart is the longest run that some bytes would complete.
func replaced(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
			out.WriteRune(r)
			b = b[n:]
			continue
		}
		n := 1
		for n < min(3, len(b)) && completable(b[:n+1]) {
			n++
		}
		out.WriteRune(utf8.RuneError)
		b = b[n:]
	}
	return out.String()
}

func completable(b []byte) bool {
	for _, second := range []byte{0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF} {
		for more := 1; len(b)+more <= 4; more++ {
			tail := slices.Repeat([]byte{second}, more)
			if whole := append(slices.Clone(b), tail...); utf8.Valid(whole) && utf8.RuneCount(whole) == 1 {
				return true
			}
		}
	}
	return false
}

// TestP223_BytesThatCannotBecomeACharacter is the case's list, then every pair of bytes.
func TestP223_BytesThatCannotBecomeACharacter(t *testing.T) {
	for in, want := range map[string]string{
		"\xE2\x80A":         "\uFFFDA",
		"\xED\xA0\x80":      "\uFFFD\uFFFD\uFFFD",
		"\xF0\x80\x80A":     "\uFFFD\uFFFD\uFFFDA",
		"\xF0\x9FA":         "\uFFFDA",
		"\xE0\x80":          "\uFFFD\uFFFD",
		"\xF0\x9F\x98":      "\uFFFD",
		"\xF4\x90\x80\x80":  "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xC0\xAF":          "\uFFFD\uFFFD",
		"\xED\xA0":          "\uFFFD\uFFFD",
		"\xE2\x82\xE2\x82x": "\uFFFD\uFFFDx",
		"a\xFFb":            "a\uFFFDb",
	} {
		ids := make([]int32, len(in))
		for i := range len(in) {
			ids[i] = int32(in[i])
		}
		if _, got := streamAll(&Bytes(256).vocabulary, ids, false); got != want {
			t.Errorf("% X gives %q, want %q", in, got, want)
		}
	}
	v := &Bytes(256).vocabulary
	for pair := range 1 << 16 {
		ids := []int32{int32(pair >> 8), int32(pair & 255)}
		_, got := streamAll(v, ids, false)
		if want := replaced([]byte{byte(pair >> 8), byte(pair)}); got != want {
			t.Fatalf("%04X gives %q, want %q", pair, got, want)
		}
	}
}

// checkStream: every piece is UTF-8 of its own, nothing is held that is not needed, and all of it is the decode.
func checkStream(t *testing.T, v *vocabulary, ids []int32, raw []byte) {
	t.Helper()
	s := v.Stream(false)
	var out strings.Builder
	for _, id := range ids {
		part := s.Push(id)
		if !utf8.ValidString(part) {
			t.Fatalf("% X: the piece %q is not UTF-8", raw, part)
		}
		if s.Held() > 3 {
			t.Fatalf("% X: %d bytes are held back", raw, s.Held())
		}
		out.WriteString(part)
	}
	last := s.Finish()
	if n := utf8.RuneCountInString(strings.ReplaceAll(last, "\uFFFD", "")); n != 0 || len(last) > 6 {
		t.Fatalf("% X: the end gave %q", raw, last)
	}
	out.WriteString(last)
	if got, want := out.String(), replaced(raw); got != want {
		t.Fatalf("% X: streamed %q, want %q", raw, got, want)
	}
	if got := v.Decode(ids, false); got != out.String() {
		t.Fatalf("% X: decoded %q, streamed %q", raw, got, out.String())
	}
	if s.Held() != 0 {
		t.Fatalf("% X: bytes are held after the end", raw)
	}
}

// FuzzStream cuts arbitrary bytes into arbitrary tokens; cuts holds their lengths.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"plain", "caf\u00e9 \U0001F468\u200D\U0001F469", "\xF0\x9F\x98", "\xED\xA0\x80", "\xE2\x80A", "\xF0\x80\x80A", "\xF4\x8F\xBF\xBF\xF4\x90",
		"\xC2", "\x00\xFF\xC0\xAF", "\xED\x9F\xBF\xED\xA0", "\xE0\xA0\x80\xE0\x80", "\xF1\x80\x80", "\uFFFD\uFFFD",
	} {
		f.Add([]byte(seed), []byte{1})
		f.Add([]byte(seed), []byte{2, 1, 3, 0})
	}
	f.Fuzz(func(t *testing.T, raw, cuts []byte) {
		var chunks []string
		for at, i := 0, 0; at < len(raw); i++ {
			n := 1
			if len(cuts) > 0 {
				n = int(cuts[i%len(cuts)]) % 6
				if i > 2*len(raw) {
					n = 1
				}
			}
			n = min(n, len(raw)-at)
			chunks = append(chunks, string(raw[at:at+n]))
			at += n
		}
		ids := make([]int32, len(chunks))
		for i := range ids {
			ids[i] = int32(i)
		}
		checkStream(t, pieces(chunks...), ids, raw)
	})
}

// TestStreamKeepsHeldBytesOverControlTokens: a skipped control token between two halves of a character changes nothing;
// a shown one cuts it.
func TestStreamKeepsHeldBytesOverControlTokens(t *testing.T) {
	v := pieces("\xC3", "\xA9", "<|x|>")
	v.tokens[2].added, v.tokens[2].control = true, true
	ids := []int32{0, 2, 1}
	if parts, _ := streamAll(v, ids, true); !slices.Equal(parts, []string{"", "", "\u00e9", ""}) {
		t.Errorf("skipped: %q", parts)
	}
	if parts, _ := streamAll(v, ids, false); !slices.Equal(parts, []string{"", "\uFFFD<|x|>", "\uFFFD", ""}) {
		t.Errorf("shown: %q", parts)
	}
}

func TestStreamIgnoresUnknownIDs(t *testing.T) {
	v := pieces("a", "b")
	v.tokens[1].present = false
	if _, got := streamAll(v, []int32{-1, 0, 1, 2, 1 << 30, 0}, false); got != "aa" {
		t.Errorf("got %q, want aa", got)
	}
	for _, id := range []int32{-1, 1, 2} {
		if b, ok := v.TokenBytes(id); ok {
			t.Errorf("id %d has the bytes %q", id, b)
		}
	}
}

func TestStreamCanBeUsedAgain(t *testing.T) {
	v := pieces("\xE2\x82", "ok")
	s := v.Stream(false)
	for range 3 {
		if a, b := s.Push(0), s.Finish(); a != "" || b != "\uFFFD" {
			t.Fatalf("got %q and %q", a, b)
		}
		if a, b := s.Push(1), s.Finish(); a != "ok" || b != "" {
			t.Fatalf("got %q and %q", a, b)
		}
	}
}

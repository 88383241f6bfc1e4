package safetensors

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestP203_NeighbourFormats(t *testing.T) {
	gguf := func(version string) []byte { return []byte("GGUF" + version + strings.Repeat("\x00", 64)) }
	pad := func(magic string) []byte { return []byte(magic + strings.Repeat("\x01", 64)) }
	whole := tensors("w", "x", "y")
	for _, tc := range []struct {
		name    string
		data    []byte
		mention []string
	}{
		{"model.gguf", gguf("\x01\x00\x00\x00"), []string{"GGUF", "version 1", "not supported", "convert"}},
		{"model.gguf", gguf("\x03\x00\x00\x00"), []string{"GGUF", "version 3", "not supported", "convert"}},
		{"model.gguf", gguf("\x63\x00\x00\x00"), []string{"GGUF", "version 99", "unknown version"}},
		{"model.gguf", gguf("\x00\x00\x00\x03"), []string{"GGUF", "version 3", "big-endian"}},
		{"model.gguf", []byte("GGUF\x03"), []string{"GGUF", "cut short"}},
		{SingleFile, gguf("\x03\x00\x00\x00"), []string{"GGUF", "version 3", "not safetensors"}},
		{"old.bin", pad("ggjt\x03\x00\x00\x00"), []string{"ggjt", "older than GGUF", "convert"}},
		{"old.bin", pad("tjgg\x03\x00\x00\x00"), []string{"ggjt", "older than GGUF", "convert"}},
		{"old.bin", pad("lmgg"), []string{"ggml", "convert"}},
		{"model.gguf", whole, []string{"this is safetensors", ".gguf"}},
		{"model.gguf-part1of2", gguf("\x03\x00\x00\x00"), []string{"part 1 of 2", "join"}},
		{"model.gguf.part2of2", pad("anything"), []string{"part 2 of 2", "join"}},
		{"model-00001-of-00003.gguf", gguf("\x03\x00\x00\x00"), []string{"part 1 of 3", "join"}},
		{"model.safetensors.part1of2", whole[:len(whole)-6], []string{"part 1 of 2", "join"}},
		{"model.safetensors.part1of2", whole[:30], []string{"part 1 of 2", "join"}},
		{"model.safetensors.part2of2", whole[len(whole)-6:], []string{"part 2 of 2", "join"}},
		{SingleFile, pad("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"), []string{"gzip", "unpack"}}, // reads as a header length of 559,903
		{SingleFile, pad("\x28\xb5\x2f\xfd"), []string{"zstd"}},
		{SingleFile, pad("\xfd7zXZ\x00"), []string{"xz"}},
		{SingleFile, pad("BZh91AY"), []string{"bzip2"}},
		{SingleFile, pad("PK\x03\x04\x00\x00"), []string{"zip", "PyTorch"}},
		{SingleFile, pad("\x80\x02\x8a\x0a"), []string{"pickle"}},
		{SingleFile, []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"), []string{"git-lfs pointer", "git lfs pull"}},
		{SingleFile, []byte("<!DOCTYPE html>\n<html><body>{}</body></html>"), []string{"HTML"}},
		{SingleFile, []byte("\xef\xbb\xbf\n  <HTML lang=en>{}"), []string{"HTML"}},
		{SingleFile, []byte("<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"), []string{"XML"}},
		{SingleFile, []byte(`{"error":"Repository not found"}`), []string{"JSON", "header length"}},
	} {
		path := file(t, tc.name, tc.data)
		_, err := Open(path)
		wantFault(t, err, NotSafetensors, append(tc.mention, path)...)
		if !strings.HasSuffix(path, SingleFile) && !strings.Contains(tc.name, "part2of2") {
			_, err = Open(filepath.Dir(path)) // the directory without safetensors says the same
			wantFault(t, err, NotSafetensors, tc.mention[0])
		}
	}
}

// A name that looks like a part, and a first byte that looks like gzip, are no
// reason to refuse a sound file.
func TestRecogniseLeavesSoundFilesAlone(t *testing.T) {
	header := `{"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`
	gzipLike := pack(header+strings.Repeat(" ", 0x088b1f-len(header)), make([]byte, 4))
	if gzipLike[0] != 0x1f || gzipLike[1] != 0x8b || gzipLike[2] != 8 {
		t.Fatalf("%x", gzipLike[:8])
	}
	for name, b := range map[string][]byte{"part1of2.safetensors": tensors("w"), "model-00001-of-00002.safetensors": tensors("w"), "pytorch_model.bin": tensors("w"), SingleFile: gzipLike} {
		if _, ok := opened(t, file(t, name, b), Options{}).Tensor("w"); !ok {
			t.Errorf("%s: no tensor", name)
		}
	}
}

// P204: padding between tensors. This format has none: it is aligned by spaces in
// the header, any alignment of the data loads, and a gap is an error with a name.
func TestP204_AlignmentAndPadding(t *testing.T) {
	for pad := range 64 {
		header := `{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"F32","shape":[1],"data_offsets":[3,7]}}` + strings.Repeat(" ", pad)
		c := opened(t, file(t, SingleFile, pack(header, []byte{1, 2, 3, 0, 0, 0x80, 0x3f})), Options{})
		b, _ := c.Tensor("b")
		if v, err := b.Float32(); err != nil || len(v) != 1 || v[0] != 1 {
			t.Errorf("padded by %d: %v, %v", pad, v, err)
		}
	}
	for _, align := range []int{32, 64} {
		header := `{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"F32","shape":[1],"data_offsets":[` +
			map[int]string{32: "32,36", 64: "64,68"}[align] + `]}}`
		_, err := OpenFile(file(t, SingleFile, pack(header, make([]byte, align+4))))
		wantFault(t, err, Offsets, `"b"`, "hole")
	}
}

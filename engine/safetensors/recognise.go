package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// recognise tells what else a file is that stands in the place of weights. A file
// that may be safetensors ('{' after a plausible length) is nil, unless its name
// ends in .gguf.
func recognise(b []byte, name string) error {
	if len(b) > 8 && b[8] == '{' && binary.LittleEndian.Uint64(b) <= MaxHeader {
		if strings.EqualFold(filepath.Ext(name), ".gguf") {
			return fault(NotSafetensors, "this is safetensors, though its name ends in .gguf; rename it to .safetensors")
		}
		return nil
	}
	if part, of, ok := partName(name); ok {
		return partFault(part, of)
	}
	switch k := kind(b); k {
	case "":
		return nil
	case gguf:
		return fault(NotSafetensors, "%s, not safetensors; GGUF is not supported, convert it to safetensors or download the safetensors release", ggufVersion(b))
	case oldGGML:
		return fault(NotSafetensors, "this is %s, a llama.cpp format older than GGUF; it is not supported: convert it to safetensors", k)
	case lfs:
		return fault(NotSafetensors, "this is %s, not the weights; run `git lfs pull`, or download the file itself", k)
	case page:
		return fault(NotSafetensors, "this is %s, not safetensors: a download that failed or needs a login", k)
	case gzipped, zstd, xz, bzip2:
		return fault(NotSafetensors, "this is %s, not safetensors; unpack it first", k)
	default:
		return fault(NotSafetensors, "this is %s, not safetensors", k)
	}
}

// What kind may find.
const (
	gguf    = "GGUF"
	oldGGML = "ggml, ggmf or ggjt"
	lfs     = "a git-lfs pointer"
	page    = "an HTML page"
	gzipped = "a gzip file"
	zstd    = "a zstd file"
	xz      = "an xz file"
	bzip2   = "a bzip2 file"
)

// kind names the format by its first bytes; "" when it is none of those known.
func kind(b []byte) string {
	head := b[:min(len(b), 512)]
	for _, m := range []struct{ magic, kind string }{
		{"GGUF", gguf},
		{"FUGG", gguf},
		{"ggjt", oldGGML}, {"tjgg", oldGGML}, {"ggmf", oldGGML}, {"fmgg", oldGGML}, {"ggml", oldGGML}, {"lmgg", oldGGML},
		{"version https://git-lfs", lfs},
		{"\x1f\x8b", gzipped},
		{"\x28\xb5\x2f\xfd", zstd},
		{"\xfd7zXZ\x00", xz},
		{"BZh", bzip2},
		{"PK\x03\x04", "a zip archive (a PyTorch .bin or .pt file has this form)"},
		{"\x80\x02", "a Python pickle"},
		{"\x89HDF\r\n", "an HDF5 file"},
		{"\x93NUMPY", "a NumPy array"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.kind
		}
	}
	text := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"))
	switch {
	case bytes.HasPrefix(text, []byte("<!doctype html")), bytes.HasPrefix(text, []byte("<html")):
		return page
	case bytes.HasPrefix(text, []byte("<?xml")), bytes.HasPrefix(text, []byte("<error")):
		return "an XML document (an error message of a file store?)"
	case len(head) >= 8 && binary.LittleEndian.Uint64(head) > MaxHeader && bytes.HasPrefix(text, []byte("{")):
		return "a JSON text without the header length before it"
	}
	return ""
}

// ggufVersion reads the version after the magic; files of big-endian machines
// have it the other way round.
func ggufVersion(b []byte) string {
	if len(b) < 8 {
		return "this is a GGUF file, cut short"
	}
	v, order := binary.LittleEndian.Uint32(b[4:]), ""
	if v&0xFFFF == 0 {
		v, order = binary.BigEndian.Uint32(b[4:]), ", big-endian"
	}
	known := ""
	if v == 0 || v > 3 {
		known = ", an unknown version"
	}
	return fmt.Sprintf("this is a GGUF file (version %d%s%s)", v, order, known)
}

// joinParts turns "truncated" into what it means where the name says that the
// file is a part: the format cannot be cut, only sharded.
func joinParts(err error, name string) error {
	part, of, ok := partName(name)
	if f, is := err.(*Error); ok && is && f.Class == Truncated {
		return partFault(part, of)
	}
	return err
}

func partFault(part, of string) error {
	return fault(NotSafetensors, "this is part %s of %s of a split file; join the parts first, or download the whole file", part, of)
}

// partName finds "part1of2" and llama.cpp's "-00001-of-00002.gguf" in a name.
// The shards of a safetensors checkpoint have such names rightly.
func partName(name string) (part, of string, ok bool) {
	pattern := regexp.MustCompile(`(?i)part[-_.]?0*(\d+)[-_.]?of[-_.]?0*(\d+)|-0*(\d+)-of-0*(\d+)\.gguf$`)
	m := pattern.FindStringSubmatch(name)
	if m == nil {
		return "", "", false
	}
	return m[1] + m[3], m[2] + m[4], true
}

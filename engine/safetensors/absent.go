package safetensors

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// noWeights explains a directory without model.safetensors and without an index:
// what is there instead.
func noWeights(dir string) error {
	if files := weightFiles(dir); len(files) > 0 {
		return &Error{Class: MissingFile, Path: dir, Msg: fmt.Sprintf(
			"neither %s nor %s; there are %d other safetensors files (%s): a download that is not complete, or name one file", SingleFile, IndexFile, len(files), list(files))}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return &Error{Class: MissingFile, Path: dir, Msg: "no safetensors weights: " + reason(err), Err: err}
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !otherWeights(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if part, of, ok := partName(e.Name()); ok {
			return at(path, partFault(part, of))
		}
		if err := recogniseFile(path); err != nil {
			return err
		}
		return &Error{Class: MissingFile, Path: dir, Msg: fmt.Sprintf("no safetensors weights; %s is another format, convert it", e.Name())}
	}
	return &Error{Class: MissingFile, Path: dir, Msg: fmt.Sprintf("no safetensors weights: neither %s nor %s is there", SingleFile, IndexFile)}
}

// otherWeights says whether a name looks like weights of another format.
func otherWeights(name string) bool {
	lower := strings.ToLower(name)
	if _, _, part := partName(name); part {
		return true
	}
	for _, ext := range []string{".gguf", ".ggml", ".bin", ".pt", ".pth", ".h5", ".msgpack", ".gz"} {
		if strings.HasSuffix(lower, ext) {
			return true
		}
	}
	return false
}

// recogniseFile reads the first bytes of a file only.
func recogniseFile(path string) error {
	f, size, err := openRegular(path)
	if err != nil || size == 0 {
		return err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Class: MissingFile, Path: path, Msg: "cannot read: " + reason(err), Err: err}
	}
	return at(path, recognise(head[:n], filepath.Base(path)))
}

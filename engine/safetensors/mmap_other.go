//go:build !unix

package safetensors

import "io"

// mapping holds a file's bytes, read whole where there is no mmap.
type mapping struct{ data []byte }

func mapFile(path string) (mapping, error) {
	f, size, err := openRegular(path)
	if err != nil || size == 0 {
		return mapping{}, err
	}
	defer f.Close()
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return mapping{}, &Error{Class: MissingFile, Path: path, Msg: "cannot read: " + reason(err), Err: err}
	}
	return mapping{data}, nil
}

func (m mapping) close() error { return nil }

//go:build cgo

package native

// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unsafe"
)

// Open loads a backend from a shared library that exports lathe_backend_get
// (RTLD_NOW, RTLD_LOCAL; never unloaded). Two builds may be open at once, and
// opening one path twice gives the same table twice. The library's own code runs:
// open only what is trusted.
func Open(path string) (*Backend, error) {
	op := "open backend " + path
	abs, err := filepath.Abs(path) // without a slash dlopen would search the library path
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	sum, err := fileSHA256(abs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	name := C.CString(abs)
	defer C.free(unsafe.Pointer(name))
	var msg [errCap]byte
	table := C.lathe_go_open(name, (*C.char)(unsafe.Pointer(&msg[0])), errCap)
	if table == nil {
		return nil, invalid(op, "%s", text(msg[:]))
	}
	if err := checkTable(table, op); err != nil {
		return nil, err
	}
	return &Backend{table: table, path: path, sha256: sum}, nil
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

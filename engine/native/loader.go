//go:build cgo

package native

// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"
)

// Open loads a backend from a shared library that exports lathe_backend_get
// (RTLD_NOW, RTLD_LOCAL; never unloaded). Two builds may be open at once, and
// opening one path twice gives the same table twice. The library's own code runs:
// open only what is trusted.
func Open(path string) (*Backend, error) {
	op := "open backend " + path
	abs, sum, err := libraryFile(op, path)
	if err != nil {
		return nil, err
	}
	name := C.CString(abs)
	defer C.free(unsafe.Pointer(name))
	var msg [errCap]byte
	table := C.lathe_go_open(name, (*C.char)(unsafe.Pointer(&msg[0])), errCap)
	if table == nil {
		return nil, invalid(op, "%s", strings.TrimPrefix(text(msg[:]), abs+": "))
	}
	if err := checkTable(table, op); err != nil {
		return nil, err
	}
	if replaced(uintptr(unsafe.Pointer(table))) {
		return nil, wasReplaced(op)
	}
	return &Backend{table: table, path: path, sha256: sum}, nil
}

// libraryFile looks at a shared library before the loader does: its absolute path
// (without a slash dlopen would search the library path), its hex sha256, and
// whether it is all there.
func libraryFile(op, path string) (abs, sum string, err error) {
	if abs, err = filepath.Abs(path); err != nil {
		return "", "", fmt.Errorf("%s: %w", op, err)
	}
	if sum, err = fileSHA256(abs); err != nil {
		return "", "", fmt.Errorf("%s: %w", op, reason(err))
	}
	if err := wholeELF(abs); err != nil {
		return "", "", invalid(op, "%v", reason(err))
	}
	return abs, sum, nil
}

func wasReplaced(op string) error {
	return invalid(op, "the file was replaced after this process had opened it, and the loader still "+
		"answers with the old one; give the new build another name")
}

// reason is the cause of a file's error without the path, which the op names.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// wholeELF refuses an ELF file whose segments reach past its end, such as one that
// is still being copied: the loader would map it and the process die of SIGBUS.
// What is not ELF is left to the loader, whose words are better.
func wholeELF(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != elf.ELFMAG {
		return nil
	}
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := elf.NewFile(f)
	if err != nil {
		return fmt.Errorf("not a whole ELF file (%d bytes): %w", stat.Size(), err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && (p.Filesz > uint64(stat.Size()) || p.Off > uint64(stat.Size())-p.Filesz) {
			return fmt.Errorf("not a whole ELF file: a segment ends at byte %d, the file at %d", p.Off+p.Filesz, stat.Size())
		}
	}
	return nil
}

// replaced says whether the file that is mapped at an address is no longer the one
// of that name. The loader compares names, so a file rebuilt in place would be
// hashed anew but not loaded anew. Where the system does not tell, the answer is
// false.
func replaced(address uintptr) bool {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(maps)) {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &lo, &hi); n == 2 && lo <= address && address < hi {
			return strings.HasSuffix(strings.TrimSpace(line), " (deleted)")
		}
	}
	return false
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

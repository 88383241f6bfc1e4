//go:build cgo

package native

// #include <stdlib.h>
// #include "backend.h"
// #include "operator_library.h"
import "C"

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

// Library is a user's shared library of operators, as operator.h tells to write one.
// It is never unloaded.
type Library struct {
	handle unsafe.Pointer
	path   string // as it was given
	abs    string
	sha256 string
}

// OpenLibrary opens a shared library that exports lathe_op_* functions (RTLD_NOW,
// RTLD_LOCAL). The library's constructors run: open only what is trusted, or in a
// process of its own. A library built for another operator ABI is refused where it
// exports lathe_op_abi.
func OpenLibrary(path string) (*Library, error) {
	op := "open kernel " + path
	abs, sum, err := libraryFile(op, path)
	if err != nil {
		return nil, err
	}
	name := C.CString(abs)
	defer C.free(unsafe.Pointer(name))
	var msg [errCap]byte
	l := &Library{path: path, abs: abs, sha256: sum}
	rc := C.lathe_operator_library_open(name, &l.handle, (*C.char)(unsafe.Pointer(&msg[0])), errCap)
	if rc != C.LATHE_OK {
		return nil, &Error{Code: Status(rc), Op: op, Message: strings.TrimPrefix(text(msg[:]), abs+": ")}
	}
	return l, nil
}

// Path is the library's file as it was opened.
func (l *Library) Path() string { return l.path }

// SHA256 is the hex digest of the library's file when it was opened.
func (l *Library) SHA256() string { return l.sha256 }

// Override finds one operator, a name of ReplaceableOps, and makes it ready for
// SessionOptions. A library without its function is refused, with what it exports.
func (l *Library) Override(name string) (Override, error) {
	op := "open kernel " + l.path
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	var msg [errCap]byte
	var found C.lathe_operator_symbols
	rc := C.lathe_operator_library_find(l.handle, c, &found, (*C.char)(unsafe.Pointer(&msg[0])), errCap)
	if err := failure(rc, op, msg[:]); err != nil {
		if len(ReplacedBy(name)) == 0 {
			return Override{}, err
		}
		names := strings.Join(l.Exports(), ", ")
		if names == "" {
			names = "no lathe_op_ function"
		}
		return Override{}, fmt.Errorf("%w; it exports %s", err, names)
	}
	if replaced(uintptr(found.function)) {
		return Override{}, wasReplaced(op)
	}
	return Override{Kind: OverrideFunction, Op: name, Function: uintptr(found.function),
		Workspace: uintptr(found.workspace), Supports: uintptr(found.supports)}, nil
}

// Exports lists the library's names that begin with lathe_op_, sorted; nil where its
// format is not ELF.
func (l *Library) Exports() []string {
	f, err := elf.Open(l.abs)
	if err != nil {
		return nil
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_BIND(s.Info) != elf.STB_LOCAL && strings.HasPrefix(s.Name, "lathe_op_") {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

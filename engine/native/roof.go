//go:build cgo

package native

// #include <stdlib.h>
// #include "roof.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// RoofLine is the granularity of ReadBytes.
const RoofLine = 512

// RoofBuffer is so many bytes as ReadBytes wants them.
func RoofBuffer(bytes int) []byte {
	const line = 64
	b := make([]byte, bytes+line)
	skip := (line - int(uintptr(unsafe.Pointer(&b[0]))%line)) % line
	return b[skip : skip+bytes : skip+bytes]
}

// ReadBytes reads all of data with the widest loads that run here, on the calling
// thread, and returns a digest of it. Its length must be a multiple of RoofLine and
// its start aligned to 64 bytes.
func ReadBytes(data []byte) (uint64, error) {
	if len(data) == 0 || len(data)%RoofLine != 0 || uintptr(unsafe.Pointer(&data[0]))%64 != 0 {
		return 0, fmt.Errorf("read %d bytes: want a multiple of %d, aligned to 64", len(data), RoofLine)
	}
	return uint64(C.lathe_roof_read(unsafe.Pointer(&data[0]), C.uint64_t(len(data)))), nil
}

// Multiply does rounds of the multiply-adds that the products of a numeric path are
// made of, in registers, on the calling thread, and returns how many FLOPs they were.
func Multiply(path string, rounds int) (flops int64, err error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	sink := C.float(1)
	flops = int64(C.lathe_roof_multiply(name, C.int64_t(rounds), &sink))
	if flops < 0 {
		return 0, fmt.Errorf("multiply: path %s does not run here", path)
	}
	return flops, nil
}

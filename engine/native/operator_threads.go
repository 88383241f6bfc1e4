//go:build cgo

package native

// #include "operator_call.h"
import "C"

import "unsafe"

// OperatorThreads are threads that operators of a user's library are called on: for
// the check of a kernel, not for a step. Use one from one goroutine at a time.
type OperatorThreads struct {
	handle unsafe.Pointer
}

// OpenOperatorThreads makes threads for that many parts, the caller's among them.
func OpenOperatorThreads(parts int) (*OperatorThreads, error) {
	const op = "open operator threads"
	n, err := toInt32(op, "parts", parts)
	if err != nil {
		return nil, err
	}
	var msg [errCap]byte
	t := &OperatorThreads{}
	rc := C.lathe_operator_threads_open(n, &t.handle, (*C.char)(unsafe.Pointer(&msg[0])), errCap)
	if err := failure(rc, op, msg[:]); err != nil {
		return nil, err
	}
	return t, nil
}

// Close ends the threads. Closing twice is harmless.
func (t *OperatorThreads) Close() {
	if t.handle != nil {
		C.lathe_operator_threads_close(t.handle)
		t.handle = nil
	}
}

// Call runs the function for every part and returns the first answer that is not 0.
func (t *OperatorThreads) Call(c OperatorCall) int32 {
	copies := make([]C.lathe_operator_copy, len(c.Copies))
	for i, m := range c.Copies {
		copies[i] = C.lathe_operator_copy{from: C.uintptr_t(m.From), to: C.uintptr_t(m.To), bytes: C.uint64_t(m.Bytes)}
	}
	return int32(C.lathe_operator_call(t.handle, C.uintptr_t(c.Function), C.uintptr_t(c.Args), C.uintptr_t(c.Workspace),
		C.uint64_t(c.WorkspaceBytes), C.uint32_t(c.Flags), flag(c.Reverse), unsafe.SliceData(copies), C.int32_t(len(copies))))
}

// OperatorSupports asks a library's _supports about arguments.
func OperatorSupports(function, args uintptr) bool {
	return C.lathe_operator_supports(C.uintptr_t(function), C.uintptr_t(args)) != 0
}

// OperatorWorkspace asks a library's _workspace how many bytes it wants.
func OperatorWorkspace(function, args uintptr) uint64 {
	return uint64(C.lathe_operator_workspace(C.uintptr_t(function), C.uintptr_t(args)))
}

// WatchFaults makes this process leave a record of four words at an address of native
// memory when a signal of its own making ends it: signal, address, access, 1. For a
// process that does nothing but call operators: the Go runtime hears of none of them.
func WatchFaults(record uintptr) { C.lathe_operator_watch(C.uintptr_t(record)) }

// FlushStreams writes out what C code left in its streams.
func FlushStreams() { _ = C.lathe_operator_flush() }

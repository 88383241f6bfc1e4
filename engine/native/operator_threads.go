//go:build cgo

package native

// #include <stdlib.h>
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

// Time calls the function once for each of the addresses of args, calls of them a
// sample, and returns the nanoseconds of each sample. Of the call only Function,
// Workspace, WorkspaceBytes and Flags count. code is the first answer that is not 0,
// where it stopped.
func (t *OperatorThreads) Time(c OperatorCall, args []uintptr, calls int) (ns []int64, code int32) {
	ns = make([]int64, len(args)/max(calls, 1))
	code = int32(C.lathe_operator_time(t.handle, C.uintptr_t(c.Function), C.uintptr_t(c.Workspace), C.uint64_t(c.WorkspaceBytes),
		C.uint32_t(c.Flags), (*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(args))), C.int32_t(len(args)), C.int32_t(max(calls, 1)),
		(*C.int64_t)(unsafe.Pointer(unsafe.SliceData(ns)))))
	return ns, code
}

// OperatorSupports asks a library's _supports about arguments.
func OperatorSupports(function, args uintptr) bool {
	return C.lathe_operator_supports(C.uintptr_t(function), C.uintptr_t(args)) != 0
}

// OperatorWorkspace asks a library's _workspace how many bytes it wants.
func OperatorWorkspace(function, args uintptr) uint64 {
	return uint64(C.lathe_operator_workspace(C.uintptr_t(function), C.uintptr_t(args)))
}

// BuiltinOperator is our own operator behind the type of a user's function: what
// OP=builtin puts into a slot.
type BuiltinOperator struct {
	Function uintptr
	op       C.int32_t
}

// OpenBuiltin finds our own operator of a name of ReplaceableOps, "gemm" excepted, on a
// numeric path of the CPU backend ("": the best that runs).
func OpenBuiltin(name, isa string) (BuiltinOperator, error) {
	op := "open builtin operator " + name
	cName, cISA := C.CString(name), C.CString(isa)
	defer C.free(unsafe.Pointer(cName))
	defer C.free(unsafe.Pointer(cISA))
	var msg [errCap]byte
	var found C.lathe_operator_ours
	rc := C.lathe_operator_builtin(cName, cISA, &found, (*C.char)(unsafe.Pointer(&msg[0])), errCap)
	if err := failure(rc, op, msg[:]); err != nil {
		return BuiltinOperator{}, err
	}
	return BuiltinOperator{Function: uintptr(found.function), op: found.op}, nil
}

// Supports says whether it runs the element types of arguments at an address.
func (b BuiltinOperator) Supports(args uintptr) bool {
	return C.lathe_operator_builtin_supports(b.op, C.uintptr_t(args)) != 0
}

// Workspace is how many bytes it wants for arguments at an address on that many threads.
func (b BuiltinOperator) Workspace(args uintptr, parts int) uint64 {
	return uint64(C.lathe_operator_builtin_workspace(b.op, C.uintptr_t(args), C.int32_t(parts)))
}

// WatchFaults makes this process leave a record of four words at an address of native
// memory when a signal of its own making ends it: signal, address, access, 1. For a
// process that does nothing but call operators: the Go runtime hears of none of them.
func WatchFaults(record uintptr) { C.lathe_operator_watch(C.uintptr_t(record)) }

// FlushStreams writes out what C code left in its streams.
func FlushStreams() { _ = C.lathe_operator_flush() }

//go:build !cgo

package native

// OperatorThreads cannot be had in a build without cgo.
type OperatorThreads struct{}

// OpenOperatorThreads returns ErrNoCgo.
func OpenOperatorThreads(parts int) (*OperatorThreads, error) { return nil, ErrNoCgo }

// Close does nothing.
func (t *OperatorThreads) Close() {}

// Call answers 0 and calls nothing: there are no threads to be had.
func (t *OperatorThreads) Call(c OperatorCall) int32 { return 0 }

// Time returns nothing.
func (t *OperatorThreads) Time(c OperatorCall, args []uintptr, calls int) ([]int64, int32) {
	return nil, 0
}

// OperatorSupports is false.
func OperatorSupports(function, args uintptr) bool { return false }

// OperatorWorkspace is 0.
func OperatorWorkspace(function, args uintptr) uint64 { return 0 }

// BuiltinOperator cannot be had in a build without cgo.
type BuiltinOperator struct{ Function uintptr }

// OpenBuiltin returns ErrNoCgo.
func OpenBuiltin(name, isa string) (BuiltinOperator, error) { return BuiltinOperator{}, ErrNoCgo }

// Supports is false.
func (b BuiltinOperator) Supports(args uintptr) bool { return false }

// Workspace is 0.
func (b BuiltinOperator) Workspace(args uintptr, parts int) uint64 { return 0 }

// WatchFaults does nothing.
func WatchFaults(record uintptr) {}

// FlushStreams does nothing.
func FlushStreams() {}

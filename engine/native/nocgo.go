//go:build !cgo

package native

import "encoding/json"

// Backend cannot be had in a build without cgo.
type Backend struct{}

// CPU returns ErrNoCgo.
func CPU() (*Backend, error) { return nil, ErrNoCgo }

// Reference returns ErrNoCgo.
func Reference() (*Backend, error) { return nil, ErrNoCgo }

// Open returns ErrNoCgo.
func Open(path string) (*Backend, error) { return nil, ErrNoCgo }

// Name is "".
func (b *Backend) Name() string { return "" }

// BuildInfo is "".
func (b *Backend) BuildInfo() string { return "" }

// Path is "".
func (b *Backend) Path() string { return "" }

// SHA256 is "".
func (b *Backend) SHA256() string { return "" }

// DeviceInfo returns ErrNoCgo.
func (b *Backend) DeviceInfo(dev int) (json.RawMessage, error) { return nil, ErrNoCgo }

// NewModel returns ErrNoCgo.
func (b *Backend) NewModel(d ModelDesc) (*Model, error) { return nil, ErrNoCgo }

// Model cannot be had in a build without cgo.
type Model struct{}

// SetTensor returns ErrNoCgo.
func (m *Model) SetTensor(role Role, layer int, dt DType, rows, cols int, data []byte) error {
	return ErrNoCgo
}

// SeedTensor returns ErrNoCgo.
func (m *Model) SeedTensor(role Role, layer, rows, cols int, seed uint64, std float32) error {
	return ErrNoCgo
}

// Ready returns ErrNoCgo.
func (m *Model) Ready() error { return ErrNoCgo }

// WeightBytes returns ErrNoCgo.
func (m *Model) WeightBytes() (uint64, error) { return 0, ErrNoCgo }

// Close does nothing.
func (m *Model) Close() {}

// NewSession returns ErrNoCgo.
func (m *Model) NewSession(o SessionOptions) (*Session, error) { return nil, ErrNoCgo }

// Session cannot be had in a build without cgo.
type Session struct{}

// Memory returns ErrNoCgo.
func (s *Session) Memory() (SessionMemory, error) { return SessionMemory{}, ErrNoCgo }

// Close does nothing.
func (s *Session) Close() {}

// Submit returns ErrNoCgo.
func (s *Session) Submit(b *Batch) error { return ErrNoCgo }

// Wait returns ErrNoCgo.
func (s *Session) Wait(tokens []int32, info *StepInfo) error { return ErrNoCgo }

// Logits returns ErrNoCgo.
func (s *Session) Logits(first, n int, out []float32) error { return ErrNoCgo }

// Residual returns ErrNoCgo.
func (s *Session) Residual(stage int, out []float32) error { return ErrNoCgo }

// CopyPages returns ErrNoCgo.
func (s *Session) CopyPages(direction PageDirection, from, to []int32, host []byte) error {
	return ErrNoCgo
}

// RunOperator returns ErrNoCgo.
func (s *Session) RunOperator(op string, args, function uintptr, cache CacheState, ns []int64) error {
	return ErrNoCgo
}

// Library cannot be had in a build without cgo.
type Library struct{}

// OpenLibrary returns ErrNoCgo.
func OpenLibrary(path string) (*Library, error) { return nil, ErrNoCgo }

// Path is "".
func (l *Library) Path() string { return "" }

// SHA256 is "".
func (l *Library) SHA256() string { return "" }

// Override returns ErrNoCgo.
func (l *Library) Override(name string) (Override, error) { return Override{}, ErrNoCgo }

// Exports is nil.
func (l *Library) Exports() []string { return nil }

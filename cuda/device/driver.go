package device

import (
	"errors"
	"fmt"
)

// ErrNoDriverAPI says that this build has no driver API: it needs the build tag cuda.
var ErrNoDriverAPI = errors.New("this build of lathe has no CUDA driver API (build tag cuda)")

// ErrClosed says that the Driver was closed before the call.
var ErrClosed = errors.New("the device is closed")

// DriverDevice is a device as the driver API tells it.
type DriverDevice struct {
	Index             int
	Name              string
	ComputeCapability string // such as "9.0"
	MemoryBytes       int64
}

// Address is an address in device memory.
type Address uint64

// Launch is the geometry of a kernel launch.
type Launch struct {
	Symbol      string // name of the kernel in the image
	Grid, Block [3]int
	SharedBytes int // dynamic shared memory
}

// Validate checks what the driver would refuse with a number only.
func (l Launch) Validate() error {
	if l.Symbol == "" {
		return errors.New("launch a kernel: no symbol")
	}
	for i := range 3 {
		if l.Grid[i] < 1 || l.Block[i] < 1 {
			return fmt.Errorf("launch %s: grid %v, block %v: every dimension must be at least 1", l.Symbol, l.Grid, l.Block)
		}
	}
	if l.SharedBytes < 0 {
		return fmt.Errorf("launch %s: shared memory of %d bytes", l.Symbol, l.SharedBytes)
	}
	return nil
}

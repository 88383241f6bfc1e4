//go:build !cgo || !linux

package device

import "fmt"

// Open fails: this build has no NVML.
func Open() (Source, error) {
	return nil, fmt.Errorf("%w: this build of lathe has no NVML (cgo on Linux only)", ErrNoDriver)
}

package device

import "errors"

// ErrNoDriver says that this machine has no NVIDIA driver, or none that answers. Callers branch on
// it: a machine without a GPU is no fault.
var ErrNoDriver = errors.New("no NVIDIA driver")

// ErrStubLibrary says that the NVML found is the toolkit's, which is there to link against and drives
// nothing. Unlike a machine without a GPU, that is a fault of the library path. It comes with
// ErrNoDriver.
var ErrStubLibrary = errors.New("nvml: stub library")

// Source is a machine's NVML. Open returns the real one; Fake is a scripted one.
type Source interface {
	// Machine returns what does not change while a run lasts.
	Machine() (Machine, error)
	// Sample returns the state of the device with that index now. A field that the device does not
	// support is nil; an error means that NVML itself failed.
	Sample(index int) (Sample, error)
	// Close ends NVML. No method may be called afterwards.
	Close() error
}

// Machine is the driver and its devices.
type Machine struct {
	Driver  string   `json:"driver"`       // such as "580.95.05"
	NVML    string   `json:"nvml"`         // version of the library
	CUDA    string   `json:"cuda_version"` // newest CUDA that the driver runs, such as "13.0"; "" unknown
	Devices []Device `json:"devices"`
}

// Device is one device. A nil field is unknown, and Unknown says why.
type Device struct {
	Index             int     `json:"index"`
	UUID              string  `json:"uuid"`
	Name              string  `json:"name"`
	ComputeCapability string  `json:"compute_capability"` // such as "9.0"; "" unknown
	SMClockMaxMHz     *int    `json:"sm_clock_max_mhz"`
	MemoryClockMaxMHz *int    `json:"memory_clock_max_mhz"`
	PowerLimitMW      *int    `json:"power_limit_mw"` // the cap in force
	ECC               *bool   `json:"ecc"`
	MIG               *bool   `json:"mig"`
	MIGDevices        []MIG   `json:"mig_devices,omitempty"` // slices of this device, where MIG is on
	Persistence       *bool   `json:"persistence"`
	Memory            *Memory `json:"memory"`
	// Processes that hold the device now, this one included; nil is unknown, empty is none.
	Processes []Process         `json:"processes"`
	Unknown   map[string]string `json:"unknown,omitempty"` // field -> why it is nil
}

// MIG is one slice of a device.
type MIG struct {
	UUID            string  `json:"uuid"`
	Name            string  `json:"name"`
	GPUInstance     *int    `json:"gpu_instance"` // nil: unknown
	ComputeInstance *int    `json:"compute_instance"`
	Memory          *Memory `json:"memory"`
}

// Memory is device memory in bytes. What the driver reserves is not in Used, unless Reserved is nil: an
// older driver does not tell them apart, and its Used counts both.
type Memory struct {
	Total    uint64  `json:"total_bytes"`
	Reserved *uint64 `json:"reserved_bytes"`
	Used     uint64  `json:"used_bytes"`
}

// Process is one process on a device.
type Process struct {
	PID         uint32  `json:"pid"`
	MemoryBytes *uint64 `json:"memory_bytes"` // nil: unknown, as inside a container
}

// Sample is the state of a device at one moment. A nil field is unknown.
type Sample struct {
	SMClockMHz     *int     `json:"sm_clock_mhz"`
	MemoryClockMHz *int     `json:"memory_clock_mhz"`
	PowerMW        *int     `json:"power_mw"`
	TemperatureC   *int     `json:"temperature_c"`
	Reasons        *Reasons `json:"throttle_reasons"`
}

//go:build cgo && linux

package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// functionNotFound is why a field is unknown that this driver has no function for.
const functionNotFound = "function not found"

// Open loads and initialises NVML. It fails with ErrNoDriver where there is no driver, and with
// ErrStubLibrary too where the toolkit's stub stands in its place; nothing of NVML is called after that.
// What the library prints to standard output meanwhile is thrown away, so nobody else may write there.
func Open() (Source, error) { return open(nvml.New()) }

func open(lib nvml.Interface) (Source, error) {
	var ret nvml.Return
	printed := withoutStdout(func() { ret = lib.Init() })
	switch {
	case ret == nvml.SUCCESS:
		return &source{lib: lib, missing: map[string]bool{}, handles: map[int]nvml.Device{}}, nil
	case ret == nvml.ERROR_LIBRARY_NOT_FOUND && printed == "":
		return nil, fmt.Errorf("%w: libnvidia-ml.so.1 is not installed", ErrNoDriver)
	}
	path := loadedNVML()
	switch {
	case printed != "" || filepath.Base(filepath.Dir(path)) == "stubs": // a driver's library prints nothing
		return nil, fmt.Errorf("%w: %w: %s is the toolkit's, to link against only", ErrNoDriver, ErrStubLibrary, path)
	case ret == nvml.ERROR_DRIVER_NOT_LOADED:
		return nil, fmt.Errorf("%w: the kernel module is not loaded", ErrNoDriver)
	}
	return nil, fmt.Errorf("%w: initialise NVML: %w", ErrNoDriver, code(ret))
}

// loadedNVML is the file that this process has loaded as NVML (proc(5), maps: the path is the sixth
// column).
func loadedNVML() string {
	const name, pathColumn = "libnvidia-ml.so", 5
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		if words := strings.Fields(line); len(words) > pathColumn {
			if path := strings.Join(words[pathColumn:], " "); strings.HasPrefix(filepath.Base(path), name) {
				return path
			}
		}
	}
	return name
}

// source is NVML itself.
type source struct {
	lib     nvml.Interface
	missing map[string]bool // functions that this driver lacks, by name; false: looked up and there
	handles map[int]nvml.Device
}

func (s *source) Close() error {
	if ret := s.lib.Shutdown(); ret != nvml.SUCCESS {
		return fmt.Errorf("close NVML: %w", code(ret))
	}
	return nil
}

// has resolves a function before its first call: lazy binding of one that an older driver lacks
// would end the process.
func (s *source) has(function string) bool {
	missing, known := s.missing[function]
	if !known {
		missing = s.lib.Extensions().LookupSymbol(function) != nil
		s.missing[function] = missing
	}
	return !missing
}

func (s *source) Machine() (Machine, error) {
	var m Machine
	r := &reader{s: s, unknown: map[string]string{}}
	if v := read(r, "driver", "nvmlSystemGetDriverVersion", s.lib.SystemGetDriverVersion); v != nil {
		m.Driver = *v
	}
	if v := read(r, "nvml", "nvmlSystemGetNVMLVersion", s.lib.SystemGetNVMLVersion); v != nil {
		m.NVML = *v
	}
	if v := read(r, "cuda_version", "nvmlSystemGetCudaDriverVersion", s.lib.SystemGetCudaDriverVersion); v != nil {
		m.CUDA = fmt.Sprintf("%d.%d", *v/1000, *v%1000/10)
	}
	if r.err != nil {
		return m, r.err
	}
	n, ret := s.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return m, fmt.Errorf("count devices: %w", code(ret))
	}
	for i := range n {
		d, err := s.device(i)
		if err != nil {
			return m, err
		}
		m.Devices = append(m.Devices, d)
	}
	return m, nil
}

func (s *source) handle(index int) (nvml.Device, error) {
	if h, ok := s.handles[index]; ok {
		return h, nil
	}
	h, ret := s.lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("open device %d: %w", index, code(ret))
	}
	s.handles[index] = h
	return h, nil
}

// code is a return code of NVML as an error. The code's own Error method is not used: it calls a
// function of the library that the library may lack.
func code(ret nvml.Return) error { return fmt.Errorf("NVML answered with code %d", int32(ret)) }

// unsupported sorts a code: "", nil where the value is good, a reason where the field is unknown,
// and an error where nothing can be believed any more.
func unsupported(ret nvml.Return) (reason string, err error) {
	switch ret {
	case nvml.SUCCESS:
		return "", nil
	case nvml.ERROR_NOT_SUPPORTED:
		return "not supported", nil
	case nvml.ERROR_NO_PERMISSION:
		return "no permission", nil
	case nvml.ERROR_FUNCTION_NOT_FOUND:
		return functionNotFound, nil
	case nvml.ERROR_ARGUMENT_VERSION_MISMATCH, nvml.ERROR_INVALID_ARGUMENT, nvml.ERROR_NOT_FOUND, nvml.ERROR_NO_DATA:
		return code(ret).Error(), nil
	}
	return "", code(ret)
}

package device

import "fmt"

// DriverError is an answer of the driver API that is not success, with what it means here and what to
// do. The CUDA runtime uses the same numbers.
type DriverError struct {
	Code int
	Name string // as cuda.h has it; "" unknown
	What string // what is, and what would be needed
	Fix  string // "" unknown
}

// Error has everything in one line.
func (e *DriverError) Error() string {
	out := fmt.Sprintf("CUDA error %d", e.Code)
	if e.Name != "" {
		out = fmt.Sprintf("%s (%d)", e.Name, e.Code)
	}
	if e.What != "" {
		out += ": " + e.What
	}
	if e.Fix != "" {
		out += "; " + e.Fix
	}
	return out
}

// DriverFacts is what is known where the driver answered with an error. Zero values are unknown.
type DriverFacts struct {
	Driver            int      // newest CUDA that the driver runs, as cuDriverGetVersion tells it: 13000 is 13.0
	Needed            int      // the CUDA that the code was built with; 0: read from Image
	ComputeCapability string   // of the device, such as "9.0"
	Built             []string // architectures that the code was built for, such as "sm_90a"; nil: read from Image
	Image             []byte   // cubin or PTX
	RequestedBytes    int64
	FreeBytes         *int64
}

// The codes that have a translation (cuda.h, CUresult; 35 is the runtime's alone, driver_types.h).
const (
	codeOutOfMemory        = 2
	codeStubLibrary        = 34
	codeInsufficientDriver = 35
	codeNeedsNewerDriver   = 36
	codeNoDevice           = 100
	codeInvalidContext     = 201
	codeNoBinary           = 209
	codeUnsupportedPTX     = 222
	codeDriverMismatch     = 803
	codeCompatibility      = 804
)

// Translate says what a code of the driver means, with the numbers that are known.
func Translate(code int, f DriverFacts) *DriverError {
	e := &DriverError{Code: code}
	switch code {
	case codeOutOfMemory:
		e.Name, e.What = "CUDA_ERROR_OUT_OF_MEMORY", f.memory()
		e.Fix = "ask for less, or end what else holds the device (nvidia-smi lists it)"
	case codeStubLibrary:
		e.Name, e.What = "CUDA_ERROR_STUB_LIBRARY", "libcuda.so.1 is the toolkit's stub, to link against only"
		e.Fix = "take its directory out of LD_LIBRARY_PATH"
	case codeInsufficientDriver, codeNeedsNewerDriver:
		e.Name = "cudaErrorInsufficientDriver"
		if code == codeNeedsNewerDriver {
			e.Name = "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER"
		}
		e.What = "driver too old: " + f.versions("the program")
		e.Fix = "install a driver for " + f.cudaOrNewer()
	case codeDriverMismatch:
		e.Name = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
		e.What = "driver too old: the kernel module does not fit libcuda.so.1: " + f.versions("the program")
		e.Fix = "reload the kernel module or restart the machine after a driver update; in a container, update the host's driver"
	case codeCompatibility:
		e.Name = "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"
		e.What = "driver too old: the forward-compatible libcuda.so.1 does not serve this device"
		e.Fix = "take the compat directory out of LD_LIBRARY_PATH, or install a driver for " + f.cudaOrNewer()
	case codeNoDevice:
		e.Name, e.What = "CUDA_ERROR_NO_DEVICE", "no device: the driver shows this process none"
		e.Fix = "nvidia-smi -L lists the devices; CUDA_VISIBLE_DEVICES hides what it does not name"
	case codeInvalidContext:
		e.Name, e.What = "CUDA_ERROR_INVALID_CONTEXT", "the calling thread has no context of this device"
	case codeNoBinary:
		e.Name, e.What = "CUDA_ERROR_NO_BINARY_FOR_GPU", f.architectures()
		e.Fix = "build it for " + f.architecture()
	case codeUnsupportedPTX:
		e.Name, e.What = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "PTX too new: "
		if v := ptxVersion(f.Image); v != "" {
			e.What += "version " + v + ": "
		}
		e.What += f.versions("the PTX")
		e.Fix = fmt.Sprintf("install a driver for %s, build with an older toolkit, or build a cubin for %s", f.cudaOrNewer(), f.architecture())
	}
	return e
}

// versions says what the driver runs and what the subject needs.
func (f DriverFacts) versions(subject string) string {
	runs := "the driver runs CUDA up to " + cudaVersion(f.Driver)
	if f.Driver == 0 {
		runs = "which CUDA the driver runs is unknown"
	}
	if n := f.needed(); n != 0 {
		return fmt.Sprintf("%s, %s needs CUDA %s", runs, subject, cudaVersion(n))
	}
	return fmt.Sprintf("%s, %s needs a newer one", runs, subject)
}

func (f DriverFacts) needed() int {
	if f.Needed != 0 {
		return f.Needed
	}
	return cudaOfPTX(ptxVersion(f.Image))
}

func (f DriverFacts) cudaOrNewer() string {
	if n := f.needed(); n != 0 {
		return "CUDA " + cudaVersion(n) + " or newer"
	}
	return "the CUDA that the code was built with"
}

// cudaVersion writes 12040 as 12.4.
func cudaVersion(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

func (f DriverFacts) memory() string {
	what := "out of memory"
	switch {
	case f.RequestedBytes > 0 && f.FreeBytes != nil:
		return fmt.Sprintf("%s: %d bytes requested, %d free", what, f.RequestedBytes, *f.FreeBytes)
	case f.RequestedBytes > 0:
		return fmt.Sprintf("%s: %d bytes requested, how many are free is unknown", what, f.RequestedBytes)
	case f.FreeBytes != nil:
		return fmt.Sprintf("%s: %d bytes free", what, *f.FreeBytes)
	}
	return what
}

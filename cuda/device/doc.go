// Package device owns the facts of an NVIDIA device and its state under load, as NVML tells them:
// identity, clocks, power cap, ECC, MIG, persistence, throttle reasons, other processes. With the
// build tag cuda it also owns the driver API of stand-alone kernels: contexts, modules, launches.
//
// It refuses to set anything (clocks are recorded, never locked), to guess (what a device does not
// support is unknown, not zero) and to stop a run because NVML stopped answering: from then on the
// samples are unknown, and the moment is kept.
//
// NVML is opened at run time and needs no CUDA to build: cgo and Linux only, a stub elsewhere.
// After a failed initialisation no other NVML function may be called, because an unresolved symbol
// ends the process; Open is therefore the only way to a Source.
//
// The linker flags of go-nvml silence undefined symbols in the whole binary that imports this
// package. The native engine must keep a test binary without it.
package device

//go:build cgo && linux

package device

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// reader reads the fields of one device: a field that is not supported stays nil with its reason,
// and after the first code that means loss nothing more is asked.
type reader struct {
	s       *source
	unknown map[string]string
	err     error
}

// read asks one function for one field. ask is not called where the driver lacks the function.
func read[T any](r *reader, field, function string, ask func() (T, nvml.Return)) *T {
	if r.err != nil {
		return nil
	}
	if !r.s.has(function) {
		r.unknown[field] = functionNotFound
		return nil
	}
	v, ret := ask()
	reason, err := unsupported(ret)
	if err != nil {
		r.err = fmt.Errorf("read %s: %w", field, err)
		return nil
	}
	if reason != "" {
		r.unknown[field] = reason
		return nil
	}
	return &v
}

func whole(v *uint32) *int {
	if v == nil {
		return nil
	}
	n := int(*v)
	return &n
}

func enabled(v *nvml.EnableState) *bool {
	if v == nil {
		return nil
	}
	on := *v == nvml.FEATURE_ENABLED
	return &on
}

// device reads what does not change while a run lasts.
func (s *source) device(index int) (Device, error) {
	h, err := s.handle(index)
	if err != nil {
		return Device{}, err
	}
	r := &reader{s: s, unknown: map[string]string{}}
	d := Device{Index: index, Unknown: r.unknown}
	if v := read(r, "uuid", "nvmlDeviceGetUUID", h.GetUUID); v != nil {
		d.UUID = *v
	}
	if v := read(r, "name", "nvmlDeviceGetName", h.GetName); v != nil {
		d.Name = *v
	}
	if v := read(r, "compute_capability", "nvmlDeviceGetCudaComputeCapability", func() (string, nvml.Return) {
		major, minor, ret := h.GetCudaComputeCapability()
		return fmt.Sprintf("%d.%d", major, minor), ret
	}); v != nil {
		d.ComputeCapability = *v
	}
	d.SMClockMaxMHz = whole(read(r, "sm_clock_max_mhz", "nvmlDeviceGetMaxClockInfo", func() (uint32, nvml.Return) { return h.GetMaxClockInfo(nvml.CLOCK_SM) }))
	d.MemoryClockMaxMHz = whole(read(r, "memory_clock_max_mhz", "nvmlDeviceGetMaxClockInfo", func() (uint32, nvml.Return) { return h.GetMaxClockInfo(nvml.CLOCK_MEM) }))
	d.PowerLimitMW = whole(read(r, "power_limit_mw", "nvmlDeviceGetEnforcedPowerLimit", h.GetEnforcedPowerLimit))
	d.ECC = enabled(read(r, "ecc", "nvmlDeviceGetEccMode", func() (nvml.EnableState, nvml.Return) {
		now, _, ret := h.GetEccMode()
		return now, ret
	}))
	d.Persistence = enabled(read(r, "persistence", "nvmlDeviceGetPersistenceMode", h.GetPersistenceMode))
	d.MIG = read(r, "mig", "nvmlDeviceGetMigMode", func() (bool, nvml.Return) {
		now, _, ret := h.GetMigMode()
		return now == nvml.DEVICE_MIG_ENABLE, ret
	})
	if d.MIG != nil && *d.MIG {
		d.MIGDevices = r.slices(h)
	}
	d.Memory = r.memory("memory", h)
	d.Processes = r.processes(h)
	if r.err != nil {
		return d, fmt.Errorf("read device %d: %w", index, r.err)
	}
	return d, nil
}

// memory uses the second version of the call: the first counts what the driver reserves as used. It is
// the one to ask where the driver lacks the second or refuses its structure, whose version is part of
// the call; the reserved bytes are unknown then.
func (r *reader) memory(field string, h nvml.Device) *Memory {
	if v := read(r, field, "nvmlDeviceGetMemoryInfo_v2", h.GetMemoryInfo_v2); v != nil {
		return &Memory{Total: v.Total, Reserved: &v.Reserved, Used: v.Used}
	}
	why := r.unknown[field]
	switch why {
	case functionNotFound, code(nvml.ERROR_ARGUMENT_VERSION_MISMATCH).Error():
	default:
		return nil
	}
	delete(r.unknown, field)
	v := read(r, field, "nvmlDeviceGetMemoryInfo", h.GetMemoryInfo)
	if v == nil {
		return nil
	}
	r.unknown[field+"_reserved"] = why
	return &Memory{Total: v.Total, Used: v.Used}
}

// slices lists the MIG devices; a hole in the numbering is skipped.
func (r *reader) slices(h nvml.Device) []MIG {
	most := read(r, "mig_devices", "nvmlDeviceGetMaxMigDeviceCount", h.GetMaxMigDeviceCount)
	if most == nil || !r.s.has("nvmlDeviceGetMigDeviceHandleByIndex") {
		return nil
	}
	var out []MIG
	for i := 0; i < *most && r.err == nil; i++ {
		slice, ret := h.GetMigDeviceHandleByIndex(i)
		if ret == nvml.ERROR_NOT_FOUND {
			continue
		}
		reason, err := unsupported(ret)
		if reason != "" {
			r.unknown["mig_devices"] = reason
			return out
		}
		if err != nil {
			r.err = fmt.Errorf("read mig_devices: %w", err)
			return out
		}
		var m MIG
		if v := read(r, "mig_uuid", "nvmlDeviceGetUUID", slice.GetUUID); v != nil {
			m.UUID = *v
		}
		if v := read(r, "mig_name", "nvmlDeviceGetName", slice.GetName); v != nil {
			m.Name = *v
		}
		m.GPUInstance = read(r, "mig_gpu_instance", "nvmlDeviceGetGpuInstanceId", slice.GetGpuInstanceId)
		m.ComputeInstance = read(r, "mig_compute_instance", "nvmlDeviceGetComputeInstanceId", slice.GetComputeInstanceId)
		m.Memory = r.memory("mig_memory", slice)
		out = append(out, m)
	}
	return out
}

// processes lists who holds the device. NVML writes all ones for a memory it may not tell.
func (r *reader) processes(h nvml.Device) []Process {
	list := read(r, "processes", "nvmlDeviceGetComputeRunningProcesses", h.GetComputeRunningProcesses)
	if list == nil {
		return nil
	}
	out := []Process{}
	for _, p := range *list {
		one := Process{PID: p.Pid}
		if p.UsedGpuMemory != ^uint64(0) {
			used := p.UsedGpuMemory
			one.MemoryBytes = &used
		}
		out = append(out, one)
	}
	return out
}

// Sample reads the state now.
func (s *source) Sample(index int) (Sample, error) {
	h, err := s.handle(index)
	if err != nil {
		return Sample{}, err
	}
	r := &reader{s: s, unknown: map[string]string{}}
	var out Sample
	out.SMClockMHz = whole(read(r, "sm_clock_mhz", "nvmlDeviceGetClockInfo", func() (uint32, nvml.Return) { return h.GetClockInfo(nvml.CLOCK_SM) }))
	out.MemoryClockMHz = whole(read(r, "memory_clock_mhz", "nvmlDeviceGetClockInfo", func() (uint32, nvml.Return) { return h.GetClockInfo(nvml.CLOCK_MEM) }))
	out.PowerMW = whole(read(r, "power_mw", "nvmlDeviceGetPowerUsage", h.GetPowerUsage))
	out.TemperatureC = whole(read(r, "temperature_c", "nvmlDeviceGetTemperature", func() (uint32, nvml.Return) { return h.GetTemperature(nvml.TEMPERATURE_GPU) }))
	out.Reasons = r.reasons(h)
	if r.err != nil {
		return Sample{}, fmt.Errorf("sample device %d: %w", index, r.err)
	}
	return out, nil
}

// reasons asks by the newer of the function's two names that the driver has.
func (r *reader) reasons(h nvml.Device) *Reasons {
	function, ask := "nvmlDeviceGetCurrentClocksEventReasons", h.GetCurrentClocksEventReasons
	if !r.s.has(function) {
		function, ask = "nvmlDeviceGetCurrentClocksThrottleReasons", h.GetCurrentClocksThrottleReasons
	}
	mask := read(r, "throttle_reasons", function, ask)
	if mask == nil {
		return nil
	}
	reasons := Reasons(*mask)
	return &reasons
}

package main

import (
	"errors"
	"fmt"

	"lathe/bench"
	"lathe/cuda/device"
)

// gpuFacts reads the devices through NVML. Without a driver there are none and no note; the note
// says what went wrong otherwise.
func gpuFacts(open func() (device.Source, error)) (machine *device.Machine, note string) {
	source, err := open()
	if errors.Is(err, device.ErrNoDriver) {
		return nil, ""
	}
	if err != nil {
		return nil, err.Error()
	}
	m, err := source.Machine()
	if err != nil {
		return nil, errors.Join(err, source.Close()).Error()
	}
	if err := source.Close(); err != nil {
		note = err.Error()
	}
	return &m, note
}

// benchGPUs is the devices as the raw file has them.
func benchGPUs(m device.Machine) []bench.GPU {
	var out []bench.GPU
	for _, d := range m.Devices {
		g := bench.GPU{Index: d.Index, UUID: d.UUID, Name: d.Name, Driver: m.Driver, SMClockMHz: d.SMClockMaxMHz,
			MemClockMHz: d.MemoryClockMaxMHz, ECC: d.ECC, MIG: d.MIG, Persistence: d.Persistence}
		if d.PowerLimitMW != nil {
			g.PowerLimitW = ptrTo(*d.PowerLimitMW / 1000)
		}
		out = append(out, g)
	}
	return out
}

// gpuTroubles lists what will spoil a measurement on these devices. pid is this process.
func gpuTroubles(m device.Machine, samples map[int]device.Sample, pid int) []trouble {
	var out []trouble
	add := func(fix, format string, args ...any) { out = append(out, trouble{fmt.Sprintf(format, args...), fix}) }
	for _, d := range m.Devices {
		name := fmt.Sprintf("GPU %d", d.Index)
		if d.Persistence != nil && !*d.Persistence {
			add(fmt.Sprintf("sudo nvidia-smi -i %d -pm 1", d.Index), "%s: persistence mode is off: the driver unloads between runs", name)
		}
		if others := otherProcesses(d, pid); others > 0 {
			add("nvidia-smi lists them", "%s: %d other processes hold it", name, others)
		}
		if d.MIG != nil && *d.MIG {
			add("pick a slice with --device MIG-uuid", "%s: MIG is on: clocks and power are shared with other slices", name)
		}
		if s := samples[d.Index]; s.Reasons != nil && s.Reasons.Throttled() {
			add("let it cool, or raise the cap: nvidia-smi -q -d PERFORMANCE,POWER", "%s: throttled now: %s", name, s.Reasons)
		}
	}
	return out
}

func otherProcesses(d device.Device, pid int) int {
	n := 0
	for _, p := range d.Processes {
		if int(p.PID) != pid {
			n++
		}
	}
	return n
}

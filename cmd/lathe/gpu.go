package main

import (
	"errors"
	"fmt"
	"strconv"

	"lathe/bench"
	"lathe/cuda/device"
)

// gpuFacts reads the devices through NVML. Without a driver there are none and no note; the note
// says what went wrong otherwise.
func gpuFacts(open func() (device.Source, error)) (machine *device.Machine, note string) {
	source, err := open()
	if errors.Is(err, device.ErrNoDriver) && !errors.Is(err, device.ErrStubLibrary) {
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

// benchGPUs is the devices that CUDA shows, as the raw file has them: in CUDA's order and with its
// indices. A slice has its own name and uuid; what it does not tell is the whole device's.
func benchGPUs(m device.Machine, visible device.Visible) []bench.GPU {
	var out []bench.GPU
	for i, v := range visible.Devices {
		d := v.Device
		g := bench.GPU{Index: i, UUID: d.UUID, Name: d.Name, Driver: m.Driver, SMClockMHz: d.SMClockMaxMHz,
			MemClockMHz: d.MemoryClockMaxMHz, ECC: d.ECC, MIG: d.MIG, Persistence: d.Persistence}
		if v.Slice != nil {
			g.UUID, g.Name = v.Slice.UUID, v.Slice.Name
		}
		if d.PowerLimitMW != nil {
			g.PowerLimitW = ptrTo(*d.PowerLimitMW / 1000)
		}
		out = append(out, g)
	}
	return out
}

// visibleTroubles is what is wrong with CUDA_VISIBLE_DEVICES, or may be.
func visibleTroubles(v device.Visible) []trouble {
	const fix = "nvidia-smi -L lists what " + envVisible + " may name"
	var out []trouble
	if v.Ended != nil {
		out = append(out, trouble{envVisible + ": " + v.Ended.Error(), fix})
	}
	for _, note := range v.Notes {
		out = append(out, trouble{envVisible + ": " + note, fix})
	}
	return out
}

// resolveDevice turns what --device names into CUDA's index. Where NVML does not answer, an index stays
// for the plug-in to judge.
func (app *application) resolveDevice(o *engineOptions) error {
	if o.Device == "" || isBuiltin(o.Backend) {
		return nil
	}
	m, note := gpuFacts(app.nvml)
	if m == nil {
		if _, err := strconv.Atoi(o.Device); err == nil {
			return nil
		}
		if note == "" {
			note = device.ErrNoDriver.Error()
		}
		return usageError("--device INDEX", "--device: %s: a uuid is looked up through NVML: %s", o.Device, oneLine(note))
	}
	index, err := m.Visible(app.visibleDevices()).Find(o.Device)
	if err != nil {
		return usageError("lathe doctor lists the devices; "+envVisible+" hides what it does not name", "--device: %w", err)
	}
	o.Device = strconv.Itoa(index)
	return nil
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

package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"lathe/cuda/device"
)

// text is the report of doctor for people: facts, then warnings with what to do.
func (d doctorFacts) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	c := d.CPU
	row("system", "%s %s, kernel %s", d.Host.OS, d.Host.Arch, known(d.Host.Kernel))
	row("processor", "%s", known(c.Model))
	row("cpus", "%d online, %d usable, cores %s, sockets %s, NUMA nodes %s", c.LogicalCPUs, c.UsableCPUs, number(c.PhysicalCores), number(c.Sockets), number(c.NUMANodes))
	row("features", "%s", known(strings.Join(c.Features, " ")))
	row("cpu paths", "%s; of this build: %s", known(strings.Join(c.Paths, " ")), known(strings.Join(c.BuiltPaths, " ")))
	row("governor", "%s", orUnknown(c.Governor))
	row("turbo", "%s", onOff(c.Turbo))
	row("smt", "%s", onOff(c.SMT))
	row("virtual machine", "%s", yesNo(c.Virtualised))
	if c.QuotaCPUs == nil {
		row("cpu quota", "none seen")
	} else {
		row("cpu quota", "%.2f CPUs", *c.QuotaCPUs)
	}
	row("last-level cache", "%s", size(c.LastLevelBytes, 1<<20, "MiB"))
	row("memory", "%s, %s available", size(d.Memory.TotalBytes, 1e9, "GB"), size(d.Memory.AvailableBytes, 1e9, "GB"))
	row("huge pages", "transparent: %s; reserved: %s", orUnknown(d.Memory.TransparentHugePages), number(d.Memory.HugePages))
	if len(d.Load) > 0 {
		row("load average", "%.2f %.2f %.2f", d.Load[0], d.Load[1], d.Load[2])
	}
	d.gpuRows(row)
	w.Flush()
	for _, t := range d.Troubles {
		fmt.Fprintf(&b, "warning: %s\nhint: %s\n", t.What, t.Fix)
	}
	return b.String()
}

func (d doctorFacts) gpuRows(row func(name, format string, args ...any)) {
	if d.GPU == nil {
		row("gpu", "%s", d.GPUNote)
		return
	}
	row("driver", "%s, NVML %s, CUDA up to %s", known(d.GPU.Driver), known(d.GPU.NVML), known(d.GPU.CUDA))
	if len(d.GPU.Devices) == 0 {
		row("gpu", "the driver has no device")
	}
	for _, g := range d.GPU.Devices {
		d.deviceRow(row, g)
	}
	var shown []string
	for _, g := range d.Host.GPUs {
		shown = append(shown, fmt.Sprintf("%d: %s", g.Index, g.UUID))
	}
	if len(shown) == 0 {
		shown = []string{"none"}
	}
	row("shown by cuda", "%s", strings.Join(shown, ", "))
}

func (d doctorFacts) deviceRow(row func(name, format string, args ...any), g device.Device) {
	memory := "memory unknown"
	if g.Memory != nil {
		memory = fmt.Sprintf("%.1f GB", float64(g.Memory.Total)/1e9)
	}
	power := "unknown"
	if g.PowerLimitMW != nil {
		power = fmt.Sprintf("%d W", *g.PowerLimitMW/1000)
	}
	row(fmt.Sprintf("gpu %d", g.Index), "%s %s, compute %s, %s, SM clock up to %s MHz, memory clock %s MHz, power cap %s, ECC %s, MIG %s, persistence %s",
		known(g.Name), g.UUID, known(g.ComputeCapability), memory, number(g.SMClockMaxMHz), number(g.MemoryClockMaxMHz), power,
		onOff(g.ECC), onOff(g.MIG), onOff(g.Persistence))
	for _, s := range g.MIGDevices {
		row("", "%s %s", s.UUID, s.Name)
	}
}

func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func orUnknown(s *string) string {
	if s == nil {
		return "unknown"
	}
	return *s
}

func number[T int | int64](n *T) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}

func onOff(b *bool) string {
	switch {
	case b == nil:
		return "unknown"
	case *b:
		return "on"
	}
	return "off"
}

func yesNo(b *bool) string {
	switch {
	case b == nil:
		return "unknown"
	case *b:
		return "yes"
	}
	return "no"
}

func size(n *uint64, unit float64, name string) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f %s", float64(*n)/unit, name)
}

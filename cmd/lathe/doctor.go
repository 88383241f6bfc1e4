package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lathe/bench"
	"lathe/cuda/device"
	"lathe/engine/native"
)

// doctorFacts is what doctor --format json prints. Unknown is null.
type doctorFacts struct {
	Host     bench.Host      `json:"host"`
	CPU      cpuFacts        `json:"cpu"`
	Memory   memoryFacts     `json:"memory"`
	Load     []float64       `json:"load_average"` // over 1, 5 and 15 minutes
	Steal    *float64        `json:"steal_percent"`
	GPU      *device.Machine `json:"gpu"`      // null: no driver
	GPUNote  string          `json:"gpu_note"` // why, in one line
	Troubles []trouble       `json:"warnings"`
}

// memoryFacts is the memory of the machine.
type memoryFacts struct {
	TotalBytes           *uint64 `json:"total_bytes"`
	AvailableBytes       *uint64 `json:"available_bytes"`
	TransparentHugePages *string `json:"transparent_huge_pages"` // always | madvise | never
	HugePages            *int64  `json:"huge_pages"`             // reserved
	HugePageBytes        *uint64 `json:"huge_page_bytes"`
}

// trouble is something that will spoil a measurement, and the command that fixes it.
type trouble struct {
	What string `json:"what"`
	Fix  string `json:"fix"`
}

func newDoctorCommand(app *application) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "What this machine can measure, and what will spoil it",
		Example: "  lathe doctor",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			d := examine(thisMachine(), app.nvml, app.visibleDevices())
			d.CPU.Paths, d.CPU.BuiltPaths = backendPaths()
			if format == "json" {
				return printJSON(app.term.out, d)
			}
			_, err := app.term.out.Write([]byte(d.text()))
			return err
		},
	}
	choiceVar(cmd.Flags(), &format, "format", "text", []string{"text", "json"}, "form of the result")
	return cmd
}

// backendPaths asks the CPU backend which of its paths run here and which it was built with. It
// alone decides that; nil, unknown, in a build without it.
func backendPaths() (runs, built []string) {
	b, err := native.CPU()
	if err != nil {
		return nil, nil
	}
	info, err := b.DeviceInfo(-1)
	if err != nil {
		return nil, nil
	}
	var facts struct {
		Paths []string `json:"paths"`
		Built []string `json:"built_paths"`
	}
	if json.Unmarshal(info, &facts) != nil {
		return nil, nil
	}
	return facts.Paths, facts.Built
}

// examine gathers the facts and judges them. visible is CUDA_VISIBLE_DEVICES; nil is unset.
func examine(m machine, open func() (device.Source, error), visible *string) doctorFacts {
	d := doctorFacts{Host: m.host(), CPU: m.cpu(), Memory: m.memory(), Load: m.load(), Steal: m.steal()}
	d.Troubles = append([]trouble{}, d.cpuTroubles()...)
	d.Troubles = append(d.Troubles, d.otherTroubles()...)
	source, err := open()
	if err != nil {
		d.GPUNote = oneLine(err.Error())
		if errors.Is(err, device.ErrStubLibrary) {
			d.Troubles = append(d.Troubles, trouble{d.GPUNote, "take the toolkit's stubs directory out of LD_LIBRARY_PATH"})
		}
		return d
	}
	gpu, err := source.Machine()
	samples := map[int]device.Sample{}
	for _, g := range gpu.Devices {
		if s, err := source.Sample(g.Index); err == nil {
			samples[g.Index] = s
		}
	}
	if err != nil {
		d.GPUNote = oneLine(err.Error())
	} else {
		d.GPU = &gpu
		shown := gpu.Visible(visible)
		d.Host.GPUs = benchGPUs(gpu, shown)
		d.Troubles = append(d.Troubles, visibleTroubles(shown)...)
		d.Troubles = append(d.Troubles, gpuTroubles(gpu, samples, os.Getpid())...)
	}
	if err := source.Close(); err != nil {
		d.GPUNote = oneLine(err.Error())
	}
	return d
}

func (d doctorFacts) cpuTroubles() []trouble {
	var out []trouble
	add := func(fix, format string, args ...any) { out = append(out, trouble{fmt.Sprintf(format, args...), fix}) }
	c := d.CPU
	if c.Governor != nil && *c.Governor != "performance" {
		add("sudo cpupower frequency-set -g performance", "CPU governor is %s: the clock follows the load", *c.Governor)
	}
	if c.Turbo != nil && *c.Turbo {
		add("echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo (Intel), echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost (others)",
			"turbo is on: the clock depends on heat and on how many cores work")
	}
	if c.SMT != nil && *c.SMT {
		fix := "echo off | sudo tee /sys/devices/system/cpu/smt/control"
		if c.PhysicalCores != nil {
			fix = fmt.Sprintf("--threads %d, or %s", *c.PhysicalCores, fix)
		}
		add(fix, "two hardware threads share a core (SMT)")
	}
	if c.QuotaCPUs != nil && *c.QuotaCPUs < float64(c.UsableCPUs) {
		add(fmt.Sprintf("lift the quota, or --threads %d", max(1, int(*c.QuotaCPUs))),
			"a control group grants %.2f of %d CPUs: threads are stopped for the rest of each period", *c.QuotaCPUs, c.UsableCPUs)
	}
	if c.NUMANodes != nil && *c.NUMANodes > 1 {
		add("numactl --cpunodebind=0 --membind=0 lathe ...", "%d NUMA nodes: memory may lie on the other one", *c.NUMANodes)
	}
	if c.Virtualised != nil && *c.Virtualised {
		add("compare A and B inside one run only; expect a wide noise floor", "this is a virtual machine: neighbours and the host's clock are not visible")
	}
	return out
}

func (d doctorFacts) otherTroubles() []trouble {
	var out []trouble
	add := func(fix, format string, args ...any) { out = append(out, trouble{fmt.Sprintf(format, args...), fix}) }
	const busy = 0.1 // of the usable CPUs
	if len(d.Load) > 0 && d.Load[0] > busy*float64(d.CPU.UsableCPUs) {
		add("top shows what runs", "other work runs: load average %.2f on %d CPUs", d.Load[0], d.CPU.UsableCPUs)
	}
	if d.Steal != nil && *d.Steal >= 1 {
		add("measure on a machine of its own", "the host took %.1f %% of the CPU time since boot for others (steal)", *d.Steal)
	}
	if p := d.Memory.TransparentHugePages; p != nil && *p == "never" {
		add("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled", "transparent huge pages are off: weights take a TLB entry for every 4 KiB")
	}
	if a, t := d.Memory.AvailableBytes, d.Memory.TotalBytes; a != nil && t != nil && *a < *t/10 {
		add("stop what holds the memory", "%.1f GB of memory are free of %.1f GB", float64(*a)/1e9, float64(*t)/1e9)
	}
	return out
}

func (m machine) memory() memoryFacts {
	var f memoryFacts
	read := func(key string) *uint64 {
		if n, ok := m.bytes("proc/meminfo", key); ok {
			return &n
		}
		return nil
	}
	f.TotalBytes, f.AvailableBytes, f.HugePageBytes = read("MemTotal"), read("MemAvailable"), read("Hugepagesize")
	if n, ok := m.field("proc/meminfo", "HugePages_Total"); ok {
		f.HugePages = &n
	}
	for _, word := range strings.Fields(m.line("sys/kernel/mm/transparent_hugepage/enabled")) {
		if mode, ok := strings.CutPrefix(word, "["); ok {
			f.TransparentHugePages = ptrTo(strings.TrimSuffix(mode, "]"))
		}
	}
	return f
}

func (m machine) load() []float64 {
	words := strings.Fields(m.line("proc/loadavg"))
	if len(words) < 3 {
		return nil
	}
	var out []float64
	for _, w := range words[:3] {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// steal is the share of CPU time since boot that the hypervisor gave to others, in percent
// (proc(5), /proc/stat: the eighth column of the first eight, which count everything).
func (m machine) steal() *float64 {
	first, _, _ := strings.Cut(m.text("proc/stat"), "\n")
	words := strings.Fields(first)
	const stealColumn, columns = 8, 8
	if len(words) <= columns || words[0] != "cpu" {
		return nil
	}
	sum, steal := 0.0, 0.0
	for i := 1; i <= columns; i++ {
		v, err := strconv.ParseFloat(words[i], 64)
		if err != nil {
			return nil
		}
		sum += v
		if i == stealColumn {
			steal = v
		}
	}
	if sum == 0 {
		return nil
	}
	return ptrTo(100 * steal / sum)
}

package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"lathe/bench"
)

// machine reads what the kernel tells of this machine from a file system that is rooted at "/". A
// file that is not there is an unknown fact, never an error: other systems, and containers, have
// fewer of them.
type machine struct{ root fs.FS }

func thisMachine() machine { return machine{os.DirFS("/")} }

// hostFacts is the host of a run, for the raw file's header.
func (app *application) hostFacts() bench.Host {
	m := thisMachine()
	h := m.host()
	h.Hostname, _ = os.Hostname()
	gpus, note := gpuFacts(app.nvml)
	if gpus != nil {
		visible := gpus.Visible(app.visibleDevices())
		h.GPUs = benchGPUs(*gpus, visible)
		for _, t := range visibleTroubles(visible) {
			h.Notes = append(h.Notes, t.What)
		}
	}
	if note != "" {
		h.Notes = append(h.Notes, note)
	}
	return h
}

func (m machine) host() bench.Host {
	c := m.cpu()
	h := bench.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: m.line("proc/sys/kernel/osrelease"), CPU: c.Model,
		Cores: runtime.NumCPU(), LastLevelByte: m.lastLevelCache(), Governor: c.Governor, Virtualised: c.Virtualised}
	if n, ok := m.bytes("proc/meminfo", "MemTotal"); ok {
		h.MemoryBytes = &n
	}
	return h
}

// cpuFacts is the processor.
type cpuFacts struct {
	Model          string   `json:"model"`
	LogicalCPUs    int      `json:"logical_cpus"` // online
	UsableCPUs     int      `json:"usable_cpus"`  // of those, the ones that this process may use
	PhysicalCores  *int     `json:"physical_cores"`
	Sockets        *int     `json:"sockets"`
	NUMANodes      *int     `json:"numa_nodes"`
	SMT            *bool    `json:"smt"`
	Governor       *string  `json:"governor"`
	Turbo          *bool    `json:"turbo"`
	Virtualised    *bool    `json:"virtualised"`
	Features       []string `json:"features"`
	Paths          []string `json:"paths"`       // of the CPU backend, that run here, best first; null: a build without it
	BuiltPaths     []string `json:"built_paths"` // that the build has; null as above
	QuotaCPUs      *float64 `json:"quota_cpus"`
	LastLevelBytes *uint64  `json:"last_level_cache_bytes"`
}

func (m machine) cpu() cpuFacts {
	info := m.cpuinfo()
	c := cpuFacts{Model: info["model name"], LogicalCPUs: m.online(), UsableCPUs: runtime.NumCPU(),
		NUMANodes: m.count("sys/devices/system/node", "node"), QuotaCPUs: m.quota(), LastLevelBytes: m.lastLevelCache()}
	flags := strings.Fields(info["flags"] + " " + info["Features"])
	for _, f := range []string{"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16", "avx512_fp16", "amx_bf16", "asimd", "bf16", "sve"} {
		if slices.Contains(flags, f) {
			c.Features = append(c.Features, f)
		}
	}
	if info["flags"] != "" { // the x86 bit that hypervisors set
		v := slices.Contains(flags, "hypervisor")
		c.Virtualised = &v
	}
	c.PhysicalCores, c.Sockets = m.topology()
	switch m.line("sys/devices/system/cpu/smt/active") {
	case "1":
		c.SMT = ptrTo(true)
	case "0":
		c.SMT = ptrTo(false)
	}
	if g := m.line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"); g != "" {
		c.Governor = &g
	}
	c.Turbo = m.turbo()
	return c
}

// turbo reads whether the clock may rise above the nominal one: intel_pstate says it inverted.
func (m machine) turbo() *bool {
	switch m.line("sys/devices/system/cpu/intel_pstate/no_turbo") {
	case "0":
		return ptrTo(true)
	case "1":
		return ptrTo(false)
	}
	switch m.line("sys/devices/system/cpu/cpufreq/boost") {
	case "1":
		return ptrTo(true)
	case "0":
		return ptrTo(false)
	}
	return nil
}

// topology counts cores and sockets.
func (m machine) topology() (cores, sockets *int) {
	core, socket := map[string]bool{}, map[string]bool{}
	dirs, _ := fs.Glob(m.root, "sys/devices/system/cpu/cpu[0-9]*/topology")
	for _, dir := range dirs {
		p, c := m.line(path.Join(dir, "physical_package_id")), m.line(path.Join(dir, "core_id"))
		if p != "" && c != "" {
			core[p+":"+c], socket[p] = true, true
		}
	}
	if len(core) == 0 {
		return nil, nil
	}
	return ptrTo(len(core)), ptrTo(len(socket))
}

// lastLevelCache is the size of the highest cache level of CPU 0, in bytes.
func (m machine) lastLevelCache() *uint64 {
	var size *uint64
	highest := 0
	dirs, _ := fs.Glob(m.root, "sys/devices/system/cpu/cpu0/cache/index*")
	for _, dir := range dirs {
		level, err := strconv.Atoi(m.line(path.Join(dir, "level")))
		kb, err2 := strconv.ParseUint(strings.TrimSuffix(m.line(path.Join(dir, "size")), "K"), 10, 64)
		if err == nil && err2 == nil && level > highest && m.line(path.Join(dir, "type")) != "Instruction" {
			highest, size = level, ptrTo(kb<<10)
		}
	}
	return size
}

func (m machine) online() int {
	n := 0
	for _, part := range strings.Split(m.line("sys/devices/system/cpu/online"), ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(first)
		if err != nil {
			return runtime.NumCPU()
		}
		b := a
		if isRange {
			b, _ = strconv.Atoi(last)
		}
		n += b - a + 1
	}
	return n
}

// cpuinfo is the first processor's block.
func (m machine) cpuinfo() map[string]string {
	out := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(m.text("proc/cpuinfo"))); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			if len(out) > 0 {
				break
			}
			continue
		}
		out[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return out
}

// count counts the entries of a directory that are called prefix and a number.
func (m machine) count(dir, prefix string) *int {
	found, _ := fs.Glob(m.root, path.Join(dir, prefix+"[0-9]*"))
	if len(found) == 0 {
		return nil
	}
	return ptrTo(len(found))
}

// field reads "KEY: N ..." of a file.
func (m machine) field(file, key string) (int64, bool) {
	for _, line := range strings.Split(m.text(file), "\n") {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			if words := strings.Fields(rest); len(words) > 0 {
				n, err := strconv.ParseInt(words[0], 10, 64)
				return n, err == nil
			}
		}
	}
	return 0, false
}

// bytes reads "KEY: N kB" of a file, in bytes.
func (m machine) bytes(file, key string) (uint64, bool) {
	kb, ok := m.field(file, key)
	return uint64(kb) << 10, ok && kb >= 0
}

func (m machine) text(file string) string {
	data, err := fs.ReadFile(m.root, file)
	if err != nil {
		return ""
	}
	return string(bytes.ReplaceAll(data, []byte{0}, nil))
}

func (m machine) line(file string) string { return strings.TrimSpace(m.text(file)) }

func ptrTo[T any](v T) *T { return &v }

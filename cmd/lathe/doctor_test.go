package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lathe/cuda/device"
	"lathe/engine/native"
)

// laptop is a machine on which everything that can spoil a measurement does.
func laptop() fstest.MapFS {
	files := map[string]string{
		"proc/cpuinfo":                                 "processor\t: 0\nmodel name\t: Noisy 9000\nflags\t\t: fpu avx2 fma f16c avx512f avx512bw avx512vl\n\nprocessor\t: 1\nmodel name\t: other\n",
		"proc/meminfo":                                 "MemTotal:       16000000 kB\nMemAvailable:     900000 kB\nHugePages_Total:       4\nHugepagesize:       2048 kB\n",
		"proc/loadavg":                                 "3.50 2.00 1.00 2/345 678\n",
		"proc/stat":                                    "cpu  90 0 0 0 0 0 0 10 0 0\ncpu0 1 2 3\n",
		"proc/self/cgroup":                             "0::/user.slice/lathe.scope\n",
		"proc/sys/kernel/osrelease":                    "6.1.0-test\n",
		"sys/devices/system/cpu/online":                "0-2,4\n",
		"sys/devices/system/cpu/smt/active":            "1\n",
		"sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
		"sys/devices/system/cpu/cpu0/topology/core_id":         "0\n", "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
		"sys/devices/system/cpu/cpu1/topology/core_id": "0\n", "sys/devices/system/cpu/cpu1/topology/physical_package_id": "0\n",
		"sys/devices/system/cpu/cpu2/topology/core_id": "0\n", "sys/devices/system/cpu/cpu2/topology/physical_package_id": "1\n",
		"sys/devices/system/cpu/cpu0/cache/index0/level": "1\n", "sys/devices/system/cpu/cpu0/cache/index0/size": "32K\n", "sys/devices/system/cpu/cpu0/cache/index0/type": "Data\n",
		"sys/devices/system/cpu/cpu0/cache/index3/level": "3\n", "sys/devices/system/cpu/cpu0/cache/index3/size": "16384K\n", "sys/devices/system/cpu/cpu0/cache/index3/type": "Unified\n",
		"sys/devices/system/node/node0/cpulist": "0-1\n", "sys/devices/system/node/node1/cpulist": "2-3\n",
		"sys/fs/cgroup/user.slice/cpu.max":             "max 100000\n",
		"sys/fs/cgroup/user.slice/lathe.scope/cpu.max": "50000 100000\n",
		"sys/kernel/mm/transparent_hugepage/enabled":   "always madvise [never]\n",
	}
	return tree(files)
}

func noDriver() (device.Source, error) { return nil, device.ErrNoDriver }

func TestDoctorFindsWhatSpoils(t *testing.T) {
	d := examine(machine{laptop()}, noDriver, nil)
	if d.CPU.Model != "Noisy 9000" || d.CPU.LogicalCPUs != 4 || *d.CPU.PhysicalCores != 2 || *d.CPU.Sockets != 2 || *d.CPU.LastLevelBytes != 16<<20 {
		t.Errorf("%+v", d.CPU)
	}
	if d.CPU.Virtualised == nil || *d.CPU.Virtualised {
		t.Error("no hypervisor flag: not a virtual machine")
	}
	want := []string{
		"CPU governor is powersave", "turbo is on", "two hardware threads share a core", "a control group grants 0.50 of",
		"2 NUMA nodes", "other work runs: load average 3.50", "the host took 10.0 % of the CPU time", "transparent huge pages are off", "0.9 GB of memory are free of 16.4 GB",
	}
	var missing []string
	for _, w := range want {
		if !slices.ContainsFunc(d.Troubles, func(tr trouble) bool { return strings.HasPrefix(tr.What, w) && tr.Fix != "" }) {
			missing = append(missing, w)
		}
	}
	if len(missing) > 0 || len(d.Troubles) != len(want) {
		t.Errorf("missing %q in %q", missing, d.Troubles)
	}
	if d.GPUNote != "no NVIDIA driver" || strings.Count(d.text(), "no NVIDIA driver") != 1 {
		t.Errorf("GPU note %q", d.GPUNote)
	}
}

// TestDoctorAsksTheBackend: which paths run here is the backend's to say, and unknown without one.
func TestDoctorAsksTheBackend(t *testing.T) {
	d := examine(machine{laptop()}, noDriver, nil)
	if !strings.Contains(d.text(), "unknown; of this build: unknown\n") {
		t.Errorf("%s", d.text())
	}
	runs, built := backendPaths()
	if _, err := native.CPU(); err != nil {
		if runs != nil || built != nil {
			t.Errorf("paths %v of %v without a backend", runs, built)
		}
		return
	}
	if !slices.Contains(runs, "portable") {
		t.Errorf("paths %v: portable runs everywhere", runs)
	}
	for _, path := range runs {
		if !slices.Contains(built, path) {
			t.Errorf("path %s runs and is not built: %v", path, built)
		}
	}
	for _, path := range built {
		if !slices.Contains(cpuISAs(), path) {
			t.Errorf("--cpu-isa does not know %s", path)
		}
	}
}

// TestDoctorKnowsNothing: where the kernel tells nothing, nothing is claimed.
func TestDoctorKnowsNothing(t *testing.T) {
	d := examine(machine{fstest.MapFS{}}, noDriver, nil)
	if len(d.Troubles) != 0 {
		t.Errorf("troubles from nothing: %v", d.Troubles)
	}
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"governor", "turbo", "smt", "virtualised", "physical_cores", "quota_cpus", "last_level_cache_bytes"} {
		if v, ok := got["cpu"].(map[string]any)[field]; !ok || v != nil {
			t.Errorf("%s is %v, want null", field, v)
		}
	}
	if !strings.Contains(d.text(), "governor          unknown") {
		t.Errorf("%s", d.text())
	}
}

func TestDoctorReadsDevices(t *testing.T) {
	off, on, cap := false, true, 700000
	reasons := device.SWPowerCap
	fake := &device.Fake{Is: device.Machine{Driver: "580.1", Devices: []device.Device{{UUID: "GPU-1", Name: "H200", Persistence: &off, MIG: &on, PowerLimitMW: &cap,
		Processes: []device.Process{{PID: 1}, {PID: 2}}, MIGDevices: []device.MIG{{UUID: "MIG-1", Name: "slice"}}}}},
		Samples: []device.Sample{{Reasons: &reasons}}}
	d := examine(machine{fstest.MapFS{}}, func() (device.Source, error) { return fake, nil }, nil)
	var got []string
	for _, tr := range d.Troubles {
		got = append(got, tr.What)
	}
	want := []string{"GPU 0: persistence mode is off: the driver unloads between runs", "GPU 0: 2 other processes hold it",
		"GPU 0: MIG is on: clocks and power are shared with other slices", "GPU 0: throttled now: SwPowerCap"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !fake.Closed {
		t.Error("NVML was left open")
	}
	line := "H200 GPU-1, compute unknown, memory unknown, SM clock up to unknown MHz, memory clock unknown MHz, power cap 700 W, ECC unknown, MIG on, persistence off"
	if !strings.Contains(d.text(), line) {
		t.Errorf("%s", d.text())
	}
	if len(d.Host.GPUs) != 1 || *d.Host.GPUs[0].PowerLimitW != 700 || d.Host.GPUs[0].SMClockMHz != nil {
		t.Errorf("%+v", d.Host.GPUs)
	}
}

func TestGPUFactsWithoutADriver(t *testing.T) {
	if m, note := gpuFacts(noDriver); m != nil || note != "" {
		t.Errorf("%v, %q", m, note)
	}
	if m, note := gpuFacts(func() (device.Source, error) { return nil, errors.New("odd") }); m != nil || note != "odd" {
		t.Errorf("%v, %q", m, note)
	}
}

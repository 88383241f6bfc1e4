//go:build cgo && linux

package device

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/google/go-cmp/cmp"
)

// scripted is a library with one H200-like device; tests replace single functions.
func scripted() (*mock.Interface, *mock.Device) {
	d := &mock.Device{
		GetUUIDFunc:                  func() (string, nvml.Return) { return "GPU-1234", nvml.SUCCESS },
		GetNameFunc:                  func() (string, nvml.Return) { return "NVIDIA H200", nvml.SUCCESS },
		GetCudaComputeCapabilityFunc: func() (int, int, nvml.Return) { return 9, 0, nvml.SUCCESS },
		GetMaxClockInfoFunc:          func(c nvml.ClockType) (uint32, nvml.Return) { return clock(c, 1980, 3201), nvml.SUCCESS },
		GetClockInfoFunc:             func(c nvml.ClockType) (uint32, nvml.Return) { return clock(c, 1755, 3201), nvml.SUCCESS },
		GetEnforcedPowerLimitFunc:    func() (uint32, nvml.Return) { return 700000, nvml.SUCCESS },
		GetEccModeFunc:               func() (nvml.EnableState, nvml.EnableState, nvml.Return) { return 1, 0, nvml.SUCCESS },
		GetPersistenceModeFunc:       func() (nvml.EnableState, nvml.Return) { return 0, nvml.SUCCESS },
		GetMigModeFunc:               func() (int, int, nvml.Return) { return 0, 1, nvml.SUCCESS },
		GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) {
			return nvml.Memory_v2{Total: 80 << 30, Reserved: 300 << 20}, nvml.SUCCESS
		},
		GetComputeRunningProcessesFunc:   func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.SUCCESS },
		GetPowerUsageFunc:                func() (uint32, nvml.Return) { return 512000, nvml.SUCCESS },
		GetTemperatureFunc:               func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 61, nvml.SUCCESS },
		GetCurrentClocksEventReasonsFunc: func() (uint64, nvml.Return) { return 4, nvml.SUCCESS },
	}
	lib := &mock.Interface{
		InitFunc:                       func() nvml.Return { return nvml.SUCCESS },
		ShutdownFunc:                   func() nvml.Return { return nvml.SUCCESS },
		SystemGetDriverVersionFunc:     func() (string, nvml.Return) { return "580.95.05", nvml.SUCCESS },
		SystemGetNVMLVersionFunc:       func() (string, nvml.Return) { return "13.580.95.05", nvml.SUCCESS },
		SystemGetCudaDriverVersionFunc: func() (int, nvml.Return) { return 13000, nvml.SUCCESS },
		DeviceGetCountFunc:             func() (int, nvml.Return) { return 1, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc:     func(int) (nvml.Device, nvml.Return) { return d, nvml.SUCCESS },
		ExtensionsFunc: func() nvml.ExtendedInterface {
			return &mock.ExtendedInterface{LookupSymbolFunc: func(string) error { return nil }}
		},
	}
	return lib, d
}

func clock(c nvml.ClockType, sm, mem uint32) uint32 {
	if c == nvml.CLOCK_MEM {
		return mem
	}
	return sm
}

func ptr[T any](v T) *T { return &v }

func machine(t *testing.T, lib nvml.Interface) (Source, Machine) {
	t.Helper()
	s, err := open(lib)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Machine()
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

func TestMachineAndSample(t *testing.T) {
	lib, _ := scripted()
	s, m := machine(t, lib)
	want := Machine{Driver: "580.95.05", NVML: "13.580.95.05", CUDA: "13.0", Devices: []Device{{
		UUID: "GPU-1234", Name: "NVIDIA H200", ComputeCapability: "9.0", SMClockMaxMHz: ptr(1980), MemoryClockMaxMHz: ptr(3201),
		PowerLimitMW: ptr(700000), ECC: ptr(true), MIG: ptr(false), Persistence: ptr(false),
		Memory: &Memory{Total: 80 << 30, Reserved: ptr(uint64(300 << 20))}, Processes: []Process{}, Unknown: map[string]string{},
	}}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	got, err := s.Sample(0)
	if err != nil {
		t.Fatal(err)
	}
	wantSample := Sample{SMClockMHz: ptr(1755), MemoryClockMHz: ptr(3201), PowerMW: ptr(512000), TemperatureC: ptr(61), Reasons: ptr(SWPowerCap)}
	if diff := cmp.Diff(wantSample, got); diff != "" {
		t.Error(diff)
	}
}

// TestP171_UnsupportedIsUnknown: a MIG device whose clocks and memory are not supported starts,
// and the fields are unknown, never zero.
func TestP171_UnsupportedIsUnknown(t *testing.T) {
	lib, d := scripted()
	none := nvml.ERROR_NOT_SUPPORTED
	d.GetMaxClockInfoFunc = func(nvml.ClockType) (uint32, nvml.Return) { return 0, none }
	d.GetClockInfoFunc = func(nvml.ClockType) (uint32, nvml.Return) { return 0, none }
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, none }
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.ERROR_NO_PERMISSION }
	d.GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, 1, nvml.SUCCESS }
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 2, nvml.SUCCESS }
	d.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i == 0 {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return &mock.Device{
			GetUUIDFunc:              func() (string, nvml.Return) { return "MIG-aa", nvml.SUCCESS },
			GetNameFunc:              func() (string, nvml.Return) { return "NVIDIA H200 MIG 1g.18gb", nvml.SUCCESS },
			GetMemoryInfo_v2Func:     func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{Total: 18 << 30}, nvml.SUCCESS },
			GetGpuInstanceIdFunc:     func() (int, nvml.Return) { return 3, nvml.SUCCESS },
			GetComputeInstanceIdFunc: func() (int, nvml.Return) { return 0, nvml.SUCCESS },
		}, nvml.SUCCESS
	}
	s, m := machine(t, lib)
	got := m.Devices[0]
	if got.SMClockMaxMHz != nil || got.MemoryClockMaxMHz != nil || got.Memory != nil || got.Processes != nil {
		t.Errorf("unsupported fields have values: %+v", got)
	}
	wantUnknown := map[string]string{"sm_clock_max_mhz": "not supported", "memory_clock_max_mhz": "not supported", "memory": "not supported", "processes": "no permission"}
	if diff := cmp.Diff(wantUnknown, got.Unknown); diff != "" {
		t.Error(diff)
	}
	if got.MIG == nil || !*got.MIG {
		t.Error("MIG mode is not told")
	}
	wantSlices := []MIG{{UUID: "MIG-aa", Name: "NVIDIA H200 MIG 1g.18gb", GPUInstance: ptr(3), ComputeInstance: ptr(0), Memory: &Memory{Total: 18 << 30, Reserved: ptr(uint64(0))}}}
	if diff := cmp.Diff(wantSlices, got.MIGDevices); diff != "" {
		t.Error(diff)
	}
	sample, err := s.Sample(0)
	if err != nil || sample.SMClockMHz != nil || sample.PowerMW == nil {
		t.Errorf("sample %+v, %v", sample, err)
	}
}

// TestP170_LossIsRecorded: NVML fails after 50 calls; samples become unknown, the moment is kept,
// the stale clock is not repeated and NVML is not asked again.
func TestP170_LossIsRecorded(t *testing.T) {
	lib, d := scripted()
	calls := 0
	d.GetClockInfoFunc = func(c nvml.ClockType) (uint32, nvml.Return) {
		if calls++; calls > 50 {
			return 0, nvml.ERROR_UNKNOWN
		}
		return clock(c, 1755, 3201), nvml.SUCCESS
	}
	s, _ := machine(t, lib)
	w := NewWatch(s, 0)
	known := 0
	for i := range 40 {
		if sample := w.Sample(int64(i) * 1000); sample.SMClockMHz != nil {
			known++
		} else if diff := cmp.Diff(Sample{}, sample); diff != "" {
			t.Error(diff)
		}
	}
	if known != 25 || calls != 51 {
		t.Errorf("%d samples known, %d calls", known, calls)
	}
	want := &Loss{TNs: 25000, Why: "sample device 0: read sm_clock_mhz: NVML answered with code 999"}
	if diff := cmp.Diff(want, w.Lost()); diff != "" {
		t.Error(diff)
	}
}

func TestOpenWithoutADriver(t *testing.T) {
	for ret, want := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND: "no NVIDIA driver: libnvidia-ml.so.1 is not installed",
		nvml.ERROR_DRIVER_NOT_LOADED: "no NVIDIA driver: the kernel module is not loaded",
		nvml.ERROR_UNKNOWN:           "no NVIDIA driver: initialise NVML: NVML answered with code 999",
	} {
		// Any further call to this library panics: the mock has no other function.
		s, err := open(&mock.Interface{InitFunc: func() nvml.Return { return ret }})
		if s != nil || !errors.Is(err, ErrNoDriver) || err.Error() != want {
			t.Errorf("code %d: %v, %v", int32(ret), s, err)
		}
	}
}

func TestProcessMemoryThatMayNotBeTold(t *testing.T) {
	lib, d := scripted()
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 7, UsedGpuMemory: ^uint64(0)}, {Pid: 8, UsedGpuMemory: 4096}}, nvml.SUCCESS
	}
	_, m := machine(t, lib)
	want := []Process{{PID: 7}, {PID: 8, MemoryBytes: ptr(uint64(4096))}}
	if diff := cmp.Diff(want, m.Devices[0].Processes); diff != "" {
		t.Error(diff)
	}
}

// TestP166_MissingFunctions opens a real library that lacks almost everything, in a child process:
// a call of what it lacks would end it.
func TestP166_MissingFunctions(t *testing.T) {
	if path := os.Getenv("LATHE_TEST_NVML"); path != "" {
		_, m := machine(t, nvml.New(nvml.WithLibraryPath(path)))
		d := m.Devices[0]
		if d.Name != "minimal device" || d.SMClockMaxMHz != nil || d.Unknown["sm_clock_max_mhz"] != "function not found" || m.Driver != "" {
			t.Fatalf("%+v", m)
		}
		return
	}
	child(t, "minimal_nvml.c", "libnvidia-ml.so.1")
}

// build compiles a library of testdata into a directory of its own, or below it.
func build(t *testing.T, source, below string, options ...string) (path string) {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build the test library")
	}
	path = filepath.Join(t.TempDir(), below)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-shared", "-fPIC", "-Wl,-soname," + filepath.Base(path), "-o", path}, options...)
	if out, err := exec.Command(gcc, append(args, filepath.Join("testdata", source))...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// child runs this test once more with a library of testdata as NVML, and returns what it printed: a
// process holds one library at most, and a call of a function that it lacks ends the process.
func child(t *testing.T, source, below string, options ...string) (stdout string) {
	t.Helper()
	path := build(t, source, below, options...)
	again := exec.Command(os.Args[0], "-test.run", "^"+regexp.QuoteMeta(t.Name())+"$")
	again.Env = append(os.Environ(), "LATHE_TEST_NVML="+path, "LATHE_TEST_NVML_OPTIONS="+strings.Join(options, " "))
	var out, errs strings.Builder
	again.Stdout, again.Stderr = &out, &errs
	if err := again.Run(); err != nil || strings.Contains(errs.String(), "symbol lookup error") {
		t.Fatalf("%s %v: %v: %s%s", source, options, err, out.String(), errs.String())
	}
	return out.String()
}

// TestP168_StubLibrary: the toolkit's library prints to standard output and drives nothing. It is
// called what it is, by what it prints or by where it lies, and what it prints goes nowhere.
func TestP168_StubLibrary(t *testing.T) {
	if path := os.Getenv("LATHE_TEST_NVML"); path != "" {
		fmt.Println("before")
		s, err := open(nvml.New(nvml.WithLibraryPath(path)))
		fmt.Println("after")
		switch os.Getenv("LATHE_TEST_NVML_OPTIONS") {
		case "-DCODE=0": // prints, and works: no stub, and as quiet
			if err != nil || s == nil {
				t.Fatalf("%v", err)
			}
		case "-DBANNER=0 -DCODE=9": // neither: a driver that is not loaded
			if err == nil || errors.Is(err, ErrStubLibrary) || err.Error() != "no NVIDIA driver: the kernel module is not loaded" {
				t.Fatalf("%v", err)
			}
		default:
			want := "no NVIDIA driver: nvml: stub library: " + path + " is the toolkit's, to link against only"
			if !errors.Is(err, ErrStubLibrary) || !errors.Is(err, ErrNoDriver) || err.Error() != want {
				t.Fatalf("%v, want %s", err, want)
			}
		}
		return
	}
	for _, c := range []struct {
		below   string
		options []string
	}{
		{"lib/libnvidia-ml.so.1", nil},
		{"lib/libnvidia-ml.so.1", []string{"-DCODE=12"}},
		{"lib/libnvidia-ml.so.1", []string{"-DCODE=999"}},
		{"lib/libnvidia-ml.so.1", []string{"-DBANNER=2"}},
		{"stubs/libnvidia-ml.so.1", []string{"-DBANNER=0"}},
		{"lib/libnvidia-ml.so.1", []string{"-DBANNER=0", "-DCODE=9"}},
		{"lib/libnvidia-ml.so.1", []string{"-DCODE=0"}},
	} {
		if out := child(t, "stub_nvml.c", c.below, c.options...); !strings.HasPrefix(out, "before\nafter\nPASS") {
			t.Errorf("%v: standard output has %q", c, out)
		}
	}
}

// TestP173_MemoryVersions: the second version of the call is made with its version word and keeps
// reserved memory out of used; where the driver lacks or refuses it the first answers, which counts
// both as used, and that is said.
func TestP173_MemoryVersions(t *testing.T) {
	const total, reserved = 80 << 30, 300 << 20
	both := &Memory{Total: total, Used: reserved}
	for _, c := range []struct {
		options []string
		want    *Memory
		unknown map[string]string
	}{
		{nil, &Memory{Total: total, Reserved: ptr(uint64(reserved))}, map[string]string{}},
		{[]string{"-DONLY_V1"}, both, map[string]string{"memory_reserved": "function not found"}},
		{[]string{"-DREFUSE=13"}, both, map[string]string{"memory_reserved": "function not found"}},
		{[]string{"-DREFUSE=25"}, both, map[string]string{"memory_reserved": "NVML answered with code 25"}},
		{[]string{"-DREFUSE=3"}, nil, map[string]string{"memory": "not supported"}},
	} {
		path := os.Getenv("LATHE_TEST_NVML")
		if path == "" {
			child(t, "memory_nvml.c", "libnvidia-ml.so.1", c.options...)
			continue
		}
		if os.Getenv("LATHE_TEST_NVML_OPTIONS") != strings.Join(c.options, " ") {
			continue
		}
		_, m := machine(t, nvml.New(nvml.WithLibraryPath(path)))
		got := map[string]string{}
		for field, why := range m.Devices[0].Unknown {
			if strings.HasPrefix(field, "memory") && !strings.HasPrefix(field, "memory_clock") {
				got[field] = why
			}
		}
		if diff := cmp.Diff(c.want, m.Devices[0].Memory); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(c.unknown, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRealNVML reads this machine, whatever it is.
func TestRealNVML(t *testing.T) {
	s, err := Open()
	if errors.Is(err, ErrNoDriver) {
		t.Skipf("%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Machine()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range m.Devices {
		if d.UUID == "" || d.Name == "" {
			t.Errorf("%+v", d)
		}
		if _, err := s.Sample(d.Index); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

//go:build cgo && linux

package device

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
		Memory: &Memory{Total: 80 << 30, Reserved: 300 << 20}, Processes: []Process{}, Unknown: map[string]string{},
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
			GetUUIDFunc:          func() (string, nvml.Return) { return "MIG-aa", nvml.SUCCESS },
			GetNameFunc:          func() (string, nvml.Return) { return "NVIDIA H200 MIG 1g.18gb", nvml.SUCCESS },
			GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{Total: 18 << 30}, nvml.SUCCESS },
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
	wantSlices := []MIG{{UUID: "MIG-aa", Name: "NVIDIA H200 MIG 1g.18gb", Memory: &Memory{Total: 18 << 30}}}
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
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build the test library")
	}
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o", path, "testdata/minimal_nvml.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestP166_MissingFunctions$")
	child.Env = append(os.Environ(), "LATHE_TEST_NVML="+path)
	if out, err := child.CombinedOutput(); err != nil || strings.Contains(string(out), "symbol lookup error") {
		t.Fatalf("%v: %s", err, out)
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

//go:build cuda && cgo && linux

package device

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDriverOnTheFake runs the whole of Driver on a fake libcuda.so.1, in a child process that finds
// it: the forwarding library binds at start.
func TestDriverOnTheFake(t *testing.T) {
	if os.Getenv("LATHE_TEST_LIBCUDA") != "" {
		driveFake(t)
		return
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build the test library")
	}
	dir := t.TempDir()
	out, err := exec.Command(gcc, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", filepath.Join(dir, "libcuda.so.1"), "testdata/fake_libcuda.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestDriverOnTheFake$")
	child.Env = append(os.Environ(), "LATHE_TEST_LIBCUDA=1", "LD_LIBRARY_PATH="+dir)
	if out, err = child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := "launch fill <<<8,1,1; 128,1,1; 0>>> n=1024"; !strings.Contains(string(out), want) {
		t.Errorf("no %q in %s", want, out)
	}
}

func driveFake(t *testing.T) {
	devices, err := DriverDevices()
	if err != nil || len(devices) != 1 || devices[0] != (DriverDevice{Name: "fake device", ComputeCapability: "9.0", MemoryBytes: 1 << 30}) {
		t.Fatalf("%+v, %v", devices, err)
	}
	if _, err := OpenDriver(1); err == nil || err.Error() != "open device 1: the driver shows 1 devices" {
		t.Errorf("device 1: %v", err)
	}
	d, err := OpenDriver(0)
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(t.TempDir(), "k.cubin")
	if err := os.WriteFile(image, []byte("\x7fELF\x00\x01"), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := d.Load(image)
	if err != nil {
		t.Fatal(err)
	}
	at, err := d.Alloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Launch(Launch{Symbol: "fill", Grid: [3]int{8, 1, 1}, Block: [3]int{128, 1, 1}}, []uint64{uint64(at), 1024}); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, 4096)
	if err := d.CopyOut(back, at); err != nil {
		t.Fatal(err)
	}
	for i := range 1024 {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(back[4*i:])); got != float32(i) {
			t.Fatalf("element %d is %v", i, got)
		}
	}
	if err := errors.Join(d.Free(at), m.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}

func TestDriverWithoutADevice(t *testing.T) {
	if os.Getenv("LATHE_TEST_LIBCUDA") != "" {
		t.Skip("the child has one task")
	}
	if _, err := DriverDevices(); err == nil {
		t.Skip("this machine has a driver")
	} else if !errors.Is(err, ErrNoDriver) {
		t.Errorf("without a driver: %v", err)
	}
	if _, err := OpenDriver(0); !errors.Is(err, ErrNoDriver) {
		t.Errorf("without a driver: %v", err)
	}
}

//go:build cuda && cgo && linux

package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// onTheFake runs this test once more on a fake libcuda.so.1, in a process that finds it at its start,
// which is when the forwarding library binds. In that process it returns false.
func onTheFake(t *testing.T, script string) (stdout string, parent bool) {
	t.Helper()
	if os.Getenv("LATHE_TEST_LIBCUDA") != "" {
		return "", false
	}
	dir := filepath.Dir(build(t, "fake_libcuda.c", "libcuda.so.1"))
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), "LATHE_TEST_LIBCUDA=1", "LATHE_FAKE_CUDA="+script, "LD_LIBRARY_PATH="+dir)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", script, err, out)
	}
	return string(out), true
}

// TestDriverOnTheFake runs the whole of Driver.
func TestDriverOnTheFake(t *testing.T) {
	out, parent := onTheFake(t, "")
	if !parent {
		driveFake(t)
		return
	}
	if want := "launch fill <<<8,1,1; 128,1,1; 0>>> n=1024"; !strings.Contains(out, want) {
		t.Errorf("no %q in %s", want, out)
	}
}

// TestP178_OneThreadOwnsTheContext: 64 goroutines that the scheduler moves about use one device, and no
// call runs on a thread without the context, on which the fake answers 201 as the driver does. The sums
// are those of one goroutine alone.
func TestP178_OneThreadOwnsTheContext(t *testing.T) {
	if _, parent := onTheFake(t, ""); parent {
		return
	}
	d, m := openFake(t)
	const goroutines, steps, n = 64, 10_000, 16
	want := stepFake(t, d, m, steps/goroutines, n)
	var wait sync.WaitGroup
	for range goroutines {
		wait.Go(func() {
			if got := stepFake(t, d, m, steps/goroutines, n); got != want {
				t.Errorf("sum %v, alone %v", got, want)
			}
		})
	}
	wait.Wait()
	if want != n*(steps/goroutines) {
		t.Errorf("sum %v of %d steps on %d elements", want, steps/goroutines, n)
	}
	if err := errors.Join(m.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if _, err := d.Alloc(8); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if err := d.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
}

// stepFake adds 1 to n elements so often, copying them out and in at each step, and returns their sum.
func stepFake(t *testing.T, d *Driver, m *Module, steps, n int) (sum float32) {
	at, err := d.Alloc(int64(4 * n))
	data := make([]byte, 4*n)
	if err == nil {
		err = d.CopyIn(at, data)
	}
	for i := 0; i < steps && err == nil; i++ {
		if i%2 == 0 {
			runtime.LockOSThread() // the next goroutine gets another thread
		}
		err = errors.Join(m.Launch(Launch{Symbol: "quiet", Grid: [3]int{1, 1, 1}, Block: [3]int{32, 1, 1}}, []uint64{uint64(at), uint64(n)}),
			d.CopyOut(data, at), d.CopyIn(at, data))
		runtime.Gosched()
		if i%2 == 0 {
			runtime.UnlockOSThread()
		}
	}
	if err = errors.Join(err, d.Free(at)); err != nil {
		t.Error(err)
	}
	for i := range n {
		sum += math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return sum
}

// TestP180_DriverErrors: what the driver answers reaches the caller translated, with the versions and
// sizes of this driver; also where it fails in cuInit, before main.
func TestP180_DriverErrors(t *testing.T) {
	const tooNew = ".version 8.8\n.target sm_100a\n"
	for script, want := range map[string]string{
		"cuModuleLoadData=222":    "(222): PTX too new: version 8.8: the driver runs CUDA up to 12.4, the PTX needs CUDA 12.9; ",
		"cuModuleLoadData=209":    "(209): no code for this GPU: built for sm_100a, the device is sm_90; ",
		"cuCtxCreate_v2=35":       "(35): driver too old: the driver runs CUDA up to 12.4, the program needs a newer one; ",
		"cuInit=803":              "no NVIDIA driver: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): driver too old: ",
		"cuInit=35":               "no NVIDIA driver: cudaErrorInsufficientDriver (35): driver too old: the driver runs CUDA up to 12.4, ",
		"cuInit=100":              "no NVIDIA driver: CUDA_ERROR_NO_DEVICE (100): no device: ",
		"cuDeviceGetCount=100":    "no NVIDIA driver: CUDA_ERROR_NO_DEVICE (100): no device: ",
		"cuMemAlloc_v2=2":         "(2): out of memory: 1048576 bytes requested, 4096 free; ",
		"cuStreamSynchronize=201": "CUDA_ERROR_INVALID_CONTEXT (201): ",
		"cuLaunchKernel=719":      "launch quiet: ",
		"cuStreamCreate=2":        "open device 0: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory; ",
	} {
		if _, parent := onTheFake(t, script); parent || os.Getenv("LATHE_FAKE_CUDA") != script {
			continue
		}
		err := useFake(t, tooNew)
		var coded *DriverError
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &coded) || !strings.HasSuffix(script, fmt.Sprint("=", coded.Code)) {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
}

// useFake does what can fail, up to the first failure.
func useFake(t *testing.T, image string) error {
	d, err := OpenDriver(0)
	if err != nil {
		return err
	}
	if _, err := d.Alloc(1 << 20); err != nil {
		return err
	}
	if strings.HasPrefix(os.Getenv("LATHE_FAKE_CUDA"), "cuModuleLoadData=") {
		_, err := d.Load(imageFile(t, image))
		return err
	}
	m, err := d.Load(imageFile(t, "\x7fELF\x00\x01"))
	if err != nil {
		return err
	}
	at, err := d.Alloc(4)
	if err != nil {
		return err
	}
	return m.Launch(Launch{Symbol: "quiet", Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}}, []uint64{uint64(at), 1})
}

func imageFile(t *testing.T, image string) string {
	path := filepath.Join(t.TempDir(), "k")
	if err := os.WriteFile(path, []byte(image), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// openFake opens the fake device and loads an image.
func openFake(t *testing.T) (*Driver, *Module) {
	t.Helper()
	d, err := OpenDriver(0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Load(imageFile(t, "\x7fELF\x00\x01"))
	if err != nil {
		t.Fatal(err)
	}
	return d, m
}

func driveFake(t *testing.T) {
	devices, err := DriverDevices()
	if err != nil || len(devices) != 1 || devices[0] != (DriverDevice{Name: "fake device", ComputeCapability: "9.0", MemoryBytes: 1 << 30}) {
		t.Fatalf("%+v, %v", devices, err)
	}
	if _, err := OpenDriver(1); err == nil || err.Error() != "open device 1: the driver shows 1 devices" {
		t.Errorf("device 1: %v", err)
	}
	d, m := openFake(t)
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

//go:build cuda && cgo && linux

package device

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"
)

// Driver runs stand-alone kernels on one device through the driver API. A CUDA context belongs to
// an OS thread: every call is made on the one thread that this Driver locks, so a Driver may be used
// from any goroutine, one call at a time.
//
// The binary must be linked with the forwarding libcuda.a of third_party/cuda: package cu ends the
// process in its init where cuInit fails, and that library answers cuInit on a machine without a
// driver.
type Driver struct {
	calls   chan func()
	context cu.CUContext
	stream  cu.Stream
}

// Module is a loaded cubin or PTX image.
type Module struct {
	driver *Driver
	path   string
	module cu.Module
}

// DriverDevices lists the devices that the driver shows to this process.
func DriverDevices() ([]DriverDevice, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	var out []DriverDevice
	for i := range n {
		d := cu.Device(i)
		one := DriverDevice{Index: i}
		if one.Name, err = d.Name(); err != nil {
			return nil, fmt.Errorf("read device %d: %w", i, err)
		}
		if one.MemoryBytes, err = d.TotalMem(); err != nil {
			return nil, fmt.Errorf("read device %d: %w", i, err)
		}
		major, majorErr := d.Attribute(cu.ComputeCapabilityMajor)
		minor, minorErr := d.Attribute(cu.ComputeCapabilityMinor)
		if majorErr == nil && minorErr == nil {
			one.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
		}
		out = append(out, one)
	}
	return out, nil
}

// OpenDriver makes a context on the device with that index, and a stream in it.
func OpenDriver(index int) (*Driver, error) {
	devices, err := DriverDevices()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(devices) {
		return nil, fmt.Errorf("open device %d: the driver shows %d devices", index, len(devices))
	}
	d := &Driver{calls: make(chan func())}
	go d.thread()
	err = d.do(func() (err error) {
		if d.context, err = cu.Device(index).MakeContext(cu.SchedAuto); err != nil {
			return err
		}
		d.stream, err = cu.MakeStream(cu.NonBlocking)
		return err
	})
	if err != nil {
		close(d.calls)
		return nil, fmt.Errorf("open device %d: %w", index, err)
	}
	return d, nil
}

// thread runs the calls. It never unlocks, so that the thread ends with the context.
func (d *Driver) thread() {
	runtime.LockOSThread()
	for call := range d.calls {
		call()
	}
}

// do runs f on the context's thread.
func (d *Driver) do(f func() error) error {
	done := make(chan error)
	d.calls <- func() { done <- f() }
	return <-done
}

// Load loads a cubin or PTX file.
func (d *Driver) Load(path string) (*Module, error) {
	image, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load a kernel image: %w", err)
	}
	m := &Module{driver: d, path: path}
	err = d.do(func() (err error) {
		m.module, err = cu.LoadData(string(image)) // a NUL is added, which PTX needs
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load a kernel image: %s: %w", path, err)
	}
	return m, nil
}

// Launch launches a kernel of the image and waits for it. Each argument is an 8-byte variable whose
// first bytes the kernel takes; a parameter of more than 8 bytes cannot be passed.
func (m *Module) Launch(l Launch, arguments []uint64) error {
	if err := l.Validate(); err != nil {
		return err
	}
	parameters := make([]unsafe.Pointer, len(arguments))
	for i := range arguments {
		parameters[i] = unsafe.Pointer(&arguments[i])
	}
	err := m.driver.do(func() error {
		f, err := m.module.Function(l.Symbol)
		if err != nil {
			return err
		}
		if err := f.Launch(l.Grid[0], l.Grid[1], l.Grid[2], l.Block[0], l.Block[1], l.Block[2], l.SharedBytes, m.driver.stream, parameters); err != nil {
			return err
		}
		return m.driver.stream.Synchronize()
	})
	if err != nil {
		return fmt.Errorf("launch %s: %s: %w", l.Symbol, m.path, err)
	}
	return nil
}

// Close unloads the image.
func (m *Module) Close() error {
	if err := m.driver.do(m.module.Unload); err != nil {
		return fmt.Errorf("unload %s: %w", m.path, err)
	}
	return nil
}

// Alloc takes device memory.
func (d *Driver) Alloc(bytes int64) (at Address, err error) {
	err = d.do(func() error {
		p, err := cu.MemAlloc(bytes)
		at = Address(p)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("allocate %d bytes on the device: %w", bytes, err)
	}
	return at, nil
}

// Free gives device memory back.
func (d *Driver) Free(at Address) error {
	if err := d.do(func() error { return cu.MemFree(cu.DevicePtr(at)) }); err != nil {
		return fmt.Errorf("free device memory: %w", err)
	}
	return nil
}

// CopyIn copies to the device.
func (d *Driver) CopyIn(to Address, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	err := d.do(func() error {
		return cu.MemcpyHtoD(cu.DevicePtr(to), unsafe.Pointer(&from[0]), int64(len(from)))
	})
	if err != nil {
		return fmt.Errorf("copy %d bytes to the device: %w", len(from), err)
	}
	return nil
}

// CopyOut copies from the device.
func (d *Driver) CopyOut(to []byte, from Address) error {
	if len(to) == 0 {
		return nil
	}
	err := d.do(func() error {
		return cu.MemcpyDtoH(unsafe.Pointer(&to[0]), cu.DevicePtr(from), int64(len(to)))
	})
	if err != nil {
		return fmt.Errorf("copy %d bytes from the device: %w", len(to), err)
	}
	return nil
}

// Close destroys the stream and the context, and ends the thread.
func (d *Driver) Close() error {
	err := d.do(func() error {
		streamErr := d.stream.Destroy()
		if err := d.context.Destroy(); err != nil {
			return err
		}
		return streamErr
	})
	close(d.calls)
	if err != nil {
		return fmt.Errorf("close the device: %w", err)
	}
	return nil
}

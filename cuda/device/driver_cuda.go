//go:build cuda && cgo && linux

package device

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"gorgonia.org/cu"
)

// Driver runs stand-alone kernels on one device through the driver API. A CUDA context belongs to
// an OS thread: every call is made on the one thread that this Driver locks, so a Driver may be used
// from any goroutine; calls that come at once wait for each other. After Close they fail with ErrClosed.
//
// The binary must be linked with the forwarding libcuda.a of third_party/cuda: package cu ends the
// process in its init where cuInit fails, and that library answers cuInit on a machine without a
// driver.
type Driver struct {
	calls   chan func()
	quit    chan struct{} // closed by Close
	ending  sync.Once
	context cu.CUContext
	stream  cu.Stream
	facts   DriverFacts // of the device, for what its errors mean
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
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, translated(err, driverFacts()))
	}
	var out []DriverDevice
	for i := range n {
		d := cu.Device(i)
		one := DriverDevice{Index: i}
		if one.Name, err = d.Name(); err != nil {
			return nil, fmt.Errorf("read device %d: %w", i, translated(err, driverFacts()))
		}
		if one.MemoryBytes, err = d.TotalMem(); err != nil {
			return nil, fmt.Errorf("read device %d: %w", i, translated(err, driverFacts()))
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
	d := &Driver{calls: make(chan func()), quit: make(chan struct{}), facts: driverFacts()}
	d.facts.ComputeCapability = devices[index].ComputeCapability
	go d.thread()
	err = d.do(d.facts, func() (err error) {
		if d.context, err = cu.Device(index).MakeContext(cu.SchedAuto); err != nil {
			return err
		}
		if d.stream, err = cu.MakeStream(cu.NonBlocking); err != nil {
			return errors.Join(translated(err, d.facts), translated(d.context.Destroy(), d.facts))
		}
		return nil
	})
	if err != nil {
		close(d.quit)
		return nil, fmt.Errorf("open device %d: %w", index, err)
	}
	return d, nil
}

// driverFacts is what the driver tells without a device.
func driverFacts() DriverFacts { return DriverFacts{Driver: max(0, cu.Version())} }

// translated replaces an answer of the driver with what it means. Package cu has the code as an
// integer of a type that it keeps to itself.
func translated(err error, f DriverFacts) error {
	if v := reflect.ValueOf(err); err != nil && v.CanInt() {
		e := Translate(int(v.Int()), f)
		if e.Name == "" {
			e.Name = err.Error()
		}
		return e
	}
	return err
}

// thread runs the calls. It never unlocks, so that the thread ends with the context.
func (d *Driver) thread() {
	runtime.LockOSThread()
	for {
		select {
		case call := <-d.calls:
			call()
		case <-d.quit:
			return
		}
	}
}

// do runs f on the context's thread.
func (d *Driver) do(facts DriverFacts, f func() error) error {
	done := make(chan error, 1)
	select {
	case d.calls <- func() { done <- translated(f(), facts) }:
		return <-done
	case <-d.quit:
		return ErrClosed
	}
}

// Load loads a cubin or PTX file.
func (d *Driver) Load(path string) (*Module, error) {
	image, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load a kernel image: %w", err)
	}
	m := &Module{driver: d, path: path}
	facts := d.facts
	facts.Image = image
	err = d.do(facts, func() (err error) {
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
	err := m.driver.do(m.driver.facts, func() error {
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
	if err := m.driver.do(m.driver.facts, m.module.Unload); err != nil {
		return fmt.Errorf("unload %s: %w", m.path, err)
	}
	return nil
}

// Alloc takes device memory.
func (d *Driver) Alloc(bytes int64) (at Address, err error) {
	facts := d.facts
	facts.RequestedBytes = bytes
	err = d.do(facts, func() error {
		p, err := cu.MemAlloc(bytes)
		at = Address(p)
		if err == cu.OutOfMemory {
			if free, _, infoErr := cu.MemInfo(); infoErr == nil {
				facts.FreeBytes = &free
			}
			return translated(err, facts)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("allocate %d bytes on the device: %w", bytes, err)
	}
	return at, nil
}

// Free gives device memory back.
func (d *Driver) Free(at Address) error {
	if err := d.do(d.facts, func() error { return cu.MemFree(cu.DevicePtr(at)) }); err != nil {
		return fmt.Errorf("free device memory: %w", err)
	}
	return nil
}

// CopyIn copies to the device.
func (d *Driver) CopyIn(to Address, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	err := d.do(d.facts, func() error {
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
	err := d.do(d.facts, func() error {
		return cu.MemcpyDtoH(unsafe.Pointer(&to[0]), cu.DevicePtr(from), int64(len(to)))
	})
	if err != nil {
		return fmt.Errorf("copy %d bytes from the device: %w", len(to), err)
	}
	return nil
}

// Close destroys the stream and the context, and ends the thread. What is called afterwards, Close
// too, fails with ErrClosed.
func (d *Driver) Close() error {
	err := ErrClosed
	d.ending.Do(func() {
		err = d.do(d.facts, func() error {
			return errors.Join(translated(d.stream.Destroy(), d.facts), translated(d.context.Destroy(), d.facts))
		})
		close(d.quit)
	})
	if err != nil {
		return fmt.Errorf("close the device: %w", err)
	}
	return nil
}

//go:build !cuda || !cgo || !linux

package device

// Driver runs stand-alone kernels on one device; this build has none.
type Driver struct{}

// Module is a loaded image; this build has none.
type Module struct{}

// DriverDevices fails with ErrNoDriverAPI.
func DriverDevices() ([]DriverDevice, error) { return nil, ErrNoDriverAPI }

// OpenDriver fails with ErrNoDriverAPI, so that nothing below is ever called.
func OpenDriver(index int) (*Driver, error) { return nil, ErrNoDriverAPI }

func (d *Driver) Load(path string) (*Module, error)         { return nil, ErrNoDriverAPI }
func (d *Driver) Alloc(bytes int64) (Address, error)        { return 0, ErrNoDriverAPI }
func (d *Driver) Free(at Address) error                     { return ErrNoDriverAPI }
func (d *Driver) CopyIn(to Address, from []byte) error      { return ErrNoDriverAPI }
func (d *Driver) CopyOut(to []byte, from Address) error     { return ErrNoDriverAPI }
func (d *Driver) Close() error                              { return nil }
func (m *Module) Launch(l Launch, arguments []uint64) error { return ErrNoDriverAPI }
func (m *Module) Close() error                              { return nil }

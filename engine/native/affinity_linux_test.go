//go:build cgo

package native_test

import (
	"encoding/json"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"lathe/engine/native"
)

// TestCPUsInUse: every backend takes the CPUs that it may use, no more, for a
// session that names no threads, and says so of the device.
func TestCPUsInUse(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	first := 0
	for !all.IsSet(first) {
		first++
	}
	cpu, err := native.CPU()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*native.Backend{reference(t), cpu} {
		m := newTiny(smallDesc(), 1).open(t, b)
		if cores, threads := cpus(t, b, m); cores != all.Count() || threads != all.Count() {
			t.Errorf("%s: %d cores and %d threads, %d CPUs are allowed", b.Name(), cores, threads, all.Count())
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			var one unix.CPUSet
			one.Set(first)
			if err := unix.SchedSetaffinity(0, &one); err != nil {
				t.Error(err)
				return
			}
			if cores, threads := cpus(t, b, m); cores != 1 || threads != 1 {
				t.Errorf("%s: %d cores and %d threads, one CPU is allowed", b.Name(), cores, threads)
			}
		}()
		<-done
	}
}

func cpus(t *testing.T, b *native.Backend, m *native.Model) (cores, threads int) {
	info, err := b.DeviceInfo(-1)
	if err != nil {
		t.Error(err)
		return
	}
	var facts struct{ Cores int }
	if err := json.Unmarshal(info, &facts); err != nil {
		t.Errorf("%s: %v", info, err)
	}
	s, err := m.NewSession(options(16, 0))
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Close()
	mem, err := s.Memory()
	if err != nil {
		t.Error(err)
	}
	return facts.Cores, mem.Threads
}

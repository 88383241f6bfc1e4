package main

import (
	"os"
	"slices"
	"sort"
	"sync"
	"time"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/cuda/device"
)

// watchEvery is how often a device's clock is read. NVML answers from the driver's memory; the device
// is not asked.
const watchEvery = 10 * time.Millisecond

// deviceWatch reads a GPU's clock and the reasons that hold it down while steps are timed on it, on a
// goroutine of its own, and what must not change under a comparison.
type deviceWatch struct {
	source device.Source
	asking sync.Mutex // of source
	index  int        // NVML's
	clock  bench.Clock
	stop   chan struct{}
	ended  sync.WaitGroup

	mu    sync.Mutex
	at    []int64 // ns on the run's clock, ascending
	state []device.Sample
}

// watchDevice starts watching the device with that name among those that CUDA shows; nil where there is
// none to watch.
func watchDevice(open func() (device.Source, error), visible *string, name string, clock bench.Clock) *deviceWatch {
	source, err := open()
	if err != nil {
		return nil
	}
	m, err := source.Machine()
	if err == nil {
		shown, at := m.Visible(visible), 0
		if at, err = shown.Find(name); err == nil {
			w := &deviceWatch{source: source, index: shown.Devices[at].Device.Index, clock: clock, stop: make(chan struct{})}
			w.ended.Add(1)
			go w.run()
			return w
		}
	}
	source.Close()
	return nil
}

// watch watches the device that a model lies on; nil for a processor.
func (app *application) watch(l *loadedModel, clock bench.Clock) *deviceWatch {
	if isBuiltin(l.backend.Name()) {
		return nil
	}
	return watchDevice(app.nvml, app.visibleDevices(), l.options.Device, clock)
}

func (w *deviceWatch) run() {
	defer w.ended.Done()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		w.sample()
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
	}
}

// sample takes one reading. Where NVML stopped answering there is none from then on, and steps behind
// it have no clock: a stale one is worse.
func (w *deviceWatch) sample() {
	s := w.ask()
	w.mu.Lock()
	w.at, w.state = append(w.at, w.clock.Now()), append(w.state, s)
	w.mu.Unlock()
}

// ask reads the device's state; nothing is known where NVML does not answer.
func (w *deviceWatch) ask() device.Sample {
	w.asking.Lock()
	defer w.asking.Unlock()
	s, err := w.source.Sample(w.index)
	if err != nil {
		return device.Sample{}
	}
	return s
}

// annotate gives each step the readings within it, or the one nearest to it within two periods: the
// mean clock and all reasons seen. What is older than the first step is forgotten.
func (w *deviceWatch) annotate(steps []bench.Step) {
	if w == nil || len(steps) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range steps {
		w.annotateOne(&steps[i])
	}
	keep := sort.Search(len(w.at), func(k int) bool { return w.at[k] >= steps[0].TNS }) - 1
	if keep > 0 {
		w.at, w.state = append([]int64{}, w.at[keep:]...), append([]device.Sample{}, w.state[keep:]...)
	}
}

func (w *deviceWatch) annotateOne(s *bench.Step) {
	first := sort.Search(len(w.at), func(k int) bool { return w.at[k] >= s.TNS })
	last := sort.Search(len(w.at), func(k int) bool { return w.at[k] > s.TNS+s.HostNS })
	if first == last { // none within
		best := -1
		for _, k := range []int{first - 1, first} {
			if k >= 0 && k < len(w.at) && distance(w.at[k], s) <= int64(2*watchEvery) && (best < 0 || distance(w.at[k], s) < distance(w.at[best], s)) {
				best = k
			}
		}
		if best < 0 {
			return
		}
		first, last = best, best+1
	}
	sum, n := 0, 0
	var reasons uint64
	known := false
	for _, x := range w.state[first:last] {
		if x.SMClockMHz != nil {
			sum, n = sum+*x.SMClockMHz, n+1
		}
		if x.Reasons != nil {
			reasons, known = reasons|uint64(*x.Reasons), true
		}
	}
	if n > 0 {
		s.SMClockMHz = ptrTo((sum + n/2) / n)
	}
	if known {
		s.ThrottleReasons = &reasons
	}
}

// distance is how far a moment lies outside a step.
func distance(at int64, s *bench.Step) int64 {
	if at < s.TNS {
		return s.TNS - at
	}
	return at - s.TNS - s.HostNS
}

// deviceState is a compare.Rig's Device.
func (w *deviceWatch) deviceState() compare.DeviceState {
	var out compare.DeviceState
	w.asking.Lock()
	m, err := w.source.Machine()
	w.asking.Unlock()
	if err != nil {
		return out
	}
	at := slices.IndexFunc(m.Devices, func(d device.Device) bool { return d.Index == w.index })
	if at < 0 {
		return out
	}
	d := m.Devices[at]
	out.ECC, out.MIG = d.ECC, d.MIG
	if d.Processes != nil {
		out.OtherProcesses = ptrTo(otherProcesses(d, os.Getpid()))
	}
	out.MemoryClockMHz = w.ask().MemoryClockMHz
	return out
}

// close ends the watching.
func (w *deviceWatch) close() {
	if w == nil {
		return
	}
	close(w.stop)
	w.ended.Wait()
	w.source.Close()
}

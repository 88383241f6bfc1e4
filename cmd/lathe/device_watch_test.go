package main

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/cuda/device"
)

// watched is a variant whose device is read before each step, as the watching goroutine does by the
// clock.
type watched struct {
	variant
	watch *deviceWatch
}

func (v *watched) Decode() error {
	v.watch.sample()
	return v.variant.Decode()
}

func (v *watched) Prefill() error {
	v.watch.sample()
	return v.variant.Prefill()
}

// memoryTape keeps what a run records.
type memoryTape struct{ file bench.File }

func (r *memoryTape) Write(records ...any) error {
	for _, rec := range records {
		switch rec := rec.(type) {
		case bench.Check:
			r.file.Checks = append(r.file.Checks, rec)
		case bench.Point:
			r.file.Points = append(r.file.Points, rec)
		}
	}
	return nil
}

func (r *memoryTape) WriteSteps(steps []bench.Step) error {
	r.file.Steps = append(r.file.Steps, steps...)
	return nil
}

// compareWatched runs a comparison on a scripted device.
func compareWatched(t *testing.T, fake *device.Fake) (*bench.File, compare.Result) {
	t.Helper()
	s := &scripted{noise: rand.New(rand.NewPCG(1, 1)), sigma: 0.001}
	fake.Is = device.Machine{Devices: []device.Device{{Index: 0, Name: "GPU", ECC: ptrTo(true), Processes: []device.Process{}}}}
	w := &deviceWatch{source: fake, clock: s}
	p := compare.DefaultPlan()
	p.Looks, p.Alpha, p.Blocks, p.Warmup, p.Steps, p.SettleSteps = []int{5}, 0.05, 3, 1, 4, 2
	p.Vocab, p.Points = 16, []compare.Point{{Batch: 1, ContextLen: 8, Phase: bench.Decode}}
	r := &memoryTape{file: bench.File{End: &bench.End{Reason: bench.EndCompleted}}}
	rig := compare.Rig{Recorder: r, Clock: s, Annotate: w.annotate, Device: w.deviceState,
		Open: func(context.Context, int, compare.Visit) (compare.Pair, error) {
			return compare.Pair{A: &watched{variant{scripted: s, ratio: 1}, w}, B: &watched{variant{scripted: s, ratio: 1}, w}}, nil
		}}
	if err := compare.Run(context.Background(), rig, p); err != nil {
		t.Fatal(err)
	}
	result, err := compare.Judge(&r.file)
	if err != nil {
		t.Fatal(err)
	}
	return &r.file, result
}

func sampleOf(mhz, memory int, reasons device.Reasons) device.Sample {
	return device.Sample{SMClockMHz: &mhz, MemoryClockMHz: &memory, Reasons: &reasons}
}

// TestP153_ClocksOfEachStep: each step has the clock and the reasons that held it; a cap that binds on
// both sides from some sample on leaves a verdict.
func TestP153_ClocksOfEachStep(t *testing.T) {
	fake := &device.Fake{}
	for range 50 {
		fake.Samples = append(fake.Samples, sampleOf(1980, 2619, 0))
	}
	fake.Samples = append(fake.Samples, sampleOf(1500, 2619, device.SWPowerCap))
	f, r := compareWatched(t, fake)
	seen := map[int]int{}
	for _, s := range f.Steps {
		if s.SMClockMHz == nil || s.ThrottleReasons == nil {
			t.Fatalf("a step without clock or reasons: %+v", s)
		}
		if (*s.ThrottleReasons == uint64(device.SWPowerCap)) != (*s.SMClockMHz < 1980) {
			t.Errorf("%d MHz with reasons %#x", *s.SMClockMHz, *s.ThrottleReasons)
		}
		seen[*s.SMClockMHz]++
	}
	if seen[1980] == 0 || seen[1500] == 0 || r.Verdict != compare.NoDifference {
		t.Errorf("clocks %v, %s: %v", seen, r.Verdict, r.Reasons)
	}
	if states := countChecks(f, compare.CheckDevice); states != 10 {
		t.Errorf("the device was read %d times, want before and after each of 5 epochs", states)
	}
}

func countChecks(f *bench.File, name string) (n int) {
	for _, c := range f.Checks {
		if c.Name == name {
			n++
		}
	}
	return n
}

// TestP154_ThrottledThroughout: a device that is held down all the time ends the run within its plan,
// with samples, a flag, and no verdict.
func TestP154_ThrottledThroughout(t *testing.T) {
	f, r := compareWatched(t, &device.Fake{Samples: []device.Sample{sampleOf(1200, 2619, device.HWThermal)}})
	if r.Verdict != compare.Inconclusive || !r.Points[0].AllThrottled || r.Points[0].AMedianNS == nil || len(f.Steps) == 0 {
		t.Errorf("%s, all throttled %v, %d steps: %v", r.Verdict, r.Points[0].AllThrottled, len(f.Steps), r.Reasons)
	}
}

// TestP170_ClockIsUnknownOnceLost: where NVML stops answering, steps have no clock any more; the last
// one is not repeated.
func TestP170_ClockIsUnknownOnceLost(t *testing.T) {
	f, _ := compareWatched(t, &device.Fake{Samples: []device.Sample{sampleOf(1980, 2619, 0)}, FailAt: 50, Why: "unknown error"})
	last := f.Steps[len(f.Steps)-1]
	if f.Steps[0].SMClockMHz == nil || last.SMClockMHz != nil || last.ThrottleReasons != nil {
		t.Errorf("first %v, last %v MHz", f.Steps[0].SMClockMHz, last.SMClockMHz)
	}
}

// TestDeviceMustNotChange: another memory clock makes a comparison inconclusive.
func TestDeviceMustNotChange(t *testing.T) {
	fake := &device.Fake{}
	for range 100 {
		fake.Samples = append(fake.Samples, sampleOf(1980, 2619, 0))
	}
	fake.Samples = append(fake.Samples, sampleOf(1980, 1593, 0))
	if _, r := compareWatched(t, fake); r.Verdict != compare.Inconclusive || !strings.Contains(strings.Join(r.Reasons, "; "), "the memory clock changed from 2619 to 1593 MHz") {
		t.Errorf("%s: %v", r.Verdict, r.Reasons)
	}
}

// TestWatchDevice: the real watcher ends and closes its source; a device that is not there is not
// watched, and a processor has none.
func TestWatchDevice(t *testing.T) {
	fake := &device.Fake{Is: device.Machine{Devices: []device.Device{{Index: 0, Name: "GPU"}}}, Samples: []device.Sample{sampleOf(1, 2, 0)}}
	open := func() (device.Source, error) { return fake, nil }
	clock := bench.StartClock()
	w := watchDevice(open, nil, "0", clock)
	if w == nil {
		t.Fatal("the device is not watched")
	}
	w.close()
	if !fake.Closed || fake.Calls == 0 || len(w.at) == 0 {
		t.Errorf("closed %v after %d samples, %d kept", fake.Closed, fake.Calls, len(w.at))
	}
	if watchDevice(open, nil, "7", clock) != nil {
		t.Error("a device that is not there is watched")
	}
	if watchDevice(func() (device.Source, error) { return nil, device.ErrNoDriver }, nil, "", clock) != nil {
		t.Error("a device without a driver is watched")
	}
	second := watchDevice(twoGPUs, ptrTo("1,0"), "0", clock)
	if second == nil || second.index != 1 {
		t.Fatalf("CUDA's first device is NVML's second, watched is %+v", second)
	}
	second.close()
	var none *deviceWatch
	none.annotate(make([]bench.Step, 1))
	none.close()
}

package device

import "testing"

func TestReasons(t *testing.T) {
	for r, want := range map[Reasons]string{
		0: "none", GPUIdle: "GpuIdle", SWPowerCap | HWThermal: "SwPowerCap|HwThermalSlowdown", 1 << 40: "0x10000000000", Reliability: "Reliability",
	} {
		if got := r.String(); got != want {
			t.Errorf("%d: %s, want %s", uint64(r), got, want)
		}
	}
	for r, want := range map[Reasons]bool{0: false, GPUIdle | ApplicationClocks: false, SWPowerCap: true, GPUIdle | HWSlowdown: true, 1 << 40: true} {
		if r.Throttled() != want {
			t.Errorf("%v: throttled %v", r, !want)
		}
	}
}

func TestWatchWithoutASource(t *testing.T) {
	w := NewWatch(nil, 0)
	if w.Sample(1) != (Sample{}) || w.Lost() != nil {
		t.Error("a machine without a driver is no failure")
	}
}

func TestWatchOfAFake(t *testing.T) {
	clock := 1980
	fake := &Fake{Samples: []Sample{{SMClockMHz: &clock}}, FailAt: 3, Why: "gone"}
	w := NewWatch(fake, 0)
	for i, known := range []bool{true, true, false, false} {
		if got := w.Sample(int64(i)).SMClockMHz != nil; got != known {
			t.Errorf("sample %d known: %v", i, got)
		}
	}
	if loss := w.Lost(); loss == nil || loss.TNs != 2 || fake.Calls != 3 {
		t.Errorf("loss %+v after %d calls", loss, fake.Calls)
	}
}

func TestLaunchValidate(t *testing.T) {
	good := Launch{Symbol: "k", Grid: [3]int{1, 1, 1}, Block: [3]int{32, 1, 1}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*Launch){
		"launch a kernel: no symbol": func(l *Launch) { l.Symbol = "" },
		"launch k: grid [0 1 1], block [32 1 1]: every dimension must be at least 1": func(l *Launch) { l.Grid[0] = 0 },
		"launch k: shared memory of -1 bytes":                                        func(l *Launch) { l.SharedBytes = -1 },
	} {
		bad := good
		spoil(&bad)
		if err := bad.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

package bench

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// scripted is a run clock whose two sources are told what to say.
func scripted(mono *int64, wall *time.Time) *RunClock {
	return &RunClock{
		mono:      func() int64 { return *mono },
		wall:      func() time.Time { return *wall },
		wallStart: *wall,
		origin:    &ClockOrigin{MonotonicOriginNS: 500, BootID: "boot"},
	}
}

// The wall clock goes back by 10 s in the middle of a step: no interval moves,
// and the step is noticed.
func TestP137_WallClockSteps(t *testing.T) {
	var mono int64
	wall := time.Date(2026, 11, 2, 12, 0, 0, 0, time.FixedZone("x", 3600))
	c := scripted(&mono, &wall)
	if got := c.StartedAt(); got != "2026-11-02T11:00:00Z" {
		t.Errorf("label %q", got)
	}
	t0 := c.Now()
	mono += int64(20 * time.Millisecond)
	wall = wall.Add(20*time.Millisecond - 10*time.Second)
	t1 := c.Now()
	if d := time.Duration(t1 - t0); d != 20*time.Millisecond {
		t.Errorf("step of %v, want 20ms", d)
	}
	if got := c.WallStep(); got != -10*time.Second {
		t.Errorf("wall clock step %v, want -10s", got)
	}
	if got := c.StartedAt(); got != "2026-11-02T11:00:00Z" {
		t.Errorf("label moved to %q", got)
	}
	// Stamps go through the file as integers on the run's clock.
	data, err := json.Marshal(Step{TNS: t0, HostNS: t1 - t0})
	if err != nil {
		t.Fatal(err)
	}
	var s Step
	if err := json.Unmarshal(data, &s); err != nil || s.TNS != t0 || s.HostNS != t1-t0 {
		t.Errorf("read back %+v, %v", s, err)
	}
}

func TestP137_WallStepWarning(t *testing.T) {
	for step, want := range map[time.Duration]string{
		0:                                "",
		time.Second - 1:                  "",
		1 - time.Second:                  "",
		time.Second:                      "forward by 1s against the run's clock (it was set, or the machine slept)",
		-time.Second:                     "back by 1s against the run's clock (it was set)",
		90*time.Second + 200:             "forward by 1m30s ",
		-10*time.Second - 4444444:        "back by 10.004s ",
		time.Duration(math.MinInt64):     "back by 2562047h47m16.854775807s ",
		time.Duration(math.MaxInt64) - 1: "forward by 2562047h47m16.854775807s ",
	} {
		got := WallStepWarning(step)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("step of %v: %q, want %q", step, got, want)
		}
	}
}

func TestResumedClock(t *testing.T) {
	tests := map[string]struct {
		before *ClockOrigin
		last   int64
		now    int64
		origin int64
	}{
		"same boot goes on":         {&ClockOrigin{100, "boot"}, 300, 400, 100},
		"another boot follows":      {&ClockOrigin{100, "other"}, 300, 301, 199},
		"unknown origin follows":    {nil, 300, 301, 199},
		"never behind what is held": {&ClockOrigin{100, "boot"}, 700, 701, -201},
	}
	for name, tt := range tests {
		var mono int64
		wall := time.Unix(0, 0)
		c := scripted(&mono, &wall)
		c.resume(tt.before, tt.last)
		if c.Now() != tt.now || c.Origin().MonotonicOriginNS != tt.origin {
			t.Errorf("%s: now %d, origin %d; want %d, %d", name, c.Now(), c.Origin().MonotonicOriginNS, tt.now, tt.origin)
		}
	}
}

func TestStartClock(t *testing.T) {
	c := StartClock()
	if runtime.GOOS == "linux" {
		mono, boot, ok := monotonic()
		if !ok || c.Origin() == nil || c.Origin().BootID != boot || c.Origin().MonotonicOriginNS > mono {
			t.Errorf("origin %+v, machine at %d on %q", c.Origin(), mono, boot)
		}
	}
	last := c.Now()
	for range 1000 {
		now := c.Now()
		if now < last {
			t.Fatalf("went back from %d to %d", last, now)
		}
		last = now
	}
	if n := testing.AllocsPerRun(100, func() { c.Now() }); n != 0 {
		t.Errorf("%v allocations a reading", n)
	}
}

package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lathe/bench"
)

// TestP149_RotationExceedsTheCache: fewer copies than the cache holds are silently warm. Either enough
// are made, or they are refused with the number that is needed.
func TestP149_RotationExceedsTheCache(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		llc, touched uint64
		factor       int
		asked, want  int
		err          string
	}{
		{50 * mib, 2 * mib, 1, 0, 26, ""},
		{50 * mib, 2 * mib, 1, 10, 0, "cold mode needs at least 26"},
		{50 * mib, 2 * mib, 1, 26, 26, ""},
		{50 * mib, 2 * mib, 4, 0, 101, ""},
		{50 * mib, 2 * mib, 4, 100, 0, "cold mode needs at least 101"},
		{50 * mib, 300 * mib, 1, 0, 1, ""},
		{0, 2 * mib, 4, 0, 0, "not known"},
		{50 * mib, 0, 4, 0, 0, "touches nothing"},
		{1 << 62, 1, 1, 0, 0, "copies"},
	} {
		got, err := Footprint{LastLevel: c.llc, Touched: c.touched, Factor: c.factor}.Copies(c.asked)
		if got != c.want || (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%+v: %d copies, %v", c, got, err)
		}
		if err == nil && uint64(got)*c.touched <= uint64(c.factor)*c.llc {
			t.Errorf("%+v: %d copies touch no more than the cache", c, got)
		}
	}
}

// TestP151_PlanFromTheKernelsOwnTime: 50 us of kernel and 130 us around it in a budget of 100 ms are
// 2,000 samples, not 556, and both times stand in the schedule.
func TestP151_PlanFromTheKernelsOwnTime(t *testing.T) {
	b := Budget{MinTime: 100 * time.Millisecond, MinSamples: 30, MaxTime: time.Minute}
	p := Pilot{Call: 50 * time.Microsecond, Around: 130 * time.Microsecond}
	s := b.Plan(p, 100, 1, 1)
	if s.Samples != 2000 || s.Pilot != p || s.Cut {
		t.Errorf("%+v", s)
	}
	b.MaxTime = 180 * time.Millisecond // room for 1,000 of them
	if s = b.Plan(p, 100, 1, 1); s.Samples != 1000 || !s.Cut {
		t.Errorf("cut: %+v", s)
	}
	b.MaxTime = time.Millisecond
	if s = b.Plan(p, 100, 1, 1); s.Samples != b.MinSamples {
		t.Errorf("below the least: %+v", s)
	}
}

// TestP156_OneKnobOneLoop: the stop rule changes only how many samples are taken, the batch only what a
// sample is.
func TestP156_OneKnobOneLoop(t *testing.T) {
	p := Pilot{Call: 10 * time.Microsecond, Around: time.Microsecond}
	short, long := Budget{MinTime: 10 * time.Millisecond, MinSamples: 10}, Budget{MinTime: 80 * time.Millisecond, MinSamples: 10}
	a, b := short.Plan(p, 7, 4, 1), long.Plan(p, 7, 4, 1)
	if a.Batch != 4 || b.Batch != 4 || a.Copies != b.Copies || b.Samples != 8*a.Samples {
		t.Errorf("min time: %+v, %+v", a, b)
	}
	c := short.Plan(p, 7, 40, 1)
	if c.Batch != 40 || c.Copies != a.Copies || c.Samples*c.Batch != a.Samples*a.Batch {
		t.Errorf("batch: %+v, %+v", a, c)
	}
}

// fake is a machine with a cache of so many copies: a call of a copy that was used within them is fast.
type fake struct {
	cache    int
	fast     int64
	slow     map[string]int64
	used     []int
	calls    []string
	breakAt  int
	recorded []any
	clock    int64
	sizes    []int
	walks    []int
}

func (f *fake) Time(mode, variant string, copies []int, batch int) ([]int64, error) {
	f.calls = append(f.calls, fmt.Sprintf("%s %s", mode, variant))
	f.sizes = append(f.sizes, batch)
	if f.breakAt > 0 && len(f.calls) == f.breakAt {
		return nil, fmt.Errorf("broken")
	}
	var out []int64
	for i := 0; i < len(copies); i += batch {
		sum := int64(0)
		for _, c := range copies[i : i+batch] {
			recent := f.used[max(0, len(f.used)-f.cache):]
			if slices.Contains(recent, c) {
				sum += f.fast
			} else {
				sum += f.slow[variant]
			}
			f.used = append(f.used, c)
		}
		out = append(out, sum)
	}
	return out, nil
}

func (f *fake) Walk(n int) error {
	f.walks = append(f.walks, n)
	for c := range n {
		f.used = append(f.used, c)
	}
	return nil
}

func (f *fake) Write(records ...any) error {
	f.recorded = append(f.recorded, records...)
	return nil
}

func (f *fake) loop() Loop {
	return Loop{Runner: f, Recorder: f, Now: func() int64 { f.clock++; return f.clock }}
}

func (f *fake) summary(t *testing.T) Summary {
	t.Helper()
	var file bench.File
	for _, r := range f.recorded {
		file.Checks = append(file.Checks, r.(bench.Check))
	}
	if !Measured(&file) {
		t.Fatal("not recognised")
	}
	s, err := Summarise(&file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestP149_TheProofFindsAWarmRotation: a rotation that fits the cache is found by doubling it, one that
// exceeds it is proved.
func TestP149_TheProofFindsAWarmRotation(t *testing.T) {
	for _, c := range []struct {
		copies, cache int
		cold          bool
	}{{8, 12, false}, {20, 12, true}, {7, 12, false}, {30, 12, true}} {
		f := &fake{cache: c.cache, fast: 100, slow: map[string]int64{"file": 300}}
		m := Mode{Mode: Cold, Variants: []string{"file"}, Schedule: Schedule{Copies: c.copies, Batch: 1, Samples: 200}, Call: Call{Bytes: 600}, Seed: 1}
		if err := f.loop().Run(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		s := f.summary(t)
		if len(s.Proofs) != 1 || s.Proofs[0].Cold != c.cold || s.Proven() != c.cold {
			t.Errorf("%d copies, cache of %d: %+v", c.copies, c.cache, s.Proofs)
		}
		if c.cold && (s.Figures[0].MedianNS != 300 || s.Figures[0].GBps != 2 || s.Figures[0].N < 200) {
			t.Errorf("%+v", s.Figures[0])
		}
	}
}

// TestP147_ModesAreLabelledAndCompared: warm and cold stand under their names, and where they rank two
// kernels differently that is said.
func TestP147_ModesAreLabelledAndCompared(t *testing.T) {
	f := &fake{cache: 4, fast: 0, slow: map[string]int64{"file": 300, "builtin": 400}}
	schedule := Schedule{Copies: 20, Batch: 1, Samples: 80}
	cold := Mode{Mode: Cold, Variants: []string{"file", "builtin"}, Schedule: schedule}
	if err := f.loop().Run(context.Background(), cold); err != nil {
		t.Fatal(err)
	}
	g := &fake{cache: 0, slow: map[string]int64{"file": 90, "builtin": 60}}
	warm := Mode{Mode: Warm, Variants: []string{"file", "builtin"}, Schedule: Schedule{Copies: 1, Batch: 1, Samples: 80}}
	if err := g.loop().Run(context.Background(), warm); err != nil {
		t.Fatal(err)
	}
	f.recorded = append(f.recorded, g.recorded...)
	s := f.summary(t)
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "file is faster in cold") || !strings.Contains(s.Notes[0], "builtin in warm") {
		t.Errorf("%q", s.Notes)
	}
	if len(s.Proofs) != 2 { // warm claims nothing
		t.Errorf("%+v", s.Proofs)
	}
	for _, fig := range s.Figures {
		if fig.Mode == Warm && fig.Footprint != 1 {
			t.Errorf("%+v", fig)
		}
	}
}

// TestLoopTakesTurns: variants and footprints share every block, forwards or backwards by a coin.
func TestLoopTakesTurns(t *testing.T) {
	f := &fake{cache: 1, slow: map[string]int64{"a": 1, "b": 2}}
	m := Mode{Mode: Stream, Variants: []string{"a", "b"}, Schedule: Schedule{Copies: 30, Batch: 3, Samples: 400}, Seed: 3}
	if err := f.loop().Run(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	forwards := 0
	for i := 0; i < len(f.calls); i += 4 {
		switch block := strings.Join(f.calls[i:i+4], ","); block {
		case "stream a,stream a,stream b,stream b":
			forwards++
		case "stream b,stream b,stream a,stream a":
		default:
			t.Fatalf("block %d: %s", i/4, block)
		}
	}
	if n := len(f.calls) / 4; n != 40 || forwards < 8 || forwards > 32 {
		t.Errorf("%d blocks, %d forwards", n, forwards)
	}
	for _, n := range f.sizes {
		if n != 3 {
			t.Fatalf("batch of %d", n)
		}
	}
	if s := f.summary(t); len(s.Figures) != 4 || s.Figures[0].N != 400 {
		t.Errorf("%+v", s.Figures)
	}
}

// TestLoopReadsItsCopiesFirst: before each turn of a rotation every copy is read, twice as many for the
// proof, and no call of a turn comes back to a copy.
func TestLoopReadsItsCopiesFirst(t *testing.T) {
	f := &fake{cache: 1, slow: map[string]int64{"a": 1}}
	m := Mode{Mode: Cold, Variants: []string{"a"}, Schedule: Schedule{Copies: 50, Batch: 1, Samples: 10}}
	if err := f.loop().Run(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	slices.Sort(f.walks)
	if want := []int{50, 50, 50, 50, 100, 100, 100, 100}; !slices.Equal(f.walks, want) {
		t.Errorf("read %v copies, want %v", f.walks, want)
	}
	for _, copies := range []int{1, 3, 50, 5000} {
		m.Schedule.Copies = copies
		m.Schedule.Samples = 1000
		if n := (turn{"a", 1}).samples(m); n > copies || n > mostSamples || n < 1 {
			t.Errorf("%d copies: %d samples a turn", copies, n)
		}
	}
}

func TestLoopStops(t *testing.T) {
	f := &fake{cache: 1, slow: map[string]int64{"a": 1}, breakAt: 3}
	m := Mode{Mode: Warm, Variants: []string{"a"}, Schedule: Schedule{Copies: 1, Batch: 1, Samples: 100}}
	if err := f.loop().Run(context.Background(), m); err == nil || len(f.calls) != 3 {
		t.Errorf("%v after %d calls", err, len(f.calls))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g := &fake{}
	if err := g.loop().Run(ctx, m); err == nil || len(g.calls) != 0 {
		t.Errorf("%v after %d calls", err, len(g.calls))
	}
}

// TestBrokenRecords are errors, not panics.
func TestBrokenRecords(t *testing.T) {
	for _, name := range []string{CheckSamples, CheckSchedule} {
		f := bench.File{Checks: []bench.Check{{Name: name, Detail: json.RawMessage(`{"ns":"x","schedule":3}`)}}}
		if _, err := Summarise(&f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if s, err := Summarise(&bench.File{}); err != nil || len(s.Figures) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

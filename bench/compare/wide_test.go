package compare

import (
	"os"
	"testing"

	"lathe/bench"
)

// The rest of the table in docs/method.md: worlds and effects that are not held
// to a bound. It runs only where LATHE_METHOD_TABLE is set.
func TestMethodTable(t *testing.T) {
	if os.Getenv("LATHE_METHOD_TABLE") == "" {
		t.Skip("LATHE_METHOD_TABLE is not set")
	}
	first := firstSeed(t)
	desktop := world{name: "desktop", white: 0.01, spikes: 0.01, clock: 0.05, fast: 400, slow: 200, untagged: true, epoch: 0.015, epochVariant: 0.008}
	for _, w := range append(worlds(), desktop) {
		t.Run(w.name, func(t *testing.T) {
			for _, effect := range []float64{0, 0.005, 0.01, 0.02} {
				t.Logf("%-16s %+.1f %%: %s", w.name, 100*effect, cell(w, first, effect, onePoint))
			}
			sequential := map[Verdict]int{}
			for i := range uint64(trials) {
				sequential[oneAfterTheOther(t, w, first+i)]++
			}
			t.Logf("%-16s two recordings, equal: %v", w.name, sequential)
		})
	}
}

// oneAfterTheOther judges two recordings of equal variants, 12 passes of 128
// steps each, the second session begun when the first has ended.
func oneAfterTheOther(t *testing.T, w world, seed uint64) Verdict {
	t.Helper()
	s := newSession(w, seed, 0, onePoint(seed))
	record := func() *bench.File {
		s.begin()
		f := recordedRun(1, 0, 1, 0)
		for it := range 12 {
			for i := range 128 {
				ns, mhz := s.stepNS(false)
				clock := int(mhz)
				st := bench.Step{Iteration: it, Index: i + 1, Phase: bench.Decode, Batch: 1, ContextLen: 65 + i, HostNS: int64(ns), Graph: "none"}
				if clock > 0 {
					st.SMClockMHz = &clock
				}
				f.Steps = append(f.Steps, st)
			}
		}
		return f
	}
	a := record()
	r, err := Recordings(a, record(), RecordingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Verdict
}

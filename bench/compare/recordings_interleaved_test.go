package compare

import (
	"strings"
	"testing"

	"lathe/bench"
)

// besideTheSame records B against A with an effect; the header is alike in all.
func besideTheSame(t *testing.T, seed uint64, effect float64, change func(*Plan)) *bench.File {
	t.Helper()
	p := shortPlan(decodeAt(0, 1, 64), decodeAt(1, 2, 64))
	p.Seed = seed
	p.A, p.B = []byte(`{"backend":{"name":"cpu"}}`), []byte(`{"backend":{"name":"cpu","path":"b.so"}}`)
	if change != nil {
		change(&p)
	}
	f := measure(t, noisy(seed, effect), p)
	f.Run.Workload = p.Workload()
	f.End = &bench.End{Reason: bench.EndCompleted}
	return f
}

func judgeBeside(t *testing.T, a, b *bench.File) Result {
	t.Helper()
	r, err := Recordings(a, b, RecordingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTwoInterleaved: two comparisons with the same variant a tell their variants b apart, by the
// difference of the changes; swapping the files mirrors it.
func TestTwoInterleaved(t *testing.T) {
	for _, c := range []struct {
		x, y float64
		want Verdict
	}{{0, 0, NoDifference}, {0, 0.05, Slower}, {0.05, 0, Faster}, {0.05, 0.1, Slower}, {0.05, 0.05, NoDifference}} {
		a, b := besideTheSame(t, 1, c.x, nil), besideTheSame(t, 2, c.y, nil)
		r := judgeBeside(t, a, b)
		if r.Verdict != c.want || len(r.Points) != 2 || r.Points[0].Epochs == 0 {
			t.Errorf("%g and %g: %s, want %s: %v", c.x, c.y, r.Verdict, c.want, r.Reasons)
		}
		if want := 100 * ((1+c.y)/(1+c.x) - 1); r.ChangePercent == nil || *r.ChangePercent < want-0.5 || *r.ChangePercent > want+0.5 {
			t.Errorf("%g and %g: change %v %%, want %.2f", c.x, c.y, r.ChangePercent, want)
		}
		if len(r.Warnings) == 0 || r.Warnings[0] != BesideTheSame {
			t.Errorf("warnings %q", r.Warnings)
		}
		mirrored := judgeBeside(t, b, a)
		if opposite := map[Verdict]Verdict{Faster: Slower, Slower: Faster, NoDifference: NoDifference}[r.Verdict]; mirrored.Verdict != opposite {
			t.Errorf("%g and %g: %s, swapped %s", c.x, c.y, r.Verdict, mirrored.Verdict)
		}
	}
}

// TestTwoInterleavedMustBeAlike: another variant a, another slot, nothing in common and a mixture of
// kinds are refused by name; other points are left out and counted.
func TestTwoInterleavedMustBeAlike(t *testing.T) {
	a := besideTheSame(t, 1, 0, nil)
	for name, c := range map[string]struct {
		change func(*Plan)
		want   string
	}{
		"another a":     {func(p *Plan) { p.A = []byte(`{"backend":{"name":"reference"}}`) }, "the variants a of the two recordings are not the same"},
		"another slot":  {func(p *Plan) { p.Steps++ }, "the slots of the two recordings have different steps"},
		"another point": {func(p *Plan) { p.Points = []Point{decodeAt(0, 4, 8)} }, "no point in common"},
		"another model": {func(p *Plan) { p.Model = "m" }, "workload.model"},
	} {
		r := judgeBeside(t, a, besideTheSame(t, 2, 0, c.change))
		if text := strings.Join(r.Reasons, "; "); r.Verdict != Invalid || !strings.Contains(text+r.pointReasons(), c.want) {
			t.Errorf("%s: %s: %s %s", name, r.Verdict, text, r.pointReasons())
		}
	}
	r := judgeBeside(t, a, besideTheSame(t, 2, 0, func(p *Plan) { p.Points = p.Points[:1] }))
	if r.Verdict != NoDifference || !strings.Contains(strings.Join(r.Warnings, "; "), "1 points in common; left out: 1 only in A, 0 only in B") {
		t.Errorf("a subset: %s: %v", r.Verdict, r.Warnings)
	}
	mixed, err := Recordings(a, recordedRun(1, 0, 1, 5), RecordingOptions{})
	if err != nil || mixed.Verdict != Invalid || !strings.Contains(strings.Join(mixed.Reasons, "; "), "the other does not") {
		t.Errorf("a mixture: %s: %q, %v", mixed.Verdict, mixed.Reasons, err)
	}
	// Where a plug-in lay is no difference, what it was is.
	x, y := `{"backend":{"name":"cpu","path":"x.so","sha256":"1"}}`, `{"backend":{"name":"cpu","path":"y/x.so","sha256":"1"}}`
	if !sameVariant([]byte(x), []byte(y)) || sameVariant([]byte(x), []byte(strings.Replace(y, `"1"`, `"2"`, 1))) {
		t.Error("variants are told apart by the wrong things")
	}
}

// pointReasons are the reasons of all points.
func (r Result) pointReasons() string {
	var all []string
	for _, p := range r.Points {
		all = append(all, p.Reasons...)
	}
	return strings.Join(all, "; ")
}

package step_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lathe/bench"
	"lathe/bench/step"
)

func TestPointsInSGLangsOrder(t *testing.T) {
	plan := step.Plan{BatchSizes: []int{1, 12, 14}, InputLens: []int{256, 512}, OutputLens: []int{32, 256}}
	var want []step.Point
	for _, b := range plan.BatchSizes {
		for _, i := range plan.InputLens {
			for _, o := range plan.OutputLens {
				want = append(want, step.Point{ID: len(want), Batch: b, InputLen: i, OutputLen: o})
			}
		}
	}
	if diff := cmp.Diff(want, plan.Points()); diff != "" {
		t.Error(diff)
	}
}

// A cell keeps its number whatever the order of the lists and of the walk; the
// shuffle is a permutation that its seed decides.
func TestPointNumbersAreStable(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	byID := func(points []step.Point) []step.Point {
		return slices.SortedFunc(slices.Values(points), func(a, b step.Point) int { return a.ID - b.ID })
	}
	plan := step.Plan{BatchSizes: []int{32, 1, 8, 1}, InputLens: []int{7, 3}, OutputLens: []int{2, 9, 4}, Vocab: 10}
	walk := plan.Points()
	if walk[0].Batch != 32 || walk[1].OutputLen != 9 {
		t.Errorf("the walk does not follow the lists: %v", walk)
	}
	sha, _ := plan.Workload().SHA256()
	orders := map[string]bool{}
	for seed := range uint64(20) {
		other := plan
		for _, axis := range []*[]int{&other.BatchSizes, &other.InputLens, &other.OutputLens} {
			*axis = slices.Clone(*axis)
			rng.Shuffle(len(*axis), func(i, j int) { (*axis)[i], (*axis)[j] = (*axis)[j], (*axis)[i] })
		}
		other.ShuffleCells = &seed
		if diff := cmp.Diff(byID(walk), byID(other.Points())); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if !slices.Equal(other.Points(), other.Points()) {
			t.Fatalf("seed %d: two orders", seed)
		}
		if s, _ := other.Workload().SHA256(); s != sha {
			t.Errorf("seed %d: another workload", seed)
		}
		plan.ShuffleCells = &seed
		orders[cmp.Diff(walk, plan.Points())] = true
	}
	if len(orders) < 20 {
		t.Errorf("20 seeds give %d orders", len(orders))
	}
}

func TestRemaining(t *testing.T) {
	plan := step.Plan{BatchSizes: []int{8, 1, 1}, InputLens: []int{4}, OutputLens: []int{2}}
	line := func(id, batch int, s bench.Status) bench.Point {
		return bench.Point{Point: id, Batch: batch, InputLen: 4, OutputLen: 2, Status: s}
	}
	for _, c := range []struct {
		name string
		done []bench.Point
		want []int
	}{
		{"nothing", nil, []int{2, 0, 1}},
		{"one of two equal cells", []bench.Point{line(1, 1, bench.StatusOK)}, []int{2, 0}},
		{"skipped counts, failed does not", []bench.Point{line(2, 8, bench.StatusFailed), line(0, 1, bench.StatusSkipped)}, []int{2, 1}},
		{"failed, then measured", []bench.Point{line(2, 8, bench.StatusFailed), line(2, 8, bench.StatusOK)}, []int{0, 1}},
		{"numbers of another plan", []bench.Point{line(7, 8, bench.StatusOK)}, []int{0, 1}},
		{"cells of another plan", []bench.Point{line(0, 2, bench.StatusOK)}, []int{2, 0, 1}},
		{"all", []bench.Point{line(0, 1, bench.StatusOK), line(1, 1, bench.StatusOK), line(2, 8, bench.StatusOK)}, nil},
	} {
		var got []int
		for _, p := range step.Remaining(c.done, plan) {
			got = append(got, p.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v left, want %v", c.name, got, c.want)
		}
	}
}

func TestValidate(t *testing.T) {
	good := step.DefaultPlan()
	good.Vocab = 128256
	if err := good.Validate(); err != nil {
		t.Fatalf("the default plan: %v", err)
	}
	for _, c := range []struct {
		want   string
		change func(*step.Plan)
	}{
		{"no batch size given", func(p *step.Plan) { p.BatchSizes = nil }},
		{"batch size 0: want 1 to 1048576", func(p *step.Plan) { p.BatchSizes = []int{1, 0} }},
		{"input length -3: want 1 to 134217728", func(p *step.Plan) { p.InputLens = []int{-3} }},
		{"output length 0: want 1 to 134217728", func(p *step.Plan) { p.OutputLens = []int{0} }},
		{"prefill repetitions 0: want 1 to 16777216", func(p *step.Plan) { p.PrefillReps = 0 }},
		{"iterations 0: want 1 to 16777216", func(p *step.Plan) { p.Iterations = 0 }},
		{"warm-up prefills -1: want 0 to 16777216", func(p *step.Plan) { p.PrefillWarmup = -1 }},
		{"warm-up steps -1: want 0 to 16777216", func(p *step.Plan) { p.StepsWarmup = -1 }},
		{"empty steps -1: want 0 to 16777216", func(p *step.Plan) { p.Overhead = -1 }},
		{"vocabulary 0: want 1 to 16777216", func(p *step.Plan) { p.Vocab = 0 }},
		{"257 batch sizes, 1 input lengths and 256 output lengths: over 65536 points", func(p *step.Plan) {
			p.BatchSizes, p.OutputLens = slices.Repeat([]int{1}, 257), slices.Repeat([]int{16}, 256)
		}},
		{"input 1024 + output 16 is over the model's 1039 positions", func(p *step.Plan) { p.MaxPositions = 1039 }},
	} {
		plan := good
		c.change(&plan)
		err := plan.Validate()
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		m := &machine{}
		if _, ran := step.OneBatch(context.Background(), rigOf(m, newTape(t, m)), plan, plan.Points()); ran == nil || ran.Error() != err.Error() || len(m.log) > 0 {
			t.Errorf("OneBatch runs it: %v, %q", ran, m.log)
		}
	}
	good.MaxPositions = 1040
	if err := good.Validate(); err != nil {
		t.Errorf("lengths that just fit: %v", err)
	}
}

// TestWorkCountsWhatRuns compares both plans' counts with what the loops submit.
func TestWorkCountsWhatRuns(t *testing.T) {
	count := func(m *machine) (prefills, decodes int) {
		for _, call := range m.log {
			switch call {
			case "prefill":
				prefills++
			case "decode":
				decodes++
			}
		}
		return prefills, decodes
	}
	for _, output := range []int{1, 2, 5, 9, 40} {
		for _, reps := range [][2]int{{5, 1}, {1, 3}} {
			plan := step.DefaultPlan()
			plan.Vocab, plan.InputLens, plan.OutputLens = 100, []int{4}, []int{output}
			plan.PrefillReps, plan.Iterations = reps[0], reps[1]
			m := &machine{}
			if _, err := step.OneBatch(context.Background(), rigOf(m, newTape(t, m)), plan, plan.Points()); err != nil {
				t.Fatal(err)
			}
			prefills, decodes := count(m)
			if p, d := plan.Work(plan.Points()[0]); p != prefills || d != decodes {
				t.Errorf("one-batch, output %d, %v: %d prefills and %d decode steps, the plan says %d and %d", output, reps, prefills, decodes, p, d)
			}
		}
		plan := step.DefaultLatencyPlan()
		plan.Vocab, plan.OutputLen = 100, output
		m := &machine{}
		if _, err := step.Latency(context.Background(), rigOf(m, newTape(t, m)), plan); err != nil {
			t.Fatal(err)
		}
		prefills, decodes := count(m)
		if p, d := plan.Work(plan.Point()); p != prefills || d != decodes {
			t.Errorf("latency, output %d: %d prefills and %d decode steps, the plan says %d and %d", output, prefills, decodes, p, d)
		}
	}
}

func TestRandomPrompts(t *testing.T) {
	a := step.RandomPrompts(7, 4, 3000, 128256)
	if short := step.RandomPrompts(7, 2, 5, 128256); !slices.Equal(short[1], a[1][:5]) {
		t.Errorf("row 1 depends on batch or length: %v, %v", short[1], a[1][:5])
	}
	if slices.Equal(a[0], a[1]) || slices.Equal(a[0], step.RandomPrompts(8, 1, 3000, 128256)[0]) {
		t.Error("rows or seeds do not differ")
	}
	bins := make([]int, 10)
	for _, row := range a {
		for _, id := range row {
			if id < 0 || id >= step.RandomIDs {
				t.Fatalf("id %d", id)
			}
			bins[id/1000]++
		}
	}
	for i, n := range bins { // 1200 expected, standard deviation 33
		if n < 1050 || n > 1350 {
			t.Errorf("%d of 12000 ids lie in thousand %d", n, i)
		}
	}
	// The first ids of a seed never change: recorded runs depend on them.
	if want := []int32{2695, 2997, 1157, 1675, 8653}; !slices.Equal(a[0][:5], want) {
		t.Errorf("first ids %v, want %v", a[0][:5], want)
	}
	if id := slices.Max(step.RandomPrompts(7, 1, 1000, 3)[0]); id != 2 {
		t.Errorf("largest id of a vocabulary of 3: %d", id)
	}
}

func TestFitBatch(t *testing.T) {
	rows := [][]int32{{1}, {2}, {3}}
	for batch, want := range map[int][][]int32{2: {{1}, {2}}, 3: rows, 5: {{1}, {2}, {3}, {3}, {3}}} {
		if got, err := step.FitBatch(rows, batch); err != nil || !cmp.Equal(got, want) {
			t.Errorf("FitBatch %d = %v, %v", batch, got, err)
		}
	}
	if _, err := step.FitBatch(nil, 2); err == nil {
		t.Error("no prompts fit a batch")
	}
}

func TestGivenPrompts(t *testing.T) {
	for _, c := range []struct {
		name, want string // of the line: the reason, else the warning
		rows       [][]int32
		fails      error
	}{
		{name: "as the axis says", rows: [][]int32{{1, 2, 3}, {4, 5, 6}}},
		{name: "own lengths", rows: [][]int32{{1}, {1, 2, 3, 4}}, want: "prompts have 1 to 4 tokens, input_len says 3; context_len counts the longest row"},
		{name: "too few", rows: [][]int32{{1}}, want: "prompts: 1 rows for batch 2"},
		{name: "empty", rows: [][]int32{{1}, {}}, want: "prompts: row 1 is empty"},
		{name: "outside", rows: [][]int32{{1}, {1, 100}}, want: "prompts: row 1 token 1: id 100 is not in the vocabulary of 100"},
		{name: "negative", rows: [][]int32{{-1}, {1}}, want: "prompts: row 0 token 0: id -1 is not in the vocabulary of 100"},
		{name: "too long", rows: [][]int32{{1}, make([]int32, 7)}, want: "prompts: longest row 7 + output 3 is over the model's 9 positions"},
		{name: "unreadable", fails: errors.New("no such file"), want: "prompts: no such file"},
	} {
		m := &machine{}
		r := newTape(t, m)
		rig := rigOf(m, r)
		rig.Prompts = func(step.Point) ([][]int32, error) { return c.rows, c.fails }
		plan := smallPlan([]int{2}, []int{3}, []int{3})
		plan.MaxPositions = 9
		if _, err := step.OneBatch(context.Background(), rig, plan, plan.Points()); err != nil {
			t.Fatal(err)
		}
		h := r.read(t)
		got := strings.Join(h.points[0].Warnings, "; ")
		if h.points[0].Reason != nil {
			got = *h.points[0].Reason
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.name == "own lengths" && h.steps[len(h.steps)-1].ContextLen != 6 {
			t.Errorf("context of the last step %d", h.steps[len(h.steps)-1].ContextLen)
		}
	}
}

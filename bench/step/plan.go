package step

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"lathe/bench"
)

// Plan says what OneBatch measures. The points are the product of the three
// lists in SGLang's order: batch outermost, output innermost. Unlike SGLang,
// which warms its first point alone and takes one prefill, every point is
// warmed up and its prefill repeated.
type Plan struct {
	BatchSizes []int `json:"batch_sizes"`
	InputLens  []int `json:"input_lens"`  // tokens of a prompt
	OutputLens []int `json:"output_lens"` // new tokens a row: one from the prefill, the others from decode steps

	// PrefillReps is how often a prompt is prefilled in a point, each time after
	// a fresh Begin. The last Iterations of them go on into a decode pass of
	// output_len-1 steps, so there are max(PrefillReps, Iterations) repetitions,
	// numbered from 0, and the prefill before a decode pass is one of the
	// prefill samples.
	PrefillReps int `json:"prefill_reps"`
	Iterations  int `json:"iterations"`

	// PrefillWarmup prefills and StepsWarmup decode steps come first in every
	// point, recorded with warmup true and numbered apart. A warm-up pass is a
	// prefill and at most output_len-1 decode steps, so a short output repeats
	// the prefill until both counts are reached.
	PrefillWarmup int `json:"prefill_warmup"`
	StepsWarmup   int `json:"steps_warmup"`

	Seed         uint64  `json:"seed"`          // of the random prompts
	ShuffleCells *uint64 `json:"shuffle_cells"` // seed of the order of points; nil: the product's order
	NoSync       bool    `json:"no_sync"`       // no Wait at a step: launch times, labelled so
	Overhead     int     `json:"overhead"`      // empty steps measured in every point; 0: none

	Model        string `json:"model"`         // identity, for the workload
	Dataset      string `json:"dataset"`       // where the prompts come from; "": random ids
	Vocab        int    `json:"vocab"`         // ids of the model
	MaxPositions int    `json:"max_positions"` // of the model; 0: unknown, not checked
}

// Bounds of a plan: far above what any machine can measure, and low enough that no product of them
// overflows.
const (
	MaxBatch  = 1 << 20
	MaxLength = 1 << 27
	MaxCount  = 1 << 24 // repetitions, warm-up steps, tokens of a vocabulary
	MaxPoints = 1 << 16
)

// DefaultPlan has SGLang's lengths and our repetitions.
func DefaultPlan() Plan {
	return Plan{
		BatchSizes: []int{1}, InputLens: []int{1024}, OutputLens: []int{16},
		PrefillReps: 5, Iterations: 1, PrefillWarmup: 1, StepsWarmup: 8, Overhead: 101,
	}
}

// Point is one cell of a plan.
type Point struct {
	// ID is the position in the product of the sorted lists, so one workload
	// numbers its points alike whatever order is given, shuffled or resumed.
	ID        int
	Batch     int
	InputLen  int
	OutputLen int
}

// Work counts the prefills and decode steps of a point, warm-up included.
func (p Plan) Work(point Point) (prefills, decodes int) {
	warm, most := p.PrefillWarmup, point.OutputLen-1
	if most > 0 {
		warm = max(warm, (p.StepsWarmup+most-1)/most)
		decodes = p.StepsWarmup
	}
	return warm + max(p.PrefillReps, p.Iterations), decodes + p.Iterations*most
}

// String names a point as messages do.
func (p Point) String() string {
	return fmt.Sprintf("batch %d, input %d, output %d", p.Batch, p.InputLen, p.OutputLen)
}

// over is why a point cannot be run in so many positions; "" where it can.
func (p Point) over(maxPositions int) string {
	if maxPositions <= 0 || p.InputLen+p.OutputLen <= maxPositions {
		return ""
	}
	return fmt.Sprintf("input %d + output %d is over the model's %d positions", p.InputLen, p.OutputLen, maxPositions)
}

// Validate checks a plan. A point that is longer than the model's positions is
// skipped with that reason when it comes; a plan of such points only is an error.
func (p Plan) Validate() error {
	for _, axis := range []struct {
		name   string
		values []int
		most   int
	}{{"batch size", p.BatchSizes, MaxBatch}, {"input length", p.InputLens, MaxLength}, {"output length", p.OutputLens, MaxLength}} {
		if len(axis.values) == 0 {
			return fmt.Errorf("plan one-batch: no %s given", axis.name)
		}
		for _, v := range axis.values {
			if v < 1 || v > axis.most {
				return fmt.Errorf("plan one-batch: %s %d: want 1 to %d", axis.name, v, axis.most)
			}
		}
	}
	for _, count := range []struct {
		name    string
		n, want int
	}{
		{"prefill repetitions", p.PrefillReps, 1}, {"iterations", p.Iterations, 1},
		{"warm-up prefills", p.PrefillWarmup, 0}, {"warm-up steps", p.StepsWarmup, 0},
		{"empty steps", p.Overhead, 0}, {"vocabulary", p.Vocab, 1},
	} {
		if count.n < count.want || count.n > MaxCount {
			return fmt.Errorf("plan one-batch: %s %d: want %d to %d", count.name, count.n, count.want, MaxCount)
		}
	}
	points := 1
	for _, n := range []int{len(p.BatchSizes), len(p.InputLens), len(p.OutputLens)} {
		if points *= n; points > MaxPoints { // checked at each factor: the product may overflow
			return fmt.Errorf("plan one-batch: %d batch sizes, %d input lengths and %d output lengths: over %d points",
				len(p.BatchSizes), len(p.InputLens), len(p.OutputLens), MaxPoints)
		}
	}
	shortest := Point{Batch: 1, InputLen: slices.Min(p.InputLens), OutputLen: slices.Min(p.OutputLens)}
	if reason := shortest.over(p.MaxPositions); reason != "" {
		return fmt.Errorf("plan one-batch: %s", reason)
	}
	return nil
}

// Points are the plan's points in the order in which they are walked.
func (p Plan) Points() []Point {
	batch, input, output := ranks(p.BatchSizes), ranks(p.InputLens), ranks(p.OutputLens)
	points := make([]Point, 0, len(batch)*len(input)*len(output))
	for b, rb := range batch {
		for i, ri := range input {
			for o, ro := range output {
				points = append(points, Point{
					ID:    (rb*len(input)+ri)*len(output) + ro,
					Batch: p.BatchSizes[b], InputLen: p.InputLens[i], OutputLen: p.OutputLens[o],
				})
			}
		}
	}
	if p.ShuffleCells != nil {
		source := rand.NewPCG(*p.ShuffleCells, 0)
		for i := len(points) - 1; i > 0; i-- { // Fisher-Yates
			j, _ := bits.Mul64(source.Uint64(), uint64(i+1))
			points[i], points[j] = points[j], points[i]
		}
	}
	return points
}

// ranks gives each value's position among the sorted values; equal ones keep
// their order.
func ranks(values []int) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return values[a] - values[b] })
	ranks := make([]int, len(values))
	for rank, i := range order {
		ranks[i] = rank
	}
	return ranks
}

// Remaining are the points of a plan that a resumed sweep has still to measure,
// in the order in which they are walked: those without a line, and those that
// failed. A line closes one point of its batch, input and output length, that of
// its own number first, so a cell that is asked for twice is measured twice.
func Remaining(done []bench.Point, p Plan) []Point {
	closed := map[Point]int{}
	for _, d := range done {
		if d.Status == bench.StatusOK || d.Status == bench.StatusSkipped {
			closed[Point{ID: d.Point, Batch: d.Batch, InputLen: d.InputLen, OutputLen: d.OutputLen}]++
		}
	}
	left := p.Points()
	left = slices.DeleteFunc(left, func(point Point) bool {
		if closed[point] == 0 {
			return false
		}
		closed[point]--
		return true
	})
	cells := map[Point]int{} // lines whose number is of another plan
	for point, n := range closed {
		point.ID = 0
		cells[point] += n
	}
	return slices.DeleteFunc(left, func(point Point) bool {
		point.ID = 0
		if cells[point] == 0 {
			return false
		}
		cells[point]--
		return true
	})
}

// Workload is the plan's identity: model, lengths, prompts. The order of the
// lists, repetitions and warm-up are no part of it.
func (p Plan) Workload() bench.Workload {
	return bench.Workload{
		Kind: "one-batch", Model: p.Model,
		BatchSizes: sorted(p.BatchSizes), InputLens: sorted(p.InputLens), OutputLens: sorted(p.OutputLens),
		Dataset: dataset(p.Dataset, p.Vocab), Seed: p.Seed,
	}
}

func sorted(values []int) []int {
	c := slices.Clone(values)
	slices.Sort(c)
	return c
}

func dataset(name string, vocab int) string {
	if name != "" {
		return name
	}
	return fmt.Sprintf("random ids 0..%d", min(RandomIDs, vocab)-1)
}

package step

import (
	"context"
	"fmt"
	"runtime"

	"lathe/bench"
)

// LatencyPlan says what Latency measures: the same prompts generated again and
// again, as vLLM's bench latency does.
type LatencyPlan struct {
	Batch     int `json:"batch_size"`
	InputLen  int `json:"input_len"`
	OutputLen int `json:"output_len"`

	Warmup     int `json:"num_iters_warmup"` // whole iterations before the measured ones
	Iterations int `json:"num_iters"`

	// NoSplit times whole iterations only: one Wait a step, because the next
	// step needs its tokens, no clock between. It shows what the split costs.
	NoSplit  bool   `json:"no_split"`
	Overhead int    `json:"overhead"` // empty steps measured; 0: none
	Seed     uint64 `json:"seed"`     // of the random prompts

	Model        string `json:"model"`         // identity, for the workload
	Dataset      string `json:"dataset"`       // where the prompts come from; "": random ids
	Vocab        int    `json:"vocab"`         // ids of the model
	MaxPositions int    `json:"max_positions"` // of the model; 0: unknown, not checked
}

// DefaultLatencyPlan has vLLM's lengths and counts.
func DefaultLatencyPlan() LatencyPlan {
	return LatencyPlan{Batch: 8, InputLen: 32, OutputLen: 128, Warmup: 10, Iterations: 30, Overhead: 101}
}

// Point is the plan's one point.
func (p LatencyPlan) Point() Point {
	return Point{Batch: p.Batch, InputLen: p.InputLen, OutputLen: p.OutputLen}
}

// Work counts the prefills and decode steps of a point, warm-up included.
func (p LatencyPlan) Work(point Point) (prefills, decodes int) {
	iterations := p.Warmup + p.Iterations
	return iterations, iterations * (point.OutputLen - 1)
}

// Validate checks a plan.
func (p LatencyPlan) Validate() error {
	for _, count := range []struct {
		name    string
		n, want int
		most    int
	}{
		{"batch size", p.Batch, 1, MaxBatch}, {"input length", p.InputLen, 1, MaxLength}, {"output length", p.OutputLen, 1, MaxLength},
		{"iterations", p.Iterations, 1, MaxCount}, {"warm-up iterations", p.Warmup, 0, MaxCount}, {"empty steps", p.Overhead, 0, MaxCount},
		{"vocabulary", p.Vocab, 1, MaxCount},
	} {
		if count.n < count.want || count.n > count.most {
			return fmt.Errorf("plan latency: %s %d: want %d to %d", count.name, count.n, count.want, count.most)
		}
	}
	if reason := p.Point().over(p.MaxPositions); reason != "" {
		return fmt.Errorf("plan latency: %s", reason)
	}
	return nil
}

// Workload is the plan's identity: model, lengths, prompts.
func (p LatencyPlan) Workload() bench.Workload {
	return bench.Workload{
		Kind: "latency", Model: p.Model,
		BatchSizes: []int{p.Batch}, InputLens: []int{p.InputLen}, OutputLens: []int{p.OutputLen},
		Dataset: dataset(p.Dataset, p.Vocab), Seed: p.Seed,
	}
}

// Latency measures Warmup and then Iterations whole generate calls over the same
// prompts, nothing cached between them. An iteration is
//
//	Wait (drain), clock, Begin, prefill, output_len-1 decode steps, clock
//
// so that, as in vLLM's interval, taking the pages is part of it. With the split
// (the default) every step inside is timed as OneBatch times it, and the last
// step's second clock read ends the iteration too: the iteration then holds one
// drain that finds nothing, two clock reads and a record's few stores a step
// more than with NoSplit. Begin stands before the first step's drain, so it is
// in the iteration and in no step.
//
// Records, point line, errors and interruption are those of OneBatch; an
// interrupted iteration leaves its finished steps and no iteration record.
func Latency(ctx context.Context, rig Rig, plan LatencyPlan) (Tally, error) {
	var tally Tally
	if err := plan.Validate(); err != nil {
		return tally, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	point := plan.Point()
	if ctx.Err() != nil {
		return tally, interrupted(ctx, point)
	}
	if rig.Events.Start != nil {
		rig.Events.Start(point)
	}
	line, err := rig.measure(ctx, point, subject{
		seed: plan.Seed, vocab: plan.Vocab, maxPositions: plan.MaxPositions, records: plan.OutputLen,
	}, func(m *measurement) error { return m.latency(ctx, plan) })
	if err != nil {
		return tally, err
	}
	err = rig.close(line, &tally)
	return tally, err
}

// generator runs one generate call; at is the label of its prefill's record. It
// returns the clock at both ends.
type generator func(ctx context.Context, at *bench.Step) (start, end int64, err error)

// latency is the body of Latency's point.
func (m *measurement) latency(ctx context.Context, plan LatencyPlan) error {
	var generate generator = m.split
	if plan.NoSplit {
		generate = m.unsplit
	}
	for i := range plan.Warmup {
		if err := m.iteration(ctx, generate, i, true); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	empty, err := m.emptyStep(plan.Overhead)
	if err != nil {
		return err
	}
	for i := range plan.Iterations {
		if err := m.iteration(ctx, generate, i, false); err != nil {
			return err
		}
	}
	return m.disclose(empty, plan.Overhead)
}

// iteration runs one generate call with the collector off and writes its
// records.
func (m *measurement) iteration(ctx context.Context, generate generator, i int, warmup bool) error {
	m.timer.Reset()
	m.whole = bench.Iteration{}
	err := m.call(ctx, generate, i, warmup)
	if wrote := m.write(); wrote != nil {
		return fatal{wrote}
	}
	return err
}

func (m *measurement) call(ctx context.Context, generate generator, i int, warmup bool) error {
	if ctx.Err() != nil {
		return interrupted(ctx, m.point)
	}
	defer collectorOff()()
	at := m.labels(i, warmup)
	start, end, err := generate(ctx, &at)
	if err != nil {
		return err
	}
	m.whole = bench.Iteration{
		Kind: bench.KindIteration, Point: m.point.ID, Iteration: i,
		TNS: start, HostNS: end - start, Warmup: warmup,
	}
	return m.checkCached()
}

// split generates with every step timed alone. at is the prefill's label.
func (m *measurement) split(ctx context.Context, at *bench.Step) (start, end int64, err error) {
	if err := m.engine.Wait(); err != nil {
		return 0, 0, fmt.Errorf("drain before the iteration: %w", err)
	}
	start = m.rig.Clock.Now()
	if err := m.engine.Begin(m.prompts, m.point.OutputLen); err != nil {
		return 0, 0, fmt.Errorf("begin: %w", err)
	}
	if err := m.timer.Prefill(m.engine, at); err != nil {
		return 0, 0, err
	}
	for i := 1; i < m.point.OutputLen; i++ {
		if ctx.Err() != nil {
			return 0, 0, interrupted(ctx, m.point)
		}
		at.Index, at.ContextLen = i, m.longest+i
		if err := m.timer.Decode(m.engine, at); err != nil {
			return 0, 0, err
		}
	}
	return start, m.timer.end(), nil
}

// unsplit generates with two clock reads in all.
func (m *measurement) unsplit(ctx context.Context, _ *bench.Step) (start, end int64, err error) {
	if err := m.engine.Wait(); err != nil {
		return 0, 0, fmt.Errorf("drain before the iteration: %w", err)
	}
	start = m.rig.Clock.Now()
	if err := m.engine.Begin(m.prompts, m.point.OutputLen); err != nil {
		return 0, 0, fmt.Errorf("begin: %w", err)
	}
	if err := m.engine.Prefill(); err != nil {
		return 0, 0, fmt.Errorf("submit prefill: %w", err)
	}
	for i := 1; i < m.point.OutputLen; i++ {
		if err := m.engine.Wait(); err != nil {
			return 0, 0, fmt.Errorf("wait for step %d: %w", i-1, err)
		}
		if ctx.Err() != nil {
			return 0, 0, interrupted(ctx, m.point)
		}
		if err := m.engine.Decode(); err != nil {
			return 0, 0, fmt.Errorf("submit decode step %d: %w", i, err)
		}
	}
	err = m.engine.Wait()
	end = m.rig.Clock.Now()
	if err != nil {
		return 0, 0, fmt.Errorf("wait for step %d: %w", m.point.OutputLen-1, err)
	}
	return start, end, nil
}

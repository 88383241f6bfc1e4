//go:build unix

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lathe/engine/native"
)

// Ours names our own operator as what is timed.
const Ours = "builtin"

// Bench is an operator of a library, or ours, with the call that a decode step makes of it, to be timed
// alone in the process that it was checked in.
type Bench struct {
	checker *checker
	process *process
	ours    *ourOperators
	spec    spec
	problem *problem
	seed    uint64
	threads int
	call    layout // of one copy
	args    int    // bytes of arguments
	first   int    // of the copies, in the process's own memory
	copies  int
	rotate  []int // places of arguments: every buffer is the copy's
	stream  []int // activations are the first copy's
	room    span  // the workspace
}

// Call is what one call moves: bytes in all, and of weights and pages alone.
func (b *Bench) Call() (all, streamed uint64) {
	return b.problem.traffic(false), b.problem.traffic(true)
}

// Name describes the call.
func (b *Bench) Name() string { return b.spec.name() }

// Bytes is what n copies take.
func (b *Bench) Bytes(n int) uint64 { return uint64(n) * uint64(b.stride()+2*b.args) }

// stride is from one copy to the next: whole pages and some lines more, so that the same element of two
// copies does not fall into one set of a cache.
func (b *Bench) stride() int {
	const page, skew = 4096, 5 * alignment
	return (b.call.end+page-1)/page*page + skew
}

// Copies makes n copies of the call's memory, each with inputs of its own, behind the workspace.
func (b *Bench) Copies(n int) error {
	p := b.process
	b.copies, b.first = n, (b.room.n+alignment-1)/alignment*alignment
	argsAt := b.first + n*b.stride()
	a, err := p.ask(request{Ask: askReserve, Bytes: argsAt + 2*n*b.args})
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err != nil {
		return err
	}
	stage := b.checker.page // in the arena; its first page is the fault record's
	for i, r := range b.problem.regions {
		copy(p.arena[stage+b.call.regions[i].from:], r.data)
	}
	if err := b.openStage(max(b.call.end, n*b.args)); err != nil {
		return err
	}
	if _, err := p.value(request{Ask: askStore, From: stage, To: b.first, Bytes: b.call.end, Count: n, Stride: b.stride(), Marks: b.marks()}); err != nil {
		return err
	}
	if b.rotate, err = b.arguments(a.Base, argsAt, false); err != nil {
		return err
	}
	b.stream, err = b.arguments(a.Base, argsAt+n*b.args, true)
	return err
}

// openStage lets the process read the arena from its second page on.
func (b *Bench) openStage(bytes int) error {
	page := b.checker.page
	if whole := (bytes + page - 1) / page * page; page+whole <= len(b.process.arena) {
		return b.process.open([]span{{page, whole}})
	}
	return fmt.Errorf("copy the inputs of an operator: %d bytes, the arena has %d", bytes, len(b.process.arena))
}

// Walk reads the first n copies.
func (b *Bench) Walk(n int) error {
	_, err := b.process.value(request{Ask: askWalk, From: b.first, Bytes: n * b.stride()})
	return err
}

// marks are the places in a copy where its number goes: the high half of the first element of every
// input that is no table, no weight and no page.
func (b *Bench) marks() []int {
	var out []int
	for i, r := range b.problem.regions {
		if r.streamed || r.elem == i32 || r.n == 0 {
			continue
		}
		at := b.call.regions[i].from
		if r.elem == native.F32 {
			at += 2
		}
		out = append(out, at)
	}
	return out
}

// arguments writes the arguments of every copy from byte at of the process's own memory on. With
// streaming, only weights and pages are the copy's, and all else the first one's.
func (b *Bench) arguments(base uint64, at int, streaming bool) ([]int, error) {
	stage, places := b.checker.page, make([]int, b.copies)
	for k := range b.copies {
		addresses := make([]uint64, len(b.problem.regions))
		for i, r := range b.problem.regions {
			from := k
			if streaming && !r.streamed {
				from = 0
			}
			addresses[i] = base + uint64(b.first+from*b.stride()+b.call.regions[i].from)
		}
		raw, err := b.problem.encode(addresses)
		if err != nil {
			return nil, err
		}
		copy(b.process.arena[stage+k*b.args:], raw)
		places[k] = at + k*b.args
	}
	_, err := b.process.value(request{Ask: askStore, From: stage, To: at, Bytes: b.copies * b.args, Count: 1})
	return places, err
}

// Time calls the library's operator, or ours, once for each copy and returns the nanoseconds of every
// batch of calls. streaming keeps the activations where they are.
func (b *Bench) Time(ours, streaming bool, copies []int, batch int) ([]int64, error) {
	at := b.rotate
	if streaming {
		at = b.stream
	}
	r := request{Ask: askTime, Ours: ours, Parts: b.threads, Workspace: [2]int{0, b.room.n}, Batch: batch}
	for _, k := range copies {
		if k < 0 || k >= len(at) {
			return nil, fmt.Errorf("time an operator: copy %d of %d", k, len(at))
		}
		r.Calls = append(r.Calls, at[k])
	}
	a, err := b.process.askFor(r, b.process.limit*time.Duration(len(copies)))
	switch {
	case err != nil:
		return nil, err
	case a.Error != "":
		return nil, errors.New(a.Error)
	case a.Value != 0:
		return nil, &death{Finding{Code: ReturnedError, Detail: fmt.Sprintf("returned %d while it was timed", a.Value)}}
	}
	return a.NS, nil
}

// Recheck examines the operator again with inputs that it has not seen: what is right before a timing
// may be wrong after many calls.
func (b *Bench) Recheck(ctx context.Context, o Options) (Verdict, error) {
	if o.File == "" {
		return Verdict{OK: true}, nil
	}
	v := Verdict{Op: o.Op, File: o.File, Findings: []Finding{}, Warnings: []string{}, Precisions: []Precision{}, Threads: threadCounts()}
	b.checker.verdict, b.checker.pools = &v, map[class]*pool{}
	specs, err := casesOf(o.Op)
	if err != nil {
		return v, err
	}
	o.Seeds, o.Progress, o.Model = 1, nil, nil
	o.Seed = uint64(streamOf(b.seed, "again")) >> 11
	v.Seed, v.Seeds = o.Seed, o.Seeds
	err = b.checker.examineAll(o, specs)
	var end *death
	if err != nil && !errors.As(err, &end) {
		return v, err
	}
	if end != nil {
		v.found(end.finding)
	}
	b.checker.sum()
	return v, context.Cause(ctx)
}

// Close ends the process, and says what it printed.
func (b *Bench) Close() []Finding {
	defer b.release()
	return b.process.finish()
}

func (b *Bench) release() {
	if b.ours != nil {
		b.ours.close()
	}
	b.process.release()
}

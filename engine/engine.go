package engine

import (
	"fmt"

	"lathe/engine/kvcache"
	"lathe/engine/native"
)

// Options size an Engine. The zero of a field with a default takes it.
type Options struct {
	Sequences    int // most sequences of a Begin, the batch size
	Context      int // most tokens of a sequence, prompt and generated
	ChunkRows    int // most rows of one submit; a longer prefill is cut [512]
	PageSize     int // tokens a page [64]
	Logits       int // most rows of a submit whose logits are wanted [Sequences]
	KV           native.DType
	Threads      int    // 0: the backend's choice
	ISA          string // "": the best path that runs
	Device       int    // -1: the default
	Graphs       bool
	GraphMaxRows int
	Overrides    []native.Override // operators that are replaced, each once
}

// Defaults of Options.
const (
	DefaultPageSize  = 64
	DefaultChunkRows = 512
)

func (o Options) withDefaults() Options {
	if o.PageSize == 0 {
		o.PageSize = DefaultPageSize
	}
	if o.ChunkRows == 0 {
		o.ChunkRows = DefaultChunkRows
	}
	o.ChunkRows = max(o.ChunkRows, o.Sequences)
	if longest := o.Sequences * o.Context; o.Context > 0 && o.ChunkRows > longest && longest > 0 {
		o.ChunkRows = max(longest, o.Sequences)
	}
	if o.Logits == 0 {
		o.Logits = o.Sequences
	}
	return o
}

// Pages is how many KV pages the options ask for.
func (o Options) Pages() int {
	o = o.withDefaults()
	return o.Sequences * ((o.Context + o.PageSize - 1) / o.PageSize)
}

// Memory is what an Engine holds, in bytes.
type Memory struct {
	Weights   uint64 // of the model, shared with its other engines; row-major copies for overrides included
	KV        uint64
	Workspace uint64
}

// Engine runs one fixed batch of sequences: Begin, Prefill, Wait, then Decode and
// Wait for every further token. It is used from one goroutine at a time.
type Engine struct {
	model   *Model
	opts    Options
	session *native.Session
	memory  native.SessionMemory
	pool    *kvcache.Pool

	prompts   [][]int32 // of the last Begin
	submitted []int     // rows of the prompt that were submitted, a sequence
	next      []int32   // token that the next decode row takes, a sequence
	first     []int32   // what the prefill chose, a sequence; empty until it was waited for
	table     []int32   // [sequences][stride] page table
	stride    int

	batch   native.Batch
	owner   []int32         // sequence of each wanted row
	chosen  []int32         // tokens of the wanted rows
	pending bool            // submitted and not waited for
	ready   bool            // every prompt is in the cache
	info    native.StepInfo // of the last submit
	step    stepInfo
}

// NewEngine opens a session for the options. What does not fit is an error that
// matches native.ErrMemory; what the machine cannot do, native.ErrUnsupported.
func (m *Model) NewEngine(o Options) (*Engine, error) {
	if o.Sequences < 1 || o.Context < 1 {
		return nil, fmt.Errorf("open engine: %d sequences of %d tokens: both must be at least 1", o.Sequences, o.Context)
	}
	if o.Context > m.Config.MaxPosition {
		return nil, fmt.Errorf("open engine: %d tokens a sequence: the model has %d positions", o.Context, m.Config.MaxPosition)
	}
	o = o.withDefaults()
	op := fmt.Sprintf("open engine for %d sequences of %d tokens", o.Sequences, o.Context)
	s, err := m.native.NewSession(native.SessionOptions{Threads: o.Threads, PageSize: o.PageSize, Pages: o.Pages(),
		MaxRows: o.ChunkRows, MaxSequences: o.Sequences, MaxLogits: o.Logits, KV: o.KV, Deterministic: true,
		Graphs: o.Graphs, GraphMaxRows: o.GraphMaxRows, Device: o.Device, ISA: o.ISA, Overrides: o.Overrides})
	if err != nil {
		return nil, native.Under(op, err)
	}
	m.noteSession(o)
	e := &Engine{model: m, opts: o, session: s, pool: kvcache.New(o.Pages(), o.PageSize),
		step: newStepInfo()}
	if err := e.prepare(); err != nil {
		s.Close()
		return nil, native.Under(op, err)
	}
	return e, nil
}

// prepare makes every slice that a step fills, so that a step allocates nothing.
func (e *Engine) prepare() error {
	o := e.opts
	e.stride = e.pool.PagesFor(o.Context)
	e.table = make([]int32, o.Sequences*e.stride)
	e.submitted, e.next = make([]int, 0, o.Sequences), make([]int32, 0, o.Sequences)
	e.first = make([]int32, 0, o.Sequences)
	e.owner, e.chosen = make([]int32, 0, o.Logits), make([]int32, o.Logits)
	e.batch = native.Batch{Tokens: make([]int32, 0, o.ChunkRows), Sequences: make([]int32, 0, o.ChunkRows),
		Positions: make([]int32, 0, o.ChunkRows), Want: make([]int32, 0, o.Logits), PageTable: e.table, PageStride: e.stride}
	var err error
	if e.memory, err = e.session.Memory(); err != nil {
		return err
	}
	return e.pool.Reserve(o.Sequences, e.stride)
}

// Begin drops every sequence and starts new ones from an empty cache, one a
// prompt, with pages for the prompt and maxNew further tokens each. The prompts
// are read until the next Begin and not written.
func (e *Engine) Begin(prompts [][]int32, maxNew int) error {
	if e.pending {
		if err := e.Wait(); err != nil {
			return err
		}
	}
	if len(prompts) < 1 || len(prompts) > e.opts.Sequences {
		return fmt.Errorf("begin: %d prompts: the engine was opened for 1 to %d", len(prompts), e.opts.Sequences)
	}
	for i, p := range prompts {
		if len(p) < 1 || maxNew < 0 || len(p)+maxNew > e.opts.Context {
			return fmt.Errorf("begin: prompt %d has %d tokens and %d new ones: the engine was opened for 1 to %d in all",
				i, len(p), maxNew, e.opts.Context)
		}
	}
	e.pool.CloseAll()
	e.prompts, e.ready, e.first = prompts, false, e.first[:0]
	e.submitted, e.next = e.submitted[:len(prompts)], e.next[:len(prompts)]
	for i := range prompts {
		e.submitted[i], e.next[i] = 0, 0
		if err := e.pool.Open(i); err != nil {
			return err
		}
	}
	e.batch.NumSequences = len(prompts)
	return nil
}

// Prefill submits the prompts whole, in chunks of at most ChunkRows rows; the last
// chunk is left for Wait. The last row of each prompt is wanted.
func (e *Engine) Prefill() error {
	if len(e.prompts) == 0 || e.ready {
		return fmt.Errorf("prefill: no new prompts: Begin first")
	}
	e.step.start()
	e.clearRows()
	for s, prompt := range e.prompts {
		if err := e.extend(s, len(prompt)); err != nil {
			return err
		}
		for i := range prompt {
			if len(e.batch.Tokens) == e.opts.ChunkRows || len(e.batch.Want) == e.opts.Logits {
				if err := e.flush(); err != nil {
					return err
				}
			}
			e.row(s, prompt[i], i, i == len(prompt)-1)
		}
	}
	if err := e.submit(); err != nil {
		return err
	}
	e.ready = true
	return nil
}

// flush submits what is filled and waits for it, so that a further chunk fits.
func (e *Engine) flush() error {
	if err := e.submit(); err != nil {
		return err
	}
	if err := e.Wait(); err != nil {
		return err
	}
	e.clearRows()
	return nil
}

// Decode submits one row a sequence: the token that the last step chose, at the
// next position. A last step that nobody waited for is waited for first: its
// token is wanted, and no backend queues steps (token -1 of backend.h) yet.
func (e *Engine) Decode() error {
	if !e.ready {
		return fmt.Errorf("decode: the prompts are not in the cache yet: Prefill first")
	}
	if e.pending {
		if err := e.Wait(); err != nil {
			return err
		}
	}
	e.step.start()
	e.clearRows()
	for s := range e.prompts {
		if err := e.extend(s, 1); err != nil {
			return err
		}
		e.row(s, e.next[s], e.pool.Tokens(s)-1, true)
	}
	return e.submit()
}

func (e *Engine) clearRows() {
	b := &e.batch
	b.Tokens, b.Sequences, b.Positions, b.Want = b.Tokens[:0], b.Sequences[:0], b.Positions[:0], b.Want[:0]
	e.owner = e.owner[:0]
}

func (e *Engine) row(seq int, token int32, position int, want bool) {
	b := &e.batch
	if want {
		b.Want = append(b.Want, int32(len(b.Tokens)))
		e.owner = append(e.owner, int32(seq))
	}
	b.Tokens = append(b.Tokens, token)
	b.Sequences = append(b.Sequences, int32(seq))
	b.Positions = append(b.Positions, int32(position))
}

// extend takes pages for further tokens of a sequence and notes them in the table.
func (e *Engine) extend(seq, tokens int) error {
	held := len(e.pool.Table(seq))
	if err := e.pool.Extend(seq, tokens); err != nil {
		return err
	}
	if len(e.pool.Table(seq)) == held {
		return nil
	}
	return e.pool.Fill(seq, e.table, e.stride, seq)
}

func (e *Engine) submit() error {
	if err := e.session.Submit(&e.batch); err != nil {
		return err
	}
	e.pending = true
	for i, s := range e.batch.Sequences {
		if int(e.batch.Positions[i]) < len(e.prompts[s]) {
			e.submitted[s]++
		}
	}
	return nil
}

// Wait returns when everything submitted is finished, with its errors: a NaN or
// an infinite logit is one that matches native.ErrNonFinite.
func (e *Engine) Wait() error {
	if !e.pending {
		return e.session.Wait(nil, nil)
	}
	e.pending = false
	n := len(e.owner)
	if err := e.session.Wait(e.chosen[:n], &e.info); err != nil {
		return err
	}
	e.step.add(&e.info)
	for i, s := range e.owner {
		e.next[s] = e.chosen[i]
	}
	if e.ready && len(e.first) == 0 && e.pool.Tokens(0) == len(e.prompts[0]) {
		e.first = append(e.first, e.next...)
	}
	return nil
}

// Tokens are what the last step chose, one a sequence; valid until the next Wait.
func (e *Engine) Tokens() []int32 { return e.next }

// Force makes the next Decode take these tokens, one a sequence, instead of those
// that the last step chose: teacher forcing.
func (e *Engine) Force(tokens []int32) { copy(e.next, tokens) }

// DeviceNS is the device's own time of the last step in ns, the sum over its chunks;
// -1 where the device has no clock, and before the first step.
func (e *Engine) DeviceNS() int64 { return e.step.deviceNS }

// Graph says how the last step ran: "none", "eager" or "captured", which a prefill
// in several chunks is only if all of them were.
func (e *Engine) Graph() string { return e.step.graph.String() }

// Cached is how many prompt tokens were taken from a cache since Begin: those of
// which no row was submitted although the prompts are in the cache. There is no
// prefix cache, so anything but 0 is a fault.
func (e *Engine) Cached() int {
	cached := 0
	for i, p := range e.prompts {
		if e.ready {
			cached += len(p) - e.submitted[i]
		}
	}
	return cached
}

// Memory is what the engine holds now.
func (e *Engine) Memory() Memory {
	weights, err := e.model.native.WeightBytes()
	if err != nil { // the model was closed: what it had when it was loaded
		weights = e.model.weights
	}
	return Memory{Weights: weights, KV: e.memory.KVBytes, Workspace: e.memory.WorkspaceBytes}
}

// Path is the numeric path in effect, such as "avx512bf16".
func (e *Engine) Path() string { return e.memory.Path }

// Threads is the number of threads in effect.
func (e *Engine) Threads() int { return e.memory.Threads }

// Close frees the session.
func (e *Engine) Close() { e.session.Close() }

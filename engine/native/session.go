//go:build cgo

package native

// #include <stdlib.h>
// #include <string.h>
// #include "table.h"
//
// #cgo noescape lathe_go_submit
// #cgo nocallback lathe_go_submit
// #cgo noescape lathe_go_wait
// #cgo nocallback lathe_go_wait
import "C"

import (
	"unsafe"
)

// Session is a KV pool, a workspace and what runs a step. It is used from one
// goroutine at a time.
type Session struct {
	model  *Model
	table  *C.lathe_backend
	handle *C.lathe_session
	rows   int // of the last submit that kept its residual stream
	info   C.lathe_step_info
	msg    [errCap]byte
}

// NewSession opens a session. The model must be ready.
func (m *Model) NewSession(o SessionOptions) (*Session, error) {
	const op = "open session"
	c, err := cSessionOptions(op, o)
	if err != nil {
		return nil, err
	}
	overrides, free := cOverrides(o.Overrides)
	defer free()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing {
		return nil, &Error{Code: StatusState, Op: op, Message: "the model is closed"}
	}
	s := &Session{model: m, table: m.backend.table}
	s.info.struct_size = C.sizeof_lathe_step_info
	rc := C.lathe_go_session_open(s.table, m.handle, &c, overrides, C.int32_t(len(o.Overrides)), &s.handle,
		s.text(), errCap)
	if err := failure(rc, op, s.msg[:]); err != nil {
		return nil, err
	}
	m.sessions++
	return s, nil
}

func cSessionOptions(op string, o SessionOptions) (C.lathe_session_options, error) {
	c := C.lathe_session_options{struct_size: C.sizeof_lathe_session_options, kv_dtype: C.int32_t(o.KV),
		deterministic: flag(o.Deterministic), graphs: flag(o.Graphs)}
	for _, f := range []struct {
		name  string
		value int
		to    *C.int32_t
	}{
		{"threads", o.Threads, &c.threads}, {"page_size", o.PageSize, &c.page_size}, {"pages", o.Pages, &c.pages},
		{"max_rows", o.MaxRows, &c.max_rows}, {"max_sequences", o.MaxSequences, &c.max_sequences},
		{"max_logits", o.MaxLogits, &c.max_logits}, {"graph_max_rows", o.GraphMaxRows, &c.graph_max_rows},
		{"device", o.Device, &c.device},
	} {
		var err error
		if *f.to, err = toInt32(op, f.name, f.value); err != nil {
			return c, err
		}
	}
	if len(o.ISA) >= len(c.isa) {
		return c, invalid(op, "isa %q is longer than %d characters", o.ISA, len(c.isa)-1)
	}
	for i := range len(o.ISA) {
		c.isa[i] = C.char(o.ISA[i])
	}
	return c, nil
}

// cOverrides copies overrides into C memory, which may hold pointers.
func cOverrides(list []Override) (*C.lathe_override, func()) {
	if len(list) == 0 {
		return nil, func() {}
	}
	var owned []unsafe.Pointer
	keep := func(p unsafe.Pointer) unsafe.Pointer {
		owned = append(owned, p)
		return p
	}
	array := keep(C.calloc(C.size_t(len(list)), C.sizeof_lathe_override))
	for i, o := range list {
		c := &unsafe.Slice((*C.lathe_override)(array), len(list))[i]
		c.struct_size = C.sizeof_lathe_override
		c.kind = C.int32_t(o.Kind)
		c.op = (*C.char)(keep(unsafe.Pointer(C.CString(o.Op))))
		*(*uintptr)(unsafe.Pointer(&c.function)) = o.Function
		*(*uintptr)(unsafe.Pointer(&c.workspace)) = o.Workspace
		*(*uintptr)(unsafe.Pointer(&c.supports)) = o.Supports
		if len(o.Image) > 0 {
			c.image = keep(C.CBytes(o.Image))
			c.image_bytes = C.uint64_t(len(o.Image))
		}
		if o.LaunchJSON != "" {
			c.launch_json = (*C.char)(keep(unsafe.Pointer(C.CString(o.LaunchJSON))))
		}
	}
	return (*C.lathe_override)(array), func() {
		for _, p := range owned {
			C.free(p)
		}
	}
}

// Memory says what the session holds and which numeric path it runs.
func (s *Session) Memory() (SessionMemory, error) {
	const op = "session memory"
	if s.handle == nil {
		return SessionMemory{}, s.closed(op)
	}
	c := C.lathe_session_memory{struct_size: C.sizeof_lathe_session_memory}
	rc := C.lathe_go_session_memory(s.table, s.handle, &c, s.text(), errCap)
	if err := failure(rc, op, s.msg[:]); err != nil {
		return SessionMemory{}, err
	}
	return SessionMemory{Threads: int(c.threads), KVBytes: uint64(c.kv_bytes), PageBytes: uint64(c.page_bytes),
		WorkspaceBytes: uint64(c.workspace_bytes), Path: C.GoString(&c.path[0])}, nil
}

// Close frees the session. Closing twice is harmless.
func (s *Session) Close() {
	if s.handle == nil {
		return
	}
	C.lathe_go_session_close(s.table, s.handle)
	s.handle = nil
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	s.model.sessions--
	s.model.freeIfUnused()
}

// Submit enqueues one step: one crossing, no allocation. Its work may be finished
// when it returns or later; Wait tells.
func (s *Session) Submit(b *Batch) error {
	const op = "submit"
	if s.handle == nil {
		return s.closed(op)
	}
	rows, table := len(b.Tokens), int64(b.NumSequences)*int64(b.PageStride)
	if len(b.Sequences) != rows || len(b.Positions) != rows {
		return invalid(op, "%d tokens, %d sequences and %d positions", rows, len(b.Sequences), len(b.Positions))
	}
	if !fitsInt32(rows) || !fitsInt32(len(b.Want)) || !fitsInt32(b.NumSequences) || !fitsInt32(b.PageStride) {
		return invalid(op, "%d rows, %d sequences, page stride %d: not 32-bit numbers", rows, b.NumSequences, b.PageStride)
	}
	if table > int64(len(b.PageTable)) {
		return invalid(op, "page table has %d entries, %d sequences of stride %d need %d", len(b.PageTable),
			b.NumSequences, b.PageStride, table)
	}
	rc := C.lathe_go_submit(s.table, s.handle, C.int32_t(rows), ints(b.Tokens), ints(b.Sequences),
		ints(b.Positions), C.int32_t(b.NumSequences), ints(b.PageTable), C.int32_t(b.PageStride),
		C.int32_t(len(b.Want)), ints(b.Want), C.uint32_t(b.Flags), s.text(), errCap)
	if rc != C.LATHE_OK {
		return failure(rc, op, s.msg[:])
	}
	if b.Flags&KeepResidual != 0 {
		s.rows = rows
	}
	return nil
}

// Wait returns when everything submitted is finished: one crossing, no allocation.
// It writes the greedy token of each wanted row of the last step to tokens, which
// must have room for them; nil only drains. info may be nil. Without a submit since
// the last Wait it returns at once.
func (s *Session) Wait(tokens []int32, info *StepInfo) error {
	const op = "wait"
	if s.handle == nil {
		return s.closed(op)
	}
	if !fitsInt32(len(tokens)) {
		return invalid(op, "room for %d tokens is not a 32-bit number", len(tokens))
	}
	rc := C.lathe_go_wait(s.table, s.handle, ints(tokens), C.int32_t(len(tokens)), &s.info, s.text(), errCap)
	if rc != C.LATHE_OK {
		return failure(rc, op, s.msg[:])
	}
	if info != nil {
		info.DeviceNS = int64(s.info.device_ns)
		info.Graph = GraphMode(s.info.graph)
		for i := range info.OpNS {
			info.OpNS[i] = int64(s.info.op_ns[i])
		}
	}
	return nil
}

// Logits writes the raw logits of wanted rows first .. first+n-1 of the last step
// to out, float32 [n, vocab]. After Wait.
func (s *Session) Logits(first, n int, out []float32) error {
	const op = "logits"
	if s.handle == nil {
		return s.closed(op)
	}
	f, err := toInt32(op, "first", first)
	if err != nil {
		return err
	}
	c, err := toInt32(op, "n", n)
	if err != nil {
		return err
	}
	if n > 0 && len(out)/n < s.model.desc.Vocab {
		return invalid(op, "room for %d values, %d rows of %d need more", len(out), n, s.model.desc.Vocab)
	}
	rc := C.lathe_go_logits(s.table, s.handle, f, c, (*C.float)(unsafe.SliceData(out)), s.text(), errCap)
	return failure(rc, op, s.msg[:])
}

// Residual writes one stage of the residual stream of the last step that had
// KeepResidual, float32 [rows, hidden]: 0 the embedding, 1 .. layers after each
// layer, layers+1 the final norm's output. After Wait.
func (s *Session) Residual(stage int, out []float32) error {
	const op = "residual"
	if s.handle == nil {
		return s.closed(op)
	}
	c, err := toInt32(op, "stage", stage)
	if err != nil {
		return err
	}
	if need := s.rows * s.model.desc.Hidden; len(out) < need {
		return invalid(op, "room for %d values, %d rows of %d need %d", len(out), s.rows, s.model.desc.Hidden, need)
	}
	rc := C.lathe_go_residual(s.table, s.handle, c, (*C.float)(unsafe.SliceData(out)), s.text(), errCap)
	return failure(rc, op, s.msg[:])
}

// CopyPages copies whole pages (all layers, K and V): within the pool from[i] to
// to[i], out of it (from) to host, or from host into it (to). Host pages are
// packed, opaque, PageBytes each; the list of the host's side is ignored.
func (s *Session) CopyPages(direction PageDirection, from, to []int32, host []byte) error {
	const op = "copy pages"
	if s.handle == nil {
		return s.closed(op)
	}
	n := len(from)
	if direction == PagesIn {
		n = len(to)
	}
	if direction == PagesWithin && len(to) != n {
		return invalid(op, "%d pages to %d pages", n, len(to))
	}
	c, err := toInt32(op, "pages", n)
	if err != nil {
		return err
	}
	rc := C.lathe_go_copy_pages(s.table, s.handle, C.int32_t(direction), c, ints(from), ints(to),
		unsafe.Pointer(unsafe.SliceData(host)), C.uint64_t(len(host)), s.text(), errCap)
	return failure(rc, op, s.msg[:])
}

// RunOperator runs one operator alone, once untimed and then len(ns) times, and writes
// the nanoseconds of each call to ns; see op_run in backend.h. args is the address of
// its arguments in native memory, and so is everything that they point to; function 0
// is the backend's own operator.
func (s *Session) RunOperator(op string, args, function uintptr, cache CacheState, ns []int64) error {
	where := "run operator " + op
	if s.handle == nil {
		return s.closed(where)
	}
	n, err := toInt32(where, "repetitions", len(ns))
	if err != nil {
		return err
	}
	name := C.CString(op)
	defer C.free(unsafe.Pointer(name))
	rc := C.lathe_go_op_run(s.table, s.handle, name, C.uintptr_t(args), C.uintptr_t(function), C.int32_t(cache), n,
		(*C.int64_t)(unsafe.SliceData(ns)), s.text(), errCap)
	return failure(rc, where, s.msg[:])
}

func (s *Session) text() *C.char { return (*C.char)(unsafe.Pointer(&s.msg[0])) }

func (s *Session) closed(op string) error {
	return &Error{Code: StatusState, Op: op, Message: "the session is closed"}
}

func ints(s []int32) *C.int32_t { return (*C.int32_t)(unsafe.Pointer(unsafe.SliceData(s))) }

func fitsInt32(n int) bool { return int64(n) == int64(int32(n)) }

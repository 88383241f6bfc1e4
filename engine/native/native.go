// Package native owns the border between Go and native code: the C ABI of a
// backend (backend.h), the operators a user's kernel is written against
// (operator.h), the backends built into the binary (the CPU's fast path and the
// plain reference), and the loader for backends that are shared libraries.
//
// It refuses to know what a model file, a prompt or a measurement is: it reads no
// files but the plug-in it is told to open, takes no times, keeps no page tables
// and decides nothing about what runs when. It links no GPU library. Without cgo
// every constructor returns [ErrNoCgo] and the rest of the program still builds.
package native

// Role says which tensor of the Llama family; the numbers are lathe_role's.
// Matrices are row-major [out, in], vectors have one row.
type Role int32

// The roles of backend.h, which gives their shapes.
const (
	RoleEmbed Role = iota
	RoleNormAttn
	RoleQ
	RoleK
	RoleV
	RoleO
	RoleNormFFN
	RoleGate
	RoleUp
	RoleDown
	RoleNormFinal
	RoleHead
	RoleQBias
	RoleKBias
	RoleVBias
	RoleOBias
	RoleGateBias
	RoleUpBias
	RoleDownBias
	Roles // how many there are
)

// DType is an element type; the numbers are lathe_dtype's.
type DType int32

// The element types that weights may have; KV pages are F32 or BF16.
const (
	F32  DType = 0
	F16  DType = 1
	BF16 DType = 2
)

// Bytes is the size of one element, 0 for an unknown type.
func (d DType) Bytes() int {
	switch d {
	case F32:
		return 4
	case F16, BF16:
		return 2
	}
	return 0
}

// String is the name used in flags and reports: "f32", "f16", "bf16".
func (d DType) String() string {
	switch d {
	case F32:
		return "f32"
	case F16:
		return "f16"
	case BF16:
		return "bf16"
	}
	return "unknown"
}

// ModelDesc is the shape of a model; see lathe_model_desc. InvFreq has HeadDim/2
// values with every rope_scaling applied. RopeScale multiplies cos and sin and is
// 1 for the Llama family (0 is read as 1).
type ModelDesc struct {
	Vocab, Hidden, Layers, QHeads, KVHeads, HeadDim, FFN int
	Tied, AttentionBias, MLPBias                         bool
	MaxPosition                                          int
	RMSEps, RopeScale                                    float32
	InvFreq                                              []float32
}

// SessionOptions are a session's limits; see lathe_session_options. Threads 0 is
// the backend's choice, Device -1 the default one (0 is the first), ISA "" the
// best path that runs.
type SessionOptions struct {
	Threads       int
	PageSize      int // tokens a page: 1, 2, 4, ... 256
	Pages         int // pages of the pool, indices 0 .. Pages-1
	MaxRows       int // most rows of one submit
	MaxSequences  int // most sequences of one submit
	MaxLogits     int // most rows of one submit that want logits
	KV            DType
	Deterministic bool // a row's bits must not depend on its batch
	Graphs        bool // capture where the backend can
	GraphMaxRows  int  // 0: no limit
	Device        int
	ISA           string
	Overrides     []Override
}

// OverrideKind says what replaces an operator.
type OverrideKind int32

// The values of LATHE_OVERRIDE_*.
const (
	OverrideBuiltin  OverrideKind = 0 // our own operator in the unfused slot
	OverrideFunction OverrideKind = 1 // a function of an opened shared library
	OverrideImage    OverrideKind = 2 // a cubin or PTX; CUDA only
)

// Override replaces one operator of a session; see lathe_override and operator.h.
// Function, Workspace and Supports are C function addresses.
type Override struct {
	Kind                          OverrideKind
	Op                            string
	Function, Workspace, Supports uintptr
	Image                         []byte
	LaunchJSON                    string
}

// SessionMemory is what a session holds.
type SessionMemory struct {
	Threads        int    // in effect
	KVBytes        uint64 // the whole pool
	PageBytes      uint64 // one page, all layers, K and V
	WorkspaceBytes uint64
	Path           string // numeric path in effect
}

// Flags of a submit.
const (
	KeepResidual  uint32 = 1 // keep the residual stream of every stage
	TimeOperators uint32 = 2 // instrumented pass: fills OpNS; never a judged time
)

// Batch is one step's rows; see submit in backend.h. Row r is token Tokens[r] (-1:
// what the last step chose for that sequence) of sequence Sequences[r] at position
// Positions[r]. Page p of sequence s is PageTable[s*PageStride+p]. Want lists,
// ascending, the rows whose logits and next token are wanted.
type Batch struct {
	Tokens, Sequences, Positions []int32
	PageTable                    []int32
	PageStride, NumSequences     int
	Want                         []int32
	Flags                        uint32
}

// GraphMode is how a step ran.
type GraphMode int32

// The values of LATHE_GRAPH_*.
const (
	GraphNone     GraphMode = 0 // the backend has no graphs
	GraphEager    GraphMode = 1
	GraphCaptured GraphMode = 2
)

// String is "none", "eager" or "captured".
func (g GraphMode) String() string {
	switch g {
	case GraphNone:
		return "none"
	case GraphEager:
		return "eager"
	case GraphCaptured:
		return "captured"
	}
	return "unknown"
}

// StepInfo is what a backend says about the step that was waited for. Times are
// nanoseconds, -1 where the backend has no clock of its own or did not measure.
// OpNS is indexed by the operator numbers of operator.h.
type StepInfo struct {
	DeviceNS int64
	Graph    GraphMode
	OpNS     [16]int64
}

// CacheState is what an operator that runs alone finds in the caches.
type CacheState int32

// The values of LATHE_CACHE_*; backend.h says what each means.
const (
	CacheCold   CacheState = 0
	CacheWarm   CacheState = 1
	CacheStream CacheState = 2
)

// PageDirection says between what pages are copied.
type PageDirection int32

// The values of LATHE_PAGES_*.
const (
	PagesWithin PageDirection = 0 // pool to pool
	PagesOut    PageDirection = 1 // pool to host
	PagesIn     PageDirection = 2 // host to pool
)

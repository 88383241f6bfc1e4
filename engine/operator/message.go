package operator

// What the checker asks of the process that calls the operator, and what that answers: JSON, one
// object a line.

// The requests.
const (
	askOpen      = "open"      // the library and the operator
	askTouch     = "touch"     // what of the arena may be touched; the rest is guarded
	askSupports  = "supports"  // does it take these arguments
	askWorkspace = "workspace" // how many bytes does it want for them
	askCall      = "call"
	askReserve   = "reserve" // memory of the process's own, for copies
	askStore     = "store"   // bytes of the arena into it, a number of times
	askWalk      = "walk"    // read it once
	askTime      = "time"    // calls, one after the other
)

type request struct {
	Ask       string   `json:"ask"`
	File      string   `json:"file,omitempty"`
	Op        string   `json:"op,omitempty"`
	ISA       string   `json:"isa,omitempty"`   // of our own operator
	Touch     [][2]int `json:"touch,omitempty"` // from, bytes
	Args      int      `json:"args,omitempty"`
	Workspace [2]int   `json:"workspace,omitempty"`
	Parts     int      `json:"parts,omitempty"`
	Reverse   bool     `json:"reverse,omitempty"`
	Copies    [][3]int `json:"copies,omitempty"` // from, to, bytes

	Bytes  int   `json:"bytes,omitempty"`
	From   int   `json:"from,omitempty"`
	To     int   `json:"to,omitempty"`
	Count  int   `json:"count,omitempty"`
	Stride int   `json:"stride,omitempty"` // from one copy to the next
	Marks  []int `json:"marks,omitempty"`  // bytes of a copy that get its number, as a bfloat16 near 1
	Ours   bool  `json:"ours,omitempty"`   // our own operator instead of the library's
	Calls  []int `json:"calls,omitempty"`  // places of arguments in the process's own memory
	Batch  int   `json:"batch,omitempty"`  // calls a sample
}

type answer struct {
	Error string  `json:"error,omitempty"`
	Value int64   `json:"value"`
	Base  uint64  `json:"base,omitempty"` // to open: the arena's address; to reserve: the memory's
	NS    []int64 `json:"ns,omitempty"`   // to time: each sample
}

// The files that the process inherits beside its standard ones, in the order of exec.Cmd.ExtraFiles.
const (
	fdAnswers  = 3
	fdRequests = 4
	fdArena    = 5
)

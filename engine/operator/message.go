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
)

type request struct {
	Ask       string   `json:"ask"`
	File      string   `json:"file,omitempty"`
	Op        string   `json:"op,omitempty"`
	Touch     [][2]int `json:"touch,omitempty"` // from, bytes
	Args      int      `json:"args,omitempty"`
	Workspace [2]int   `json:"workspace,omitempty"`
	Parts     int      `json:"parts,omitempty"`
	Reverse   bool     `json:"reverse,omitempty"`
	Copies    [][3]int `json:"copies,omitempty"` // from, to, bytes
}

type answer struct {
	Error string `json:"error,omitempty"`
	Value int64  `json:"value"`
	Base  uint64 `json:"base,omitempty"` // to open: the arena's address
}

// The files that the process inherits beside its standard ones, in the order of exec.Cmd.ExtraFiles.
const (
	fdAnswers  = 3
	fdRequests = 4
	fdArena    = 5
)

//go:build unix

package operator

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"lathe/engine/native"
)

// Serve is the whole life of the process that calls a user's operator: it opens the library it is told
// to, and answers until the requests end. It never returns while a call hangs; when the checker is
// gone the process ends, whatever the operator does.
func Serve() error {
	runtime.LockOSThread()
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("serve an operator: core files: %w", err)
	}
	memory, err := mapArena(os.NewFile(fdArena, "arena"))
	if err != nil {
		return fmt.Errorf("serve an operator: %w", err)
	}
	s := &server{memory: memory, page: os.Getpagesize(), threads: map[int]*native.OperatorThreads{}}
	native.WatchFaults(s.address(0))
	requests := make(chan request)
	go read(os.NewFile(fdRequests, "requests"), requests)
	answers := json.NewEncoder(os.NewFile(fdAnswers, "answers"))
	for r := range requests {
		a, err := s.answer(r)
		if err != nil {
			a.Error = err.Error()
		}
		native.FlushStreams()
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("serve an operator: answer: %w", err)
		}
	}
	return nil
}

// read passes requests on. At their end it ends the process, so that no call outlives the checker.
func read(from io.Reader, to chan<- request) {
	d := json.NewDecoder(from)
	for {
		var r request
		if err := d.Decode(&r); err != nil {
			native.FlushStreams()
			os.Exit(0)
		}
		to <- r
	}
}

// server holds one operator of one library.
type server struct {
	memory  []byte // the arena
	own     []byte // for timing
	page    int
	open    [][2]int
	op      native.Override
	ours    native.BuiltinOperator
	threads map[int]*native.OperatorThreads
}

func (s *server) address(at int) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(s.memory))) + uintptr(at)
}

func (s *server) answer(r request) (answer, error) {
	switch r.Ask {
	case askOpen:
		return s.load(r)
	case askTouch:
		return answer{}, s.touch(r.Touch)
	case askSupports:
		if s.op.Supports == 0 {
			return answer{Value: 1}, nil
		}
		if native.OperatorSupports(s.op.Supports, s.address(r.Args)) {
			return answer{Value: 1}, nil
		}
		return answer{}, nil
	case askWorkspace:
		if s.op.Workspace == 0 {
			return answer{}, nil
		}
		return answer{Value: int64(native.OperatorWorkspace(s.op.Workspace, s.address(r.Args)))}, nil
	case askCall:
		return s.call(r)
	case askReserve:
		return s.reserve(r)
	case askStore:
		return s.store(r)
	case askWalk:
		return s.walk(r)
	case askTime:
		return s.time(r)
	}
	return answer{}, fmt.Errorf("request %q: not known", r.Ask)
}

func (s *server) load(r request) (answer, error) {
	if r.File != "" {
		l, err := native.OpenLibrary(r.File)
		if err != nil {
			return answer{}, err
		}
		if s.op, err = l.Override(r.Op); err != nil {
			return answer{}, err
		}
	}
	if r.Op != "gemm" { // our own has a role
		var err error
		if s.ours, err = native.OpenBuiltin(r.Op, r.ISA); err != nil {
			return answer{}, err
		}
	}
	return answer{Base: uint64(s.address(0))}, s.guard(0, len(s.memory))
}

// guard makes bytes of the arena untouchable, but for its first page.
func (s *server) guard(from, to int) error {
	from = max(from, s.page)
	return unix.Mprotect(s.memory[from:to], unix.PROT_NONE)
}

func (s *server) touch(spans [][2]int) error {
	for _, o := range s.open {
		if err := s.guard(o[0], o[0]+o[1]); err != nil {
			return fmt.Errorf("guard the arena: %w", err)
		}
	}
	s.open = spans
	for _, o := range spans {
		if o[0] < s.page || o[0]%s.page != 0 || o[1] < 0 || o[0]+o[1] > len(s.memory) {
			return fmt.Errorf("open the arena: %d bytes from %d: not in it", o[1], o[0])
		}
		if err := unix.Mprotect(s.memory[o[0]:o[0]+o[1]], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return fmt.Errorf("open the arena: %w", err)
		}
	}
	return nil
}

func (s *server) call(r request) (answer, error) {
	threads, err := s.pool(r.Parts)
	if err != nil {
		return answer{}, err
	}
	c := native.OperatorCall{Function: s.op.Function, Args: s.address(r.Args), Flags: native.CtxDeterministic, Reverse: r.Reverse}
	if r.Workspace[1] > 0 {
		c.Workspace, c.WorkspaceBytes = s.address(r.Workspace[0]), uint64(r.Workspace[1])
	}
	for _, m := range r.Copies {
		c.Copies = append(c.Copies, native.OperatorCopy{From: s.address(m[0]), To: s.address(m[1]), Bytes: uint64(m[2])})
	}
	return answer{Value: int64(threads.Call(c))}, nil
}

// mapArena maps a file that two processes share.
func mapArena(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("map the arena: %w", err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the arena: %d bytes: %w", info.Size(), err)
	}
	return b, nil
}

//go:build unix

package operator

import (
	"unsafe"

	"lathe/engine/native"
)

// ourOperators are our own operators over an arena, in this process: no library of a user's is loaded
// here.
type ourOperators struct {
	arena   []byte
	isa     string
	threads *native.OperatorThreads
	open    map[string]native.BuiltinOperator
}

func newOurs(arena []byte, isa string) (*ourOperators, error) {
	t, err := native.OpenOperatorThreads(1)
	if err != nil {
		return nil, err
	}
	return &ourOperators{arena: arena, isa: isa, threads: t, open: map[string]native.BuiltinOperator{}}, nil
}

func (o *ourOperators) close() { o.threads.Close() }

// find is our own operator of a name with its role.
func (o *ourOperators) find(op string) (native.BuiltinOperator, error) {
	if b, ok := o.open[op]; ok {
		return b, nil
	}
	b, err := native.OpenBuiltin(op, o.isa)
	if err == nil {
		o.open[op] = b
	}
	return b, err
}

// base is the arena's address in this process.
func (o *ourOperators) base() uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(o.arena))))
}

func (o *ourOperators) address(at int) uintptr { return uintptr(o.base()) + uintptr(at) }

// workspace is how much our operator wants for arguments in the arena; ok is false where it does not run
// their element types.
func (o *ourOperators) workspace(op string, args int) (bytes int, ok bool, err error) {
	return o.workspaceFor(op, args, 1)
}

// workspaceFor is workspace on that many threads.
func (o *ourOperators) workspaceFor(op string, args, threads int) (bytes int, ok bool, err error) {
	b, err := o.find(op)
	if err != nil || !b.Supports(o.address(args)) {
		return 0, false, err
	}
	return int(b.Workspace(o.address(args), threads)), true, nil
}

// run calls our operator on arguments in the arena.
func (o *ourOperators) run(op string, args int, workspace span) (int32, error) {
	b, err := o.find(op)
	if err != nil {
		return 0, err
	}
	c := native.OperatorCall{Function: b.Function, Args: o.address(args), Flags: native.CtxDeterministic}
	if workspace.n > 0 {
		clear(o.arena[workspace.from:][:workspace.n])
		c.Workspace, c.WorkspaceBytes = o.address(workspace.from), uint64(workspace.n)
	}
	return o.threads.Call(c), nil
}

package native

// OperatorCopy is a copy between addresses of native memory.
type OperatorCopy struct {
	From, To uintptr
	Bytes    uint64
}

// OperatorCall is one call of a function of operator.h's shape. Args is the address of
// its arguments in native memory, and so is everything that they point to.
type OperatorCall struct {
	Function, Args, Workspace uintptr
	WorkspaceBytes            uint64
	Flags                     uint32         // LATHE_CTX_*
	Reverse                   bool           // one part after the other on this thread, the last first
	Copies                    []OperatorCopy // made as the operator returns
}

// CtxDeterministic is LATHE_CTX_DETERMINISTIC: a row's bits must not depend on its
// batch.
const CtxDeterministic uint32 = 4

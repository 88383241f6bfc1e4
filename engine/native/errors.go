package native

import (
	"errors"
	"fmt"
)

// Status is a lathe_status of backend.h.
type Status int32

// The values of lathe_status.
const (
	StatusOK          Status = 0
	StatusInvalid     Status = 1
	StatusUnsupported Status = 2
	StatusMemory      Status = 3
	StatusDevice      Status = 4
	StatusState       Status = 5
	StatusNonFinite   Status = 6
	StatusInternal    Status = 7
)

var statusNames = [...]string{"ok", "invalid argument", "unsupported", "out of memory", "device failure",
	"wrong order of calls", "not finite", "internal error"}

// String names the status in words.
func (s Status) String() string {
	if s >= 0 && int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status %d", int32(s))
}

// What callers branch on; match with errors.Is.
var (
	// ErrInvalid: an argument is wrong, the caller's fault.
	ErrInvalid = errors.New("invalid argument")
	// ErrUnsupported: sound, but this backend or machine cannot.
	ErrUnsupported = errors.New("unsupported")
	// ErrMemory: it does not fit; the message says how much was asked.
	ErrMemory = errors.New("out of memory")
	// ErrState: calls in the wrong order.
	ErrState = errors.New("wrong order of calls")
	// ErrNonFinite: a NaN or infinity reached the logits.
	ErrNonFinite = errors.New("not finite")
	// ErrNoCgo: this binary was built without cgo and holds no backend.
	ErrNoCgo = errors.New("this lathe was built without cgo and has no engine; report and model info work, " +
		"running a model needs a build with CGO_ENABLED=1 and a C++ compiler")
)

// Error is a refusal of a backend: which call, its code and the backend's own
// one-line message.
type Error struct {
	Code    Status
	Op      string
	Message string
}

// Error returns "op: message".
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Op + ": " + e.Code.String()
	}
	return e.Op + ": " + e.Message
}

// Under is a backend's err as that of another operation: what the caller attempted
// takes the place of the call's name, so that a text names one operation. What is no
// *Error is wrapped.
func Under(op string, err error) error {
	if e, ok := err.(*Error); ok {
		return &Error{Code: e.Code, Op: op, Message: e.Message}
	}
	return fmt.Errorf("%s: %w", op, err)
}

// Is lets errors.Is match the sentinels of this package by code.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrInvalid:
		return e.Code == StatusInvalid
	case ErrUnsupported:
		return e.Code == StatusUnsupported
	case ErrMemory:
		return e.Code == StatusMemory
	case ErrState:
		return e.Code == StatusState
	case ErrNonFinite:
		return e.Code == StatusNonFinite
	}
	return false
}

func invalid(op, format string, args ...any) error {
	return &Error{Code: StatusInvalid, Op: op, Message: fmt.Sprintf(format, args...)}
}

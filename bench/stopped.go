package bench

import "context"

// Stopped is why a cancelled context stopped something: its text is the context's
// cause (which signal, say), and it matches the context's own error as well.
func Stopped(ctx context.Context) error { return stopped{context.Cause(ctx), ctx.Err()} }

type stopped struct{ cause, err error }

func (s stopped) Error() string { return s.cause.Error() }

// Unwrap gives both.
func (s stopped) Unwrap() []error { return []error{s.cause, s.err} }

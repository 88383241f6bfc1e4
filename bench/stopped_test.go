package bench

import (
	"context"
	"errors"
	"testing"
)

func TestStopped(t *testing.T) {
	signal := errors.New("interrupted by SIGINT")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signal)
	err := Stopped(ctx)
	if err.Error() != "interrupted by SIGINT" || !errors.Is(err, signal) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	plain, stop := context.WithCancel(t.Context())
	stop()
	if err := Stopped(plain); err.Error() != context.Canceled.Error() || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

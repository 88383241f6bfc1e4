package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// ErrUnauthorised is a server that refuses the credentials: waiting does not
// help.
var ErrUnauthorised = errors.New("unauthorised")

// ErrCertificate is a server whose certificate does not hold: waiting does not
// help either.
var ErrCertificate = errors.New("its certificate does not hold")

// Readiness is how a server is waited for.
type Readiness struct {
	Within time.Duration // after that it is given up
	Every  time.Duration // pause between two tries
	// Try asks once, bounded by the context, and returns the status, or an error
	// where no answer came.
	Try func(ctx context.Context) (status int, err error)
	// Each bounds one try; 0: by Within alone.
	Each time.Duration
	// Waiting is told of the first try that found the server not ready; nil: nobody is.
	Waiting func(err error)
}

// sleeper waits, and says how late it is; a test scripts it.
type sleeper interface {
	now() time.Time
	sleep(ctx context.Context, d time.Duration) error
}

type realSleep struct{}

func (realSleep) now() time.Time { return time.Now() }

func (realSleep) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WaitReady tries until the server answers with 200. What a server that is
// starting does (refuse, 5xx, 404 while the model loads) is waited out; 401 and
// 403 end the wait with ErrUnauthorised, a bad certificate with ErrCertificate.
func WaitReady(ctx context.Context, r Readiness) error { return waitReady(ctx, r, realSleep{}) }

func waitReady(ctx context.Context, r Readiness, s sleeper) error {
	began := s.now()
	for tries := 1; ; tries++ {
		status, err := try(ctx, r)
		switch {
		case err == nil && status == 200:
			return nil
		case err == nil && (status == 401 || status == 403):
			return fmt.Errorf("wait for the server: status %d: %w", status, ErrUnauthorised)
		case ctx.Err() != nil:
			return fmt.Errorf("wait for the server: %w", context.Cause(ctx))
		case badCertificate(err):
			return fmt.Errorf("wait for the server: %w: %w", ErrCertificate, err)
		case err == nil:
			err = fmt.Errorf("status %d", status)
		}
		if s.now().Sub(began)+r.Every > r.Within {
			return fmt.Errorf("wait for the server: not ready within %v (%d tries): %w", r.Within, tries, err)
		}
		if tries == 1 && r.Waiting != nil {
			r.Waiting(err)
		}
		if err := s.sleep(ctx, r.Every); err != nil {
			return fmt.Errorf("wait for the server: %w", err)
		}
	}
}

func badCertificate(err error) bool {
	bad := (*tls.CertificateVerificationError)(nil)
	return errors.As(err, &bad)
}

func try(ctx context.Context, r Readiness) (int, error) {
	limit := r.Within
	if r.Each > 0 {
		limit = min(limit, r.Each)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return r.Try(ctx)
}

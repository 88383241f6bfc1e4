//go:build !unix

package operator

import (
	"context"
	"errors"
)

// errSystem is why nothing is checked here.
var errSystem = errors.New("a kernel is checked in a process of its own, which this system's build does not start")

// Ours names our own operator as what is timed.
const Ours = "builtin"

// Bench cannot be had here.
type Bench struct{}

// Check returns an error.
func Check(context.Context, Options) (Verdict, error) { return Verdict{}, errSystem }

// Prepare returns an error.
func Prepare(context.Context, Options) (*Bench, Verdict, error) { return nil, Verdict{}, errSystem }

// Serve returns an error.
func Serve() error { return errSystem }

// Call is 0.
func (b *Bench) Call() (all, streamed uint64) { return 0, 0 }

// Name is "".
func (b *Bench) Name() string { return "" }

// Bytes is 0.
func (b *Bench) Bytes(n int) uint64 { return 0 }

// Copies returns an error.
func (b *Bench) Copies(n int) error { return errSystem }

// Walk returns an error.
func (b *Bench) Walk(n int) error { return errSystem }

// Time returns an error.
func (b *Bench) Time(ours, streaming bool, copies []int, batch int) ([]int64, error) {
	return nil, errSystem
}

// Recheck returns an error.
func (b *Bench) Recheck(context.Context, Options) (Verdict, error) { return Verdict{}, errSystem }

// Close does nothing.
func (b *Bench) Close() []Finding { return nil }

package main

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// team is a few threads that do one thing at the same time, again and again.
type team struct {
	start []chan struct{}
	done  chan error
}

// newTeam starts n goroutines, each on a thread of its own, that do work(part) when told to.
func newTeam(n int, work func(part int) error) *team {
	t := &team{done: make(chan error, n)}
	for part := range n {
		start := make(chan struct{})
		t.start = append(t.start, start)
		go func() {
			runtime.LockOSThread()
			for range start {
				t.done <- work(part)
			}
		}()
	}
	return t
}

// round lets everyone work once and waits for all.
func (t *team) round() error {
	for _, start := range t.start {
		start <- struct{}{}
	}
	var failed error
	for range t.start {
		failed = errors.Join(failed, <-t.done)
	}
	return failed
}

// sample times n rounds, in nanoseconds each, after one that is not timed.
func (t *team) sample(ctx context.Context, n int) ([]int64, error) {
	if err := t.round(); err != nil {
		return nil, err
	}
	ns := make([]int64, 0, n)
	for range n {
		if err := ctx.Err(); err != nil {
			return ns, err
		}
		start := time.Now()
		if err := t.round(); err != nil {
			return ns, err
		}
		ns = append(ns, max(1, time.Since(start).Nanoseconds()))
	}
	return ns, nil
}

// close ends the threads.
func (t *team) close() {
	for _, start := range t.start {
		close(start)
	}
}

// Package engine turns a model directory or a preset into steps: it loads weights
// into a native backend, keeps the page tables of a fixed batch, and submits
// prefill and decode steps that the caller times.
//
// It owns the order of a step: pages for the next positions, the int32 columns of
// the batch filled in place, one crossing, and one crossing to wait. It refuses to
// time anything, to read a tokenizer, to schedule requests, and to reuse a prefix:
// every Begin starts from an empty cache, and Cached says so.
package engine

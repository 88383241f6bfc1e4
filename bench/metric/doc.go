// Package metric owns the arithmetic from raw records to figures: pure
// functions over a bench.File, so that any figure can be computed again from
// the file, on another machine, to the last digit.
//
// It refuses to divide a latency by a batch size (throughputs are multiplied
// instead), to answer with a number where the samples define none (nil), and to
// name anything just "throughput": input, output and total tokens per second
// are three figures.
//
// # What is summarised
//
// Steps marked warmup, and steps of a variant (compare reads those), are left
// out. The prefill of a point is the median of its repetitions; the decode step
// is numpy's median over all of its decode steps. A decode pass grows its
// context by a token a step, so that the median belongs to the context in the
// middle: the slope per token of context stands beside it.
//
// The total is SGLang's: prefill latency plus the sum of the decode steps of
// one pass, the last whole one. The time between steps is not in it; Wall is
// the same pass from its first clock read to its last.
//
// # Doubts
//
// What the records give reason to doubt is computed here too, not at the capture,
// so that a better rule reaches old files: a first call slower than the steady
// ones, a sample far out, steps that ran in different ways, steps that are short
// against what the harness itself costs. A point's own warnings hold what its
// records do not tell.
//
// # Tails
//
// A percentile is given only where the samples reach into its tail: p and n
// with n*min(p, 100-p) >= 100, so that one sample or more lies beyond it on
// average. p99 needs 100 samples; of 30 it would be a name for the maximum,
// which is given as such.
package metric

// Package compare owns the verdict: did B get faster than A? It says how two
// variants are interleaved ([Plan], [Run]), what a finished recording shows
// ([Judge], [Recordings]), and how many epochs a change of a given size needs
// ([Power]).
//
// # The unit
//
// A step is not a sample. Steps of one session share clocks, heat, page
// placement and allocation order, so a thousand of them say much about this
// session and little about the kernel. The unit is the epoch, a fresh session of
// both variants. Within it lie blocks of four slots, A B B A or B A A B, so that
// a linear drift cancels within each block; a slot is one variant's run of steps
// at the same context lengths. A slot's value is the median of its steps, a
// block's the mean log ratio of its slots, an epoch's the median of its blocks,
// and the change is the mean of the epochs with Student's t interval.
//
// # The answer
//
// Five answers: faster, slower, no difference that matters, inconclusive,
// invalid. Each validity check can only move an answer towards the last two.
// docs/method.md tells the method, what it was tested with, and its limits.
//
// Every figure of a [Result] is a function of the raw file. The package refuses
// to open backends, to know a model's shape (floors are given with the plan), to
// store calibrations and to print.
package compare

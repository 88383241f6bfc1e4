// Package serving owns the readings of a capture of requests: what vLLM's
// client, SGLang's client and an exact reading make of the same socket reads.
// Each is a pure function of the capture and of the named options, so that any
// figure can be computed again from the file, on another machine, to the last
// bit.
//
// The rules of the two harnesses are theirs, faults included: where their
// release changed a rule, the change is a field of Switches and the releases
// are rows of one table. What their floating point does is kept too: seconds as
// float64, numpy's sums and percentiles. The exact reading counts in
// nanoseconds, follows the event-stream standard, and answers nothing (nil)
// where the capture does not define a figure.
//
// A capture is read once, line by line, for any number of readings; the frames
// are parsed as their reads come by. Of an open request its stamps, its text
// and one unfinished frame are held, of a finished one its samples.
//
// It refuses to send anything, to know a tokenizer (counting is a function that
// the caller brings), and to print.
package serving

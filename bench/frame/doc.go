// Package frame owns the cut from response bytes to frames: the three ways in
// which a body of server-sent events is taken apart (vLLM's client reads
// messages out of socket reads, SGLang's reads lines, and the event-stream
// standard reads events), and the reading of one JSON text as Python reads it.
//
// Every cutter is fed read by read, as the socket gave them, and holds no more
// than the frame that is not whole yet. The cutters of the two harnesses
// reproduce their faults on purpose: which bytes are lost behind a comment that
// comes alone is part of what their figures mean. Only Events follows the
// standard, and its result does not depend on where the reads were cut.
//
// It refuses to know what a token is, what a request is, and what time it is:
// stamps pass through it unchanged.
package frame

// Package workload owns what is sent: the datasets of the two Python serving
// harnesses, drawn from the streams and in the order that they draw them, and a
// few of ours. A dataset is an options struct whose Sample gives a [Set]; the
// prompts of a seed are theirs to the last bit, as far as the tokenizer is.
//
// Datasets draw from [pyrand.Streams], the two global generators of a Python
// process, because what a dataset leaves of them is what the arrivals are drawn
// from. vLLM's random dataset has a generator of its own and leaves them alone.
//
// It refuses to open files (readers take an io.Reader), to fetch anything, to
// know a wire format, and to own a tokenizer: [Tokenizer] is what it asks of
// one. A prompt is never empty, and a dataset that yields fewer rows than asked
// says so: by an error, or by a warning that travels in the Set.
package workload

// Package step owns the offline loops: one static batch through an engine in
// this process, every step timed alone. OneBatch walks a grid of points as
// SGLang's one_batch does, Latency repeats whole generate calls as vLLM's bench
// latency does.
//
// The order of calls is the product. A timed step is
//
//	Wait (drain), clock, Prefill or Decode, Wait, clock
//
// and nothing else stands between the two clock reads: no record is written, no
// memory allocated, nothing printed. Records lie in memory taken before the pass
// and are written after it. During a pass the garbage collector is off; during a
// loop the goroutine is locked to its thread.
//
// What a step's time holds: filling the batch, one crossing into the backend,
// the work, the synchronisation and the way back. What it does not hold: taking
// the pages (Begin), the drain before it, reading device time and graph mode
// after it. Synchronising every step takes away the overlap of host and device
// that a server relies on, so these numbers answer "did a step get faster", not
// "how fast is a server".
//
// The package refuses to summarise (package metric does, from the records), to
// print (callbacks run outside timed regions), and to choose an engine, a file
// or a clock.
package step

// Package report owns the forms in which figures leave Lathe: a table for
// people, JSON, CSV and Markdown of a raw file, and the console lines and result
// files of SGLang's one_batch and vLLM's bench latency.
//
// It computes nothing that package metric does not: it orders, rounds and
// prints. A report depends on the bytes of the raw file alone: not on its path,
// the time zone, the locale or the machine; so that two people who hold one file
// hold one report. It refuses to leave a point out: one that was skipped or
// failed has its row and its reason in every form, and a run that did not end of
// itself says so first.
//
// Peers' result files begin with the peer's keys in the peer's order; ours are
// appended. Undefined is null.
package report

// Package kernel owns how one operator is timed alone, outside a step: how many copies of its inputs
// a cold measurement rotates over, how many calls a time is made of, how many times are taken, in what
// order two variants take turns, and what may be said about the samples.
//
// Most wrong numbers of kernel benchmarks are of a cache that was warm. Three states are told apart and
// never mixed:
//
//	cold    every call finds its inputs in memory: calls rotate over copies that together exceed the
//	        last-level cache several times over. The state is proved, not assumed: the same calls over
//	        twice as many copies must take as long.
//	warm    every call has the inputs of the call before.
//	stream  as in a decode step: weights and pages rotate as in cold, activations stay.
//
// The package refuses to call anything or read a clock (a Runner does), to know what an operator is, and
// to judge numbers. Its summary is a pure function of the records.
package kernel

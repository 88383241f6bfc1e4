// Package arrival owns when requests are due: the arrival laws of the two
// Python serving harnesses in their own arithmetic, a few of ours, and what can
// be said afterwards about a schedule that was carried out.
//
// Two kinds of schedule exist. An absolute one names an offset from the start
// for every request, and lateness is not carried over (vLLM since 2025-07, all
// of ours). A relative one names the gap that is slept after each request was
// handed over, so that whatever the client spends between two sleeps adds up and
// the realised rate drifts below the asked one (SGLang). [Schedule.Gaps] tells
// them apart.
//
// It refuses to look at a clock and to send anything: every function is pure,
// given a seeded stream of [lathe/bench/pyrand]. Whoever dispatches sleeps.
package arrival

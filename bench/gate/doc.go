// Package gate owns golden bounds: what a machine's step times were accepted to
// be, and whether a new recording keeps within them. It reads and writes the
// bounds file, proposes bounds from recordings, judges recordings, tells a trend,
// and words the outcome for a CI server.
//
// A bound belongs to one key: device, power limit, memory clock, driver, runtime,
// model, number format, phase, batch, context and graph mode. What has no bound is
// invalid, never a pass, and a bound of another machine is not comparable. Bounds
// are times, less is better; a rate is judged as the time of one token.
//
// Judging never changes a bound. The only way is to propose bounds and to keep
// the file.
//
// Bounds are a coarse net for what everybody missed. Whether a change made
// something slower is package compare's question, both sides in one run.
package gate

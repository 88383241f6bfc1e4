// Package bench owns the shapes of a measurement: the workload, the run's
// header, the raw records, and the JSONL file that they are appended to as they
// happen. It refuses to summarise: every number that is printed comes from a
// pure function of another package over what a raw file holds.
//
// # Raw files
//
// One JSON object a line. The first line is the run header; a "resume" line
// stands where a killed run was taken up again with the same options; the "end"
// line closes a run that was not cut. Steps stand before the line of their
// point, and a point without its line was not finished.
//
// A [Writer] writes whole lines and flushes each call through its compressor,
// so that a process killed at any moment leaves a file whose last line may be
// torn and nothing else. What was flushed is the operating system's: kill -9 loses
// at most the point that is being measured, without a wait for the disk between
// points; a power cut may lose what the system had not written yet. One Writer has
// a file at a time. A [Reader] accepts exactly that, with a warning, and
// nothing else: a line in the middle that does not parse is an error that names
// it, because a number computed from half a file looks like any other number.
//
// Undefined is null. NaN and infinities are refused at the write.
package bench

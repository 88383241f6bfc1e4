// Package bench owns the shapes of a measurement: the workload, the run's
// header, the raw records, and the JSONL file that they are appended to as they
// happen. It refuses to summarise: every number that is printed comes from a
// pure function of another package over what a raw file holds.
package bench

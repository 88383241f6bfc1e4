// Command lathe times a Llama model step by step and says what it measured.
//
// This package owns the terminal contract: the argv pass, the flags and their validation, the
// error:, hint: and warning: lines, progress, signals, and exit codes. It is the only package that
// reads the environment and the only one that prints. It refuses to measure, to compute a statistic
// or to format a report: every command turns flags into one options struct and calls a library.
package main

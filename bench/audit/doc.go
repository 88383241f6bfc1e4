// Package audit owns the question whether two result files compare, and whether
// one file is to be believed. It reads the result files of vLLM's and SGLang's
// clients (Python and Rust), captures and offline recordings of ours and, as far
// as they tell, those of AIPerf, guidellm, llama-bench and NVBench; [Compare]
// names each row of the incomparability tables that keeps two of them apart, and
// [Check] makes the three checks of a single file.
//
// # What a row is
//
// Rows A to G are those of the published tables, W what no harness decides (what
// is timed, how many requests, on which machine, by whose rules).
//
// A row is one thing that the harnesses do differently: how arrivals are drawn,
// which frame starts a clock, what a token is. For each the table holds who does
// what, which figures it moves and in which direction. Where releases of one
// harness differ, the rule asks the switches of package serving, which are the
// one place that knows them. A row is reported as
//
//   - a difference, where the two files are known to differ in it and it moves a
//     figure, or one of them lacks a figure;
//   - not told, where a file does not say what was done, or the difference shows
//     only on streams of a kind that the files do not tell;
//   - ruled out, where the rules differ but the files show that no figure moved.
//
// Nothing is guessed: what a file does not say is unknown, a default is never
// taken for a fact, and two files compare only as far as they tell.
//
// A capture of ours holds what was on the wire, not what a harness made of it,
// so that it can be read by the other file's rules; against such a file it
// differs only in how it was loaded and sent.
//
// The package refuses to run anything, to know a tokenizer, and to print.
package audit

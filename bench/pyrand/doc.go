// Package pyrand owns the random streams of Python and numpy, bit for bit, so
// that a published command line of a Python harness draws here the prompts,
// lengths and arrivals that it draws there.
//
// Three streams exist, because the harnesses use three:
//
//   - [Legacy] is numpy's RandomState, which numpy.random.seed and the functions
//     of numpy.random act on: MT19937 seeded by Knuth's recurrence, polar
//     normals, gamma by Ahrens-Dieter and Marsaglia-Tsang, bounded integers by
//     masked rejection.
//   - [Generator] is numpy.random.default_rng: PCG64 (XSL-RR) seeded through
//     SeedSequence, bounded integers by Lemire's multiplication.
//   - [Python] is the module random: the same MT19937 seeded by array
//     initialisation, bounded integers by the top bits of a word.
//
// Integers and uniform doubles are equal to the last bit. What passes through a
// logarithm or a power may differ in it, since Go's math and a C library round
// them apart; the arrival golden data allow 1e-12 for that reason.
//
// It refuses to be a general library: a distribution that no harness draws from
// (the ziggurat normals and exponentials of numpy's Generator, for one) is not
// here. Nothing in it is safe for concurrent use, and nothing is for secrets.
package pyrand

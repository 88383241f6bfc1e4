// Package operator owns what a replaceable operator means: its arguments as operator.h lays them
// out, a float64 reference of each, the edge cases that a user's kernel must get right, and the
// check that runs them.
//
// The check keeps verdict and kernel apart. A child process opens the library and calls it over
// memory that it shares with the checker; the checker, in the parent, draws the inputs from secret
// seeds, poisons the outputs, and judges what was written against references that the child never
// sees. A kernel that crashes, hangs, exits or prints takes the child with it and is a finding.
//
// It refuses to plan or to judge a timing (package bench/kernel does; the stamps are native code's), to
// open a user's library in its own process, and to judge a kernel by how it is built: it reads the
// symbol table only for what a kernel has no business with.
package operator

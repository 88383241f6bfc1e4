// Package roofline says what a step or an operator could take at best, and how
// far a measured one is from it: what must be moved and computed (Work), the
// ceilings of a device (Roofs, quoted from a datasheet or measured), both floors
// (one roof over the whole, and the sum of its serial parts), and the percentages.
// It is also the lie detector: a time below the datasheet's floor is impossible.
//
// It refuses to measure anything and to guess a device: a name that the table
// does not have is unknown, and an unknown roof gives no percentage.
package roofline

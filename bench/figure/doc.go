// Package figure draws the figures of a report as SVG: points over time,
// distributions, histograms, intervals against a band, a roofline. Series differ in
// colour (a palette that colour-blind readers can tell apart) and in the shape of
// their marks or the dash of their lines, so that a grey print reads as well.
//
// It refuses to know what it draws: numbers, names and units are the caller's. The
// same input gives the same bytes.
package figure

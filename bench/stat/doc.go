// Package stat owns the arithmetic between samples and summaries: numpy's
// quantile, mean and standard deviation to the last bit, so that a figure equals
// the one that a Python harness prints from the same samples; an interval for a
// median that assumes nothing of the distribution; a slope that outliers do not
// turn.
//
// It refuses to answer with NaN or an infinity: every function returns false
// instead where the samples do not define the figure (too few, or not finite).
// It knows no units and no record, and it never sorts a caller's slice.
//
// Every product that is added to something is rounded first, by an explicit
// conversion, because Go may otherwise fuse the two on some machines, and the
// same file must give the same bytes everywhere.
//
// From gonum/stat comes what is easily got wrong and is no hot path: the
// binomial distribution. Its quantiles and means are not used, because they
// round differently from numpy's.
package stat

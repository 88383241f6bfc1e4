package operator

import (
	"fmt"
	"strings"
)

// Code says what kind of fault a finding is.
type Code string

// The faults of a kernel.
const (
	CannotOpen      Code = "cannot-open"      // no such library, symbol or ABI
	ForbiddenSymbol Code = "forbidden-symbol" // refers to, or carries, what a kernel has no business with
	SupportsNothing Code = "supports-nothing" // refuses every case
	ReturnedError   Code = "returned-error"
	Crashed         Code = "crashed"
	Hung            Code = "hung"
	Exited          Code = "exited"
	Printed         Code = "printed"
	OutOfBounds     Code = "out-of-bounds"      // touched memory outside its buffers, or used what lies between
	WroteElsewhere  Code = "wrote-elsewhere"    // changed an input, a gap, a padded row
	WritesNothing   Code = "writes-nothing"     // no output at all
	Unwritten       Code = "unwritten"          // outputs, or parts of them
	WorksLate       Code = "works-after-return" // on a thread of its own
	SkipsRepeat     Code = "skips-repeated-inputs"
	CachesPointers  Code = "caches-by-pointer"
	StaleOutput     Code = "stale-output" // of an earlier call
	WrongLater      Code = "wrong-later"  // right at first
	WrongPart       Code = "wrong-in-part"
	WrongNumbers    Code = "wrong-numbers"
	LowPrecision    Code = "low-precision"
	LosesNaN        Code = "loses-nan"
	Unsteady        Code = "not-deterministic"
	MixesRows       Code = "depends-on-neighbours"
)

// Finding is one fault: what, in which case, and the particulars.
type Finding struct {
	Code   Code   `json:"code"`
	Case   string `json:"case,omitempty"`
	Detail string `json:"detail"`
}

// String is "code: detail (case)".
func (f Finding) String() string {
	if f.Case == "" {
		return fmt.Sprintf("%s: %s", f.Code, f.Detail)
	}
	return fmt.Sprintf("%s: %s (%s)", f.Code, f.Detail, f.Case)
}

// Precision is the relative L2 distance from the reference over all outputs of one element type that
// were rounded to bf16 equally often on their way, and what is allowed.
type Precision struct {
	Elem      string   `json:"dtype"`
	Roundings int      `json:"roundings"`
	Distance  float64  `json:"distance"`
	Allowed   float64  `json:"allowed"`
	Builtin   *float64 `json:"builtin"` // our own operator's, over the same inputs; null: not known
}

// Verdict is the outcome of a check.
type Verdict struct {
	Op         string      `json:"op"`
	File       string      `json:"file"`
	SHA256     string      `json:"sha256"`
	OK         bool        `json:"ok"`
	Findings   []Finding   `json:"findings"` // the first of each failing case; empty when OK
	More       int         `json:"more_findings,omitempty"`
	Warnings   []string    `json:"warnings"`
	Seed       uint64      `json:"seed"` // repeats the check
	Seeds      int         `json:"seeds"`
	Cases      int         `json:"cases"`
	Refused    int         `json:"cases_refused"` // by the library's _supports
	Calls      int         `json:"calls"`
	Threads    []int       `json:"threads"`
	Precisions []Precision `json:"relative_l2"`
}

// Reason is the findings in one line, "" when there are none.
func (v Verdict) Reason() string {
	parts := make([]string, 0, len(v.Findings))
	for _, f := range v.Findings {
		parts = append(parts, f.String())
	}
	if v.More > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", v.More))
	}
	return strings.Join(parts, "; ")
}

// End adds what a kernel that passed was found to have done once its process had ended.
func (v *Verdict) End(last []Finding) {
	for _, f := range last {
		v.found(f)
	}
	v.OK = len(v.Findings) == 0
}

const mostFindings = 8

func (v *Verdict) found(f Finding) {
	if len(v.Findings) == mostFindings {
		v.More++
		return
	}
	v.Findings = append(v.Findings, f)
}

func (v *Verdict) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, w := range v.Warnings {
		if w == text {
			return
		}
	}
	v.Warnings = append(v.Warnings, text)
}

package gate

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Failure *junitDetail `xml:"failure"`
	Error   *junitDetail `xml:"error"`
	Skipped *junitDetail `xml:"skipped"`
	Output  string       `xml:"system-out,omitempty"`
}

type junitDetail struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
}

// JUnit writes a test case a key: a miss is a failure, inconclusive is skipped
// with its reason, invalid is an error. A report without a case has one of its
// own, so that a refused recording does not look like an empty, green suite.
func (r Report) JUnit(w io.Writer) error {
	suite := junitSuite{Name: "lathe gate"}
	cases := r.Cases
	if len(cases) == 0 {
		cases = []Case{{Outcome: r.Outcome, Reason: strings.Join(r.Reasons, "; ")}}
	}
	for _, c := range cases {
		one := junitCase{Class: c.Key.Model, Name: c.Key.String(), Output: strings.Join(c.Notes, "\n")}
		if len(r.Cases) == 0 {
			one.Class, one.Name = "lathe gate", "recording"
		}
		suite.Tests++
		switch c.Outcome {
		case Fail:
			suite.Failures++
			one.Failure = &junitDetail{c.Reason, "regression"}
		case Inconclusive:
			suite.Skipped++
			one.Skipped = &junitDetail{Message: "inconclusive: " + c.Reason}
		case Invalid:
			suite.Errors++
			one.Error = &junitDetail{c.Reason, "invalid"}
		}
		suite.Cases = append(suite.Cases, one)
	}
	all := junitSuites{Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Skipped: suite.Skipped, Suites: []junitSuite{suite}}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	if _, err := io.WriteString(w, xml.Header+string(data)+"\n"); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	return nil
}

// Markdown words a report for the summary of a CI job.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Latency gate: %s\n\n", r.Outcome)
	for _, reason := range r.Reasons {
		fmt.Fprintf(&b, "- %s\n", cellText(reason))
	}
	if len(r.Reasons) > 0 {
		b.WriteString("\n")
	}
	if len(r.Cases) > 0 {
		b.WriteString("| point | outcome | median | golden | limit | change | note |\n|---|---|--:|--:|--:|--:|---|\n")
	}
	for _, c := range r.Cases {
		now, golden, limit, change := "-", "-", "-", "-"
		if len(c.ValuesNS) > 0 {
			now = milliseconds(median(c.ValuesNS))
		}
		if c.Bound != nil {
			golden, limit = milliseconds(c.Bound.MedianNS), milliseconds(c.Bound.UpperNS)
		}
		if c.ChangePercent != nil {
			change = signed(*c.ChangePercent)
		}
		note := strings.Join(c.Notes, "; ")
		if c.Outcome != Pass {
			note = strings.Trim(c.Reason+"; "+note, "; ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", cellText(c.Key.String()), c.Outcome, now, golden, limit, change, cellText(note))
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "\n> warning: %s\n", cellText(w))
	}
	return b.String()
}

// cellText keeps text within its cell.
func cellText(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;").Replace(s)
}

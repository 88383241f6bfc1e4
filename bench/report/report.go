package report

import (
	"fmt"
	"io"
	"strings"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/kernel"
)

// Formats are the forms that Write knows.
func Formats() []string { return []string{"text", "json", "csv", "markdown", "html"} }

// Write writes the report of a raw file in one of Formats; a comparison's has ComparisonFormats.
func Write(w io.Writer, f *bench.File, format string) error {
	if compare.Interleaved(f) {
		return Comparison(w, f, format)
	}
	if kernel.Measured(f) {
		return Kernel(w, f, format)
	}
	switch format {
	case "text":
		return Text(w, f)
	case "json":
		return JSON(w, f)
	case "csv":
		return CSV(w, f)
	case "markdown":
		return Markdown(w, f)
	case "html":
		return HTML(w, f)
	}
	return fmt.Errorf("write report: format %q: want one of %s", format, strings.Join(Formats(), ", "))
}

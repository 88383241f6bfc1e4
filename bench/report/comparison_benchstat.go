package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"lathe/bench/compare"
)

// benchstat writes a line an epoch and variant in the text format of Go's benchmarks, so that
// `benchstat -col /variant FILE` reads it. A line is one sample there, and its test takes samples for
// independent; epochs are, steps are not. It knows nothing of blocks and looks: its p is no verdict.
func (c comparison) benchstat(w io.Writer) error {
	if c.file == nil {
		return errors.New("write report: benchstat: two recordings have no epochs: write each with its own report")
	}
	run := c.file.Run
	var b strings.Builder
	for _, line := range []struct{ key, value string }{{"goos", run.Host.OS}, {"goarch", run.Host.Arch}, {"pkg", "lathe"}, {"cpu", run.Host.CPU},
		{"model", modelName(run)}, {"raw-sha256", c.file.SHA256}} {
		if line.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", line.key, plain(line.value))
		}
	}
	for _, p := range c.result.Points {
		name := fmt.Sprintf("Benchmark%s%s/batch=%d/context=%d", strings.ToUpper(string(p.Phase[:1])), p.Phase[1:], p.Batch, p.ContextLen)
		for _, e := range compare.EpochMedians(c.file, p) {
			fmt.Fprintf(&b, "%s/variant=%s %d %s ns/op\n", name, e.Variant, e.Steps, shortest(&e.MedianNS))
		}
	}
	return flush(w, &b)
}

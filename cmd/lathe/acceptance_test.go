//go:build unix && cgo

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"lathe/bench/compare"
)

// acceptanceVariable switches the acceptance test of compare on: "60,20" is 60 runs of equal variants
// and 20 of each planted change. It wants a quiet machine, and takes about a quarter of an hour.
const acceptanceVariable = "LATHE_ACCEPTANCE"

// acceptancePoint is what is compared: one thread, so that a neighbour on another core does not make
// half of the step wait.
const acceptancePoint = "--model preset:tiny --batch-size 4 --context-len 64 --budget short --steps 48 --threads 1 --format json"

// plugins builds the CPU plug-in and copies of it with planted faults, NAME or NAME=DEFINITION, with
// CMake, and returns the folder.
func plugins(t *testing.T, planted ...string) string {
	t.Helper()
	dir := os.Getenv("LATHE_ACCEPTANCE_BUILD")
	if dir == "" {
		dir = t.TempDir()
	}
	buildPlugins(t, dir, planted...)
	return dir
}

// buildPlugins does the same in a folder that may have others already.
func buildPlugins(t *testing.T, dir string, planted ...string) {
	t.Helper()
	targets := []string{"--build", dir, "-j", "2", "--target", "lathe_cpu"}
	for _, p := range planted {
		name, _, _ := strings.Cut(p, "=")
		targets = append(targets, "lathe_"+name)
	}
	for _, args := range [][]string{{"-S", repoRoot(t), "-B", dir, "-DLATHE_PLANTED=" + strings.Join(planted, ";")}, targets} {
		if out, err := exec.Command("cmake", args...).CombinedOutput(); err != nil {
			t.Fatalf("cmake %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// compareOnce runs the command line in a process of its own.
func compareOnce(t *testing.T, dir, a, b string, more ...string) (code int, r compare.Result) {
	t.Helper()
	args := append([]string{"compare", "--a", filepath.Join(dir, a), "--b", filepath.Join(dir, b), "--raw", filepath.Join(t.TempDir(), "raw.jsonl.zst")},
		append(strings.Fields(acceptancePoint), more...)...)
	p := start(t, dir, "1", args...)
	code = p.wait()
	if err := json.Unmarshal(p.stdout.Bytes(), &r); err != nil {
		t.Fatalf("%s: exit %d: %v\n%s%s", strings.Join(args, " "), code, err, p.stdout.String(), p.stderr.String())
	}
	if code != r.Verdict.ExitCode() {
		t.Errorf("verdict %s with exit code %d", r.Verdict, code)
	}
	return code, r
}

// tally is a row of the table.
type tally struct {
	what       string
	verdicts   map[compare.Verdict]int
	changes    []float64
	thresholds []float64
	detectable []float64
	epochs     int
	held       int     // intervals that hold the planted change
	planted    float64 // percent
}

func (c *tally) add(r compare.Result) {
	c.verdicts[r.Verdict]++
	c.epochs += r.Epochs
	if r.ChangePercent == nil || r.ThresholdPercent == nil || len(r.Points) == 0 || r.Points[0].DetectablePercent == nil {
		return
	}
	c.changes, c.thresholds = append(c.changes, *r.ChangePercent), append(c.thresholds, *r.ThresholdPercent)
	c.detectable = append(c.detectable, *r.Points[0].DetectablePercent)
	if i := r.IntervalPercent; i != nil && i[0] <= c.planted && c.planted <= i[1] {
		c.held++
	}
}

func (c *tally) runs() (n int) {
	for _, k := range c.verdicts {
		n += k
	}
	return n
}

func middle(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func (c *tally) row(w *tabwriter.Writer) {
	v := c.verdicts
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%.2f\t%d\t%.1f\t\n", c.what, c.runs(), v[compare.Faster], v[compare.Slower], v[compare.NoDifference],
		v[compare.Inconclusive], v[compare.Invalid], middle(c.changes), middle(c.thresholds), middle(c.detectable), c.held, float64(c.epochs)/float64(max(1, c.runs())))
}

// TestAcceptanceOfCompare: the real engine through the command line. The same plug-in under two names
// is never called faster or slower; a part of the step that is spun on top, of at least twice the
// threshold, is found every time with the right sign, whichever side it is on; a smaller one is never
// found with the wrong sign.
func TestAcceptanceOfCompare(t *testing.T) {
	var equal, each int
	if _, err := fmt.Sscanf(os.Getenv(acceptanceVariable), "%d,%d", &equal, &each); err != nil {
		t.Skipf("%s=60,20 runs it", acceptanceVariable)
	}
	dir := plugins(t, "twin=PLANTED_SPIN=0")
	data, err := os.ReadFile(filepath.Join(dir, "liblathe_cpu.so"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "liblathe_again.so"), data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	aa := &tally{what: "equal, two names", verdicts: map[compare.Verdict]int{}}
	for range equal {
		_, r := compareOnce(t, dir, "liblathe_cpu.so", "liblathe_again.so")
		aa.add(r)
	}
	if n := aa.verdicts[compare.Faster] + aa.verdicts[compare.Slower] + aa.verdicts[compare.Invalid]; n > 0 {
		t.Errorf("equal variants: %d of %d runs are faster, slower or invalid", n, equal)
	}
	large := math.Ceil(2*max(0.5, slices.Max(append([]float64{0}, aa.thresholds...)))*10) / 10
	small := math.Round(large/8*100) / 100
	buildPlugins(t, dir, "twin=PLANTED_SPIN=0", fmt.Sprintf("large=PLANTED_SPIN=%g", large), fmt.Sprintf("small=PLANTED_SPIN=%g", small))
	rows := []*tally{aa}
	for _, c := range []struct {
		what, a, b string
		percent    float64
		want, not  compare.Verdict
	}{
		{"slower, twice the threshold", "twin", "large", large, compare.Slower, compare.Faster},
		{"faster, twice the threshold", "large", "twin", 100 * (1/(1+large/100) - 1), compare.Faster, compare.Slower},
		{"slower, a quarter of it", "twin", "small", small, "", compare.Faster},
		{"faster, a quarter of it", "small", "twin", 100 * (1/(1+small/100) - 1), "", compare.Slower},
	} {
		row := &tally{what: fmt.Sprintf("%s: %+.2f %%", c.what, c.percent), verdicts: map[compare.Verdict]int{}, planted: c.percent}
		for range each {
			_, r := compareOnce(t, dir, "liblathe_"+c.a+".so", "liblathe_"+c.b+".so")
			row.add(r)
		}
		rows = append(rows, row)
		if c.want != "" && row.verdicts[c.want] != each {
			t.Errorf("%s: found in %d of %d runs", row.what, row.verdicts[c.want], each)
		}
		if row.verdicts[c.not] > 0 {
			t.Errorf("%s: %d of %d runs have the wrong sign", row.what, row.verdicts[c.not], each)
		}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "planted\truns\tfaster\tslower\tno difference\tinconclusive\tinvalid\tchange %\tthreshold %\tdetectable %\tinterval holds it\tepochs\t")
	for _, row := range rows {
		row.row(w)
	}
	w.Flush()
	t.Logf("%s: medians over the runs; epochs: mean\n%s", acceptancePoint, b.String())
}

// TestCompareRefusesWrongNumbers: a plug-in whose logits are wrong is invalid before anything of it is
// timed, one that becomes wrong while it is timed is found behind the epoch; both with exit code 4.
func TestCompareRefusesWrongNumbers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the plug-in")
	}
	dir := plugins(t, "wrong=PLANTED_WRONG=0", "late=PLANTED_WRONG=400")
	code, r := compareOnce(t, dir, "liblathe_cpu.so", "liblathe_wrong.so")
	if code != exitInvalid || r.Steps != 0 || !strings.Contains(strings.Join(r.Reasons, "\n"), "variant b differs from the reference") {
		t.Errorf("wrong from the start: exit %d after %d steps: %v", code, r.Steps, r.Reasons)
	}
	code, r = compareOnce(t, dir, "liblathe_late.so", "liblathe_cpu.so")
	if code != exitInvalid || !strings.Contains(strings.Join(r.Reasons, "\n"), "outputs: after the timing of epoch 0: A and B differ") {
		t.Errorf("wrong from step 400 on: exit %d: %v", code, r.Reasons)
	}
	if code, r = compareOnce(t, dir, "liblathe_cpu.so", "liblathe_cpu.so", "--epochs", "5"); code == exitInvalid || code == exitUsage {
		t.Errorf("a plug-in beside itself: exit %d: %v", code, r.Reasons)
	}
}

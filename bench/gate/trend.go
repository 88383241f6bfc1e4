package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Trend is how one key moved over recordings.
type Trend struct {
	Key      Key       `json:"key"`
	Runs     []string  `json:"runs"`
	ValuesNS []float64 `json:"values_ns"` // in the order of time
	// PercentPerRun is the Theil-Sen slope of the logarithm.
	PercentPerRun float64 `json:"percent_per_run"`
	TotalPercent  float64 `json:"total_percent"` // of that slope, first to last
	P             float64 `json:"p"`             // two-sided, Mann-Kendall
	Warning       string  `json:"warning,omitempty"`
}

const (
	trendRuns  = 5    // fewer show nothing
	trendP     = 0.01 // above it a slope is chance
	trendTotal = 1    // percent over all runs that matter
	exactRuns  = 100  // above it the normal approximation serves
)

// Trends tells the trend of every key over recordings, which it puts in the order
// of their start. Small losses that each pass a limit add up here.
func Trends(runs []Run) []Trend {
	ordered := slices.Clone(runs)
	slices.SortStableFunc(ordered, func(a, b Run) int { return strings.Compare(a.StartedAt, b.StartedAt) })
	out := []Trend{}
	for _, key := range keys(ordered) {
		t := Trend{Key: key}
		for _, run := range ordered {
			for _, m := range run.Measurements {
				if m.Key.equal(key) && m.Unmeasured == "" && run.Refused == "" {
					t.Runs, t.ValuesNS = append(t.Runs, run.Name), append(t.ValuesNS, m.ValueNS)
				}
			}
		}
		t.fit()
		out = append(out, t)
	}
	return out
}

func (t *Trend) fit() {
	t.P = 1
	n := len(t.ValuesNS)
	if n < 2 {
		return
	}
	var slopes []float64
	for i := range n {
		for j := i + 1; j < n; j++ {
			slopes = append(slopes, math.Log(t.ValuesNS[j]/t.ValuesNS[i])/float64(j-i))
		}
	}
	slope := median(slopes)
	t.PercentPerRun, t.TotalPercent = round(100*math.Expm1(slope)), round(100*math.Expm1(slope*float64(n-1)))
	t.P = mannKendall(t.ValuesNS)
	if n >= trendRuns && t.P < trendP && math.Abs(t.TotalPercent) >= trendTotal {
		t.Warning = fmt.Sprintf("trend: %s/run, %s over %d runs", signed(t.PercentPerRun), shownP(t.P), n)
	}
}

func shownP(p float64) string {
	if p < 0.001 {
		return "p<0.001"
	}
	return fmt.Sprintf("p=%.3f", p)
}

// mannKendall is the two-sided p of no trend: of the number of pairs that rise
// less those that fall. Exact without ties, by the number of orders of n values
// with so many inversions; otherwise normal, corrected for ties and continuity.
func mannKendall(xs []float64) float64 {
	n := len(xs)
	rises, falls := 0, 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			switch {
			case xs[j] > xs[i]:
				rises++
			case xs[j] < xs[i]:
				falls++
			}
		}
	}
	pairs := n * (n - 1) / 2
	if rises+falls == pairs && n <= exactRuns {
		return min(1, 2*atMostInversions(n, min(rises, falls)))
	}
	nf := float64(n)
	variance := nf * (nf - 1) * (2*nf + 5)
	sorted := slices.Sorted(slices.Values(xs))
	for lo := 0; lo < n; {
		hi := lo
		for hi < n && sorted[hi] == sorted[lo] {
			hi++
		}
		ties := float64(hi - lo)
		variance -= ties * (ties - 1) * (2*ties + 5)
		lo = hi
	}
	s := math.Abs(float64(rises - falls))
	if s == 0 || variance <= 0 {
		return 1
	}
	return math.Erfc((s - 1) / math.Sqrt(variance/18) / math.Sqrt2)
}

// atMostInversions is the share of the orders of n values that have at most k
// inversions.
func atMostInversions(n, k int) float64 {
	share := make([]float64, k+1) // of m values, with exactly i inversions
	share[0] = 1
	for m := 2; m <= n; m++ {
		next := make([]float64, k+1)
		var window float64
		for i := range next {
			window += share[i]
			if i >= m {
				window -= share[i-m]
			}
			next[i] = max(0, window) / float64(m)
		}
		share = next
	}
	var total float64
	for _, s := range share {
		total += s
	}
	return min(1, total)
}

package compare

import (
	"os"
	"testing"
)

// The rest of the table in docs/method.md: worlds and effects that are not held
// to a bound. It runs only where LATHE_METHOD_TABLE is set.
func TestMethodTable(t *testing.T) {
	if os.Getenv("LATHE_METHOD_TABLE") == "" {
		t.Skip("LATHE_METHOD_TABLE is not set")
	}
	first := firstSeed(t)
	desktop := world{name: "desktop", white: 0.01, spikes: 0.01, clock: 0.05, fast: 400, slow: 200, untagged: true, epoch: 0.015, epochVariant: 0.008}
	for _, w := range append(worlds(), desktop) {
		for _, effect := range []float64{0, 0.005, 0.01, 0.02} {
			t.Logf("%-16s %+.1f %%: %s", w.name, 100*effect, cell(w, first, effect, onePoint))
		}
	}
}

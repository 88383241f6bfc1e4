package serving

import "testing"

// A lag's bucket stands for at least the lag and at most a 64th more, and buckets
// follow each other as lags do.
func TestLagBuckets(t *testing.T) {
	for _, ns := range []int64{0, 1, 127, 128, 129, 130, 191, 255, 256, 257, 1000, 65_535, 65_536, 1_000_000, 1 << 40, 1<<61 + 12345} {
		top := topOf(lagBucket(ns))
		if top < ns || float64(top) > float64(ns)*(1+1.0/64)+1e-9 {
			t.Errorf("%d ns is taken for %d", ns, top)
		}
		if next := lagBucket(top + 1); next < lagBucket(ns) {
			t.Errorf("bucket of %d is %d, below that of %d", top+1, next, ns)
		}
	}
	for i := range lagBucket(1 << 40) {
		if topOf(i) >= topOf(i+1) {
			t.Fatalf("bucket %d ends at %d, the next at %d", i, topOf(i), topOf(i+1))
		}
	}
}

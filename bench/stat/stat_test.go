package stat

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"math/big"
	"os"
	"testing"
)

// splitmix and samples are those of testdata/vectors.py.
func splitmix(seed uint64) func() uint64 {
	return func() uint64 {
		seed += 0x9E3779B97F4A7C15
		z := seed
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		return z ^ z>>31
	}
}

func samples(kind string, n int) []float64 {
	next := splitmix(uint64(n))
	xs := make([]float64, n)
	for i := range xs {
		u := next()
		switch kind {
		case "ns":
			xs[i] = float64(4_000_000+u%300_000) / 1e9
		case "unit":
			xs[i] = math.Ldexp(float64(u>>11), -53)
		case "wide":
			xs[i] = math.Ldexp(float64(u>>11|1), int(u>>1%600)-350)
			if u&1 == 1 {
				xs[i] = -xs[i]
			}
		case "near":
			xs[i] = 1 + math.Ldexp(float64(u%7), -52)
		case "tied":
			xs[i] = float64(u%3) / 10
		case "subnormal":
			xs[i] = float64(u%1000) * 5e-324
		}
	}
	return xs
}

type vectors struct {
	Percentile []float64
	Rows       []struct {
		Kind        string
		N           int
		Percentiles []float64
		Median      float64
		Mean        float64
		Sum         float64
		Std         float64
		SampleStd   *float64 `json:"sample_std"`
	}
}

func golden(t *testing.T) (v vectors) {
	t.Helper()
	f, err := os.Open("testdata/numpy.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&v); err != nil {
		t.Fatal(err)
	}
	if len(v.Rows) < 300 {
		t.Fatalf("only %d vectors", len(v.Rows))
	}
	return v
}

// Equality is of bits: a figure must be the one that numpy prints.
func TestP134_NumpyBitForBit(t *testing.T) {
	v := golden(t)
	for _, r := range v.Rows {
		xs := samples(r.Kind, r.N)
		sorted := Sorted(xs)
		same := func(name string, got float64, ok bool, want float64) {
			t.Helper()
			if !ok || math.Float64bits(got) != math.Float64bits(want) {
				t.Errorf("%s of %d %s: %v (%v), numpy %v", name, r.N, r.Kind, got, ok, want)
			}
		}
		for i, p := range v.Percentile {
			got, ok := Percentile(sorted, p)
			same("percentile", got, ok, r.Percentiles[i])
		}
		got, ok := Median(sorted)
		same("median", got, ok, r.Median)
		same("sum", Sum(xs), true, r.Sum)
		got, ok = Mean(xs)
		same("mean", got, ok, r.Mean)
		got, ok = Std(xs)
		same("std", got, ok, r.Std)
		if r.SampleStd != nil {
			got, ok = SampleStd(xs)
			same("sample std", got, ok, *r.SampleStd)
		}
	}
}

func TestP134_SmallSamples(t *testing.T) {
	three := []float64{10, 20, 30}
	if got, ok := Percentile(three, 99); !ok || got != 29.8 {
		t.Errorf("linear p99 of 10, 20, 30: %v, want 29.8", got)
	}
	for _, p := range []float64{0, 1, 50, 99, 100} {
		if got, ok := Percentile([]float64{10}, p); !ok || got != 10 {
			t.Errorf("p%v of one sample: %v, want 10", p, got)
		}
		if _, ok := Percentile(nil, p); ok {
			t.Errorf("p%v of nothing is defined", p)
		}
	}
}

func TestP128_UndefinedIsFalse(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, xs := range [][]float64{nil, {}, {nan}, {inf}, {1, nan}, {-inf, 1}, {math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, -math.MaxFloat64}} {
		s := Sorted(xs)
		for name, f := range map[string]func() (float64, bool){
			"percentile": func() (float64, bool) { return Percentile(s, 50) },
			"median":     func() (float64, bool) { return Median(s) },
			"mean":       func() (float64, bool) { return Mean(xs) },
			"std":        func() (float64, bool) { return Std(xs) },
			"mad":        func() (float64, bool) { return MAD(s) },
			"slope":      func() (float64, bool) { return Slope(xs, xs) },
		} {
			if got, ok := f(); !finite(got) || ok && len(xs) < 4 {
				t.Errorf("%s of %v: %v, %v", name, xs, got, ok)
			}
		}
		if iv, ok := MedianInterval(s, 0.95); ok {
			t.Errorf("interval of %v: %v", xs, iv)
		}
	}
	if _, ok := SampleStd([]float64{1}); ok {
		t.Error("sample deviation of one value is defined")
	}
	for _, q := range []float64{-0.1, 1.1, nan} {
		if _, ok := Quantile([]float64{1, 2}, q); ok {
			t.Errorf("quantile %v is defined", q)
		}
	}
}

// The published table of order statistics for a median at 95 %.
func TestMedianInterval(t *testing.T) {
	tests := []struct {
		n, lo, hi int
		coverage  float64
	}{{6, 1, 6, 0.968750}, {7, 1, 7, 0.984375}, {8, 1, 8, 0.992188}, {9, 2, 8, 0.960937}, {10, 2, 9, 0.978516},
		{15, 4, 12, 0.964844}, {20, 6, 15, 0.958611}, {30, 10, 21, 0.957226}, {50, 18, 33, 0.967161}}
	for _, tt := range tests {
		got, ok := MedianInterval(ranks(tt.n), 0.95)
		if !ok || got.Lo != float64(tt.lo) || got.Hi != float64(tt.hi) || math.Abs(got.Coverage-tt.coverage) > 1.01e-6 {
			t.Errorf("n %d: %+v, want %d..%d at %v", tt.n, got, tt.lo, tt.hi, tt.coverage)
		}
	}
	for n := range 6 {
		if iv, ok := MedianInterval(ranks(n), 0.95); ok {
			t.Errorf("n %d: %+v, want none", n, iv)
		}
	}
}

func ranks(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(i + 1)
	}
	return xs
}

// Coverage against exact integers, and the next narrower pair must fail.
func TestMedianIntervalIsTheNarrowest(t *testing.T) {
	exact := func(n, k int) float64 { // 1 - 2 P(Bin(n, 1/2) < k)
		tail := new(big.Int)
		for i := range k {
			tail.Add(tail, new(big.Int).Binomial(int64(n), int64(i)))
		}
		all := new(big.Int).Lsh(big.NewInt(1), uint(n))
		p, _ := new(big.Rat).SetFrac(tail.Lsh(tail, 1), all).Float64()
		return 1 - p
	}
	for _, level := range []float64{0.9, 0.95, 0.99} {
		for n := 1; n <= 200; n++ {
			iv, ok := MedianInterval(ranks(n), level)
			if !ok {
				if exact(n, 1) >= level {
					t.Errorf("n %d, %v: none, but 1..n covers %v", n, level, exact(n, 1))
				}
				continue
			}
			k := int(iv.Lo)
			if math.Abs(exact(n, k)-iv.Coverage) > 1e-6 || exact(n, k) < level || int(iv.Hi) != n+1-k {
				t.Errorf("n %d, %v: %+v, exact %v", n, level, iv, exact(n, k))
			}
			if 2*(k+1) <= n+1 && k+1 <= n/2 && exact(n, k+1) >= level {
				t.Errorf("n %d, %v: %d..%d would do", n, level, k+1, n-k)
			}
		}
	}
}

func TestSlope(t *testing.T) {
	for _, n := range []int{2, 3, 10, 1024, 1025, 4097} {
		x, y := make([]float64, n), make([]float64, n)
		next := splitmix(7)
		for i := range x {
			x[i], y[i] = float64(1000+i), 5e6+40*float64(i)
			if n > 9 && next()%5 == 0 {
				y[i] *= 9 // a fifth is wild
			}
		}
		if got, ok := Slope(x, y); !ok || math.Abs(got-40) > 1e-6 {
			t.Errorf("n %d: slope %v, %v, want 40", n, got, ok)
		}
	}
	if _, ok := Slope([]float64{3, 3, 3}, []float64{1, 2, 3}); ok {
		t.Error("a slope over equal x is defined")
	}
}

func TestMAD(t *testing.T) {
	if got, ok := MAD([]float64{1, 1, 2, 2, 4, 6, 9}); !ok || got != 1 {
		t.Errorf("MAD %v, want 1", got)
	}
}

func TestSortedLeavesTheSamplesAlone(t *testing.T) {
	xs := []float64{3, 1, 2}
	if s := Sorted(xs); s[0] != 1 || xs[0] != 3 {
		t.Errorf("sorted %v, samples %v", s, xs)
	}
}

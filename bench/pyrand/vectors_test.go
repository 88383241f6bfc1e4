package pyrand

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

type ranged struct {
	Low, High int64
	N, K      int
	Shape     float64
	Values    []json.Number
}

func (r ranged) ints(t *testing.T) []int64 {
	t.Helper()
	out := make([]int64, len(r.Values))
	for i, v := range r.Values {
		n, err := v.Int64()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = n
	}
	return out
}

type stream struct {
	Seed          uint64
	Uniform       []float64
	Exponential   []float64
	Normal        []float64
	Gamma         []ranged
	Integers      []ranged
	AfterIntegers float64 `json:"after_integers"`
	Permutations  []ranged
	Shuffled50    []int `json:"shuffled_50"`
	Weights       []float64
	Weighted      []int
	Raw           []string
	Bits          []struct {
		K      int
		Values []string
	}
	Choices, Choice, Shuffles, Samples []ranged
}

type vectors struct{ Legacy, Generator, Random []stream }

func readVectors(t *testing.T) vectors {
	t.Helper()
	f, err := os.Open("testdata/vectors.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.NewDecoder(z).Decode(&v); err != nil {
		t.Fatal(err)
	}
	if len(v.Legacy) != 5 || len(v.Generator) != 8 || len(v.Random) != 8 {
		t.Fatalf("vectors: %d legacy, %d generator, %d random seeds", len(v.Legacy), len(v.Generator), len(v.Random))
	}
	return v
}

func legacy(t *testing.T, seed uint64) *Legacy {
	t.Helper()
	l, err := NewLegacy(seed)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// equalBits fails unless every draw is the wanted one to the last bit.
func equalBits(t *testing.T, what string, want []float64, draw func() float64) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s: no vectors", what)
	}
	for i, w := range want {
		if got := draw(); got != w {
			t.Fatalf("%s: draw %d is %v, want %v", what, i, got, w)
		}
	}
}

// near counts the draws that differ in the last bits and fails beyond 1e-12
// relative: the golden data's tolerance for what passes through log and pow.
func near(t *testing.T, what string, want []float64, draw func() float64) (off int) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s: no vectors", what)
	}
	for i, w := range want {
		got := draw()
		if math.Abs(got-w) > 1e-12*math.Abs(w) {
			t.Fatalf("%s: draw %d is %v, want %v", what, i, got, w)
		}
		if got != w {
			off++
		}
	}
	return off
}

func TestLegacyEqualsNumPy(t *testing.T) {
	total, off := 0, 0
	for _, s := range readVectors(t).Legacy {
		equalBits(t, "random_sample", s.Uniform, legacy(t, s.Seed).Float64)
		l := legacy(t, s.Seed)
		off += near(t, "exponential", s.Exponential, func() float64 { return l.Exponential(0.125) })
		l = legacy(t, s.Seed)
		off += near(t, "standard_normal", s.Normal, l.Normal)
		total += len(s.Exponential) + len(s.Normal)
		l = legacy(t, s.Seed)
		for _, g := range s.Gamma {
			want := make([]float64, len(g.Values))
			for i, v := range g.Values {
				want[i], _ = v.Float64()
			}
			scale := 1 / (3 * g.Shape)
			off += near(t, "gamma "+strconv.FormatFloat(g.Shape, 'g', -1, 64), want, func() float64 { return l.Gamma(g.Shape, scale) })
			total += len(want)
		}
		l = legacy(t, s.Seed)
		checkIntegers(t, s.Integers, l.Integers)
		equalBits(t, "after randint", []float64{s.AfterIntegers}, l.Float64)
		l = legacy(t, s.Seed)
		for _, p := range s.Permutations {
			if got := l.Permutation(p.N); !slices.EqualFunc(got, p.ints(t), func(a int, b int64) bool { return int64(a) == b }) {
				t.Errorf("seed %d: permutation(%d) is %v", s.Seed, p.N, got)
			}
		}
		x := sequence(50)
		l.Shuffle(50, func(i, j int) { x[i], x[j] = x[j], x[i] })
		if !slices.Equal(x, s.Shuffled50) {
			t.Errorf("seed %d: shuffle is %v", s.Seed, x)
		}
		l = legacy(t, s.Seed)
		for i, want := range s.Weighted {
			if got := l.Weighted(s.Weights); got != want {
				t.Fatalf("seed %d: choice %d with weights is %d, want %d", s.Seed, i, got, want)
			}
		}
	}
	t.Logf("%d of %d draws through log and pow differ in the last bits", off, total)
}

func TestGeneratorEqualsNumPy(t *testing.T) {
	for _, s := range readVectors(t).Generator {
		g := NewGenerator(s.Seed)
		for i, want := range s.Raw {
			if got := strconv.FormatUint(g.Uint64(), 10); got != want {
				t.Fatalf("seed %d: output %d is %s, want %s", s.Seed, i, got, want)
			}
		}
		equalBits(t, "random", s.Uniform, NewGenerator(s.Seed).Float64)
		g = NewGenerator(s.Seed)
		checkIntegers(t, s.Integers, g.Integers)
		equalBits(t, "after integers", []float64{s.AfterIntegers}, g.Float64)
		if got := NewGenerator(s.Seed).Weighted(s.Weights, len(s.Weighted)); !slices.Equal(got, s.Weighted) {
			t.Errorf("seed %d: choice with weights is %v", s.Seed, got)
		}
	}
}

func checkIntegers(t *testing.T, cases []ranged, draw func(low, high int64, n int) ([]int64, error)) {
	t.Helper()
	if len(cases) == 0 {
		t.Fatal("no integer vectors")
	}
	for _, c := range cases {
		want := c.ints(t)
		got, err := draw(c.Low, c.High, len(want))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("integers of [%d, %d): %v, want %v", c.Low, c.High, got, want)
		}
	}
}

func sequence(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}

func TestPythonEqualsRandom(t *testing.T) {
	for _, s := range readVectors(t).Random {
		equalBits(t, "random", s.Uniform, NewPython(s.Seed).Float64)
		p := NewPython(s.Seed)
		for _, b := range s.Bits {
			for _, want := range b.Values {
				if got := strconv.FormatUint(p.Bits(b.K), 10); got != want {
					t.Fatalf("seed %d: getrandbits(%d) is %s, want %s", s.Seed, b.K, got, want)
				}
			}
		}
		p = NewPython(s.Seed)
		for _, c := range s.Integers {
			for _, want := range c.ints(t) {
				if got, err := p.Integer(int(c.Low), int(c.High)); err != nil || int64(got) != want {
					t.Fatalf("seed %d: randint(%d, %d) is %d %v, want %d", s.Seed, c.Low, c.High, got, err, want)
				}
			}
		}
		p = NewPython(s.Seed)
		same := func(what string, c ranged, got []int, err error) {
			t.Helper()
			if err != nil || !slices.EqualFunc(got, c.ints(t), func(a int, b int64) bool { return int64(a) == b }) {
				t.Fatalf("seed %d: %s of %d, %d: %v %v", s.Seed, what, c.N, c.K, got, err)
			}
		}
		for _, c := range s.Choices {
			got, err := p.Choices(c.N, len(c.Values))
			same("choices", c, got, err)
		}
		for _, c := range s.Choice {
			got := make([]int, len(c.Values))
			var err error
			for i := range got {
				got[i], err = p.Choice(c.N)
			}
			same("choice", c, got, err)
		}
		for _, c := range s.Shuffles {
			x := sequence(c.N)
			p.Shuffle(c.N, func(i, j int) { x[i], x[j] = x[j], x[i] })
			same("shuffle", c, x, nil)
		}
		for _, c := range s.Samples {
			got, err := p.Sample(c.N, c.K)
			same("sample", c, got, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	if _, err := NewStreams(1 << 32); err == nil {
		t.Error("numpy refuses a seed of 2^32")
	}
	if _, err := legacy(t, 0).Integers(5, 5, 1); err == nil {
		t.Error("randint of an empty range")
	}
	if _, err := NewGenerator(0).Integers(6, 5, 1); err == nil {
		t.Error("integers of an empty range")
	}
	if _, err := NewPython(0).Choice(0); err == nil {
		t.Error("choice of nothing")
	}
	if _, err := NewPython(0).Choices(0, 1); err == nil {
		t.Error("choices of nothing")
	}
	if _, err := NewPython(0).Sample(3, 4); err == nil {
		t.Error("a sample larger than its population")
	}
	if _, err := NewPython(0).Integer(1, 0); err == nil {
		t.Error("randint of an empty range")
	}
}

package operator

import (
	"math"
	"testing"

	"lathe/engine/native"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: %.17g, want %.17g", what, got, want)
	}
}

// TestAttendByHand: equal scores give the mean of the values and the logarithm of their number; a key
// that outweighs all others gives its value; a NaN reaches everything that it should and nothing else.
func TestAttendByHand(t *testing.T) {
	b := attnBuffers{k: cache{page: 4, slot: 2, head: 2, pageSize: 2}, v: cache{page: 4, slot: 2, head: 2, pageSize: 2}}
	pages := []int{1, 0} // positions 0, 1 in page 1; 2 in page 0
	k := []float64{5, 0, 9, 9, 5, 0, 5, 0}
	v := []float64{3, 30, -9, -9, 1, 10, 2, 20}
	out := make([]float64, 2)
	lse := attend(out, []float64{1, 7}, k, v, b, pages, 0, 3, 0.5)
	near(t, "mean", out[0], 2)
	near(t, "mean", out[1], 20)
	near(t, "lse", lse, (2.5+math.Log(3))/math.Ln2)
	k[0] = 5000 // position 2
	attend(out, []float64{1, 7}, k, v, b, pages, 0, 3, 0.5)
	near(t, "the heavy key", out[1], 30)
	if attend(out, []float64{1, 7}, k, v, b, pages, 0, 2, 0.5); out[0] != 1.5 {
		t.Errorf("two keys: %v", out)
	}
	v[4] = math.NaN() // element 0 of position 0's value
	if attend(out, []float64{1, 7}, k, v, b, pages, 0, 2, 0.5); !math.IsNaN(out[0]) || out[1] != 15 {
		t.Errorf("a NaN in a value: %v", out)
	}
	k[6] = math.NaN()
	if lse := attend(out, []float64{1, 7}, k, v, b, pages, 0, 2, 0.5); !math.IsNaN(lse) || !math.IsNaN(out[0]) || !math.IsNaN(out[1]) {
		t.Errorf("a NaN in a key: %v, lse %v", out, lse)
	}
}

func TestPartsByHand(t *testing.T) {
	out := make([]float64, 2)
	normalise(out, []float64{3, 4}, []float64{2, 10})
	scale := 1 / math.Sqrt(12.5+float64(float32(normEps)))
	near(t, "norm", out[0], 6*scale)
	near(t, "norm", out[1], 40*scale)
	gated(out, []float64{0, math.Log(3)}, []float64{9, 4})
	near(t, "silu of 0", out[0], 0)
	near(t, "silu of ln 3", out[1], 3*math.Log(3))
	turned := make([]float64, 4)
	rotate(turned, []float64{1, 2, 3, 4}, []float64{0, 1, 1, 0}) // dimension 0 by 90 degrees, 1 by none
	for i, want := range []float64{-3, 2, 1, 4} {
		near(t, "rotation", turned[i], want)
	}
	p := &problem{}
	w := p.addMatrix("w", native.F32, 2, 3, 1)
	for i, v := range []float64{1, 2, 3, 4, 5, 6} {
		p.set(w.region, w.at(i/3, i%3), v)
	}
	got := p.product([][]float64{{1, 0, -1}}, w, []float64{10, 20})
	near(t, "product", got[0][0], 8)
	near(t, "product", got[0][1], 18)
	if i := largest([]float64{1, 7, 7, math.Inf(-1)}); i != 1 {
		t.Errorf("largest: %d", i)
	}
	if i := largest([]float64{1, math.NaN(), 7}); i != 1 {
		t.Errorf("largest with a NaN: %d", i)
	}
}

// TestRoundingToBF16 compares with the definition: nearest, ties to even, a NaN stays one.
func TestRoundingToBF16(t *testing.T) {
	for _, c := range []struct{ in, want uint32 }{{0x3F800000, 0x3F80}, {0x3F808000, 0x3F80}, {0x3F818000, 0x3F82}, {0x3F808001, 0x3F81},
		{0x7F7FFFFF, 0x7F80}, {0x7F800001, 0x7FC0}, {0xFF800000, 0xFF80}, {0x80000000, 0x8000}} {
		if got := bf16Bits(math.Float32frombits(c.in)); uint32(got) != c.want {
			t.Errorf("%#x: %#x, want %#x", c.in, got, c.want)
		}
	}
}

// TestPatternsAreTold: gap and first poison are NaN in every type, the second poison is finite, and each
// is recognised and taken for no other.
func TestPatternsAreTold(t *testing.T) {
	for _, elem := range []native.DType{native.F32, native.BF16, i32} {
		for _, p := range []pattern{gap, poisonA, poisonB} {
			b := make([]byte, 12)
			p.fill(elem, b, 1, 1)
			for _, q := range []pattern{gap, poisonA, poisonB} {
				if q.holds(elem, b, 1) != (p == q) || q.holds(elem, b, 0) {
					t.Errorf("%v: pattern %d taken for %d", elem, p, q)
				}
			}
			if v := get(elem, b, 1); elem != i32 && math.IsNaN(v) != (p != poisonB) {
				t.Errorf("%v: pattern %d reads as %v", elem, p, v)
			}
		}
	}
}

// TestRowsDependOnTheirIDAlone: what a row of a batch holds does not change with the batch around it.
func TestRowsDependOnTheirIDAlone(t *testing.T) {
	for _, op := range Names() {
		specs, err := casesOf(op)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range specs {
			if s.rows() < 2 || testing.Short() && i%5 > 0 {
				continue
			}
			row := s.rows() - 1
			whole, alone := s.build(7, identities(s.rows())), s.only(row).build(7, []uint64{uint64(row)})
			whole.solve(whole)
			alone.solve(alone)
			a, b := whole.ofRow(row), alone.ofRow(0)
			if len(a) != len(b) {
				t.Fatalf("%s: %s: %d outputs in the batch, %d alone", op, s.name(), len(a), len(b))
			}
			for i := range a {
				for j, want := range a[i].want {
					if b[i].want[j] != want {
						t.Fatalf("%s: %s: %s: %v in the batch, %v alone", op, s.name(), a[i].label, want, b[i].want[j])
					}
				}
			}
		}
	}
}

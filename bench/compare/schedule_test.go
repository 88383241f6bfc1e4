package compare

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"lathe/bench"
)

// P158: a penalty of being first (5 %) cancels, whether it hits the first slot of
// each pair or of each block; a fixed order would call it a change. The order is
// balanced and follows from the recorded seed.
func TestP158_BalancedRandomOrder(t *testing.T) {
	for name, every := range map[string]int{"first of each pair": 2, "first of each block": 4} {
		m := &machine{}
		p := shortPlan(decodeAt(0, 1, 64))
		p.Blocks, p.Looks = 10, []int{4} // 80 pairs
		m.cost = func(*engine) int64 { return 1_000_000 }
		f := measure(t, m, p)
		f = altered(f, func(s *bench.Step) {
			if s.Slot%every == 0 {
				s.HostNS = s.HostNS * 105 / 100
			}
		})
		j := judgementOf(t, f)
		if ratio := math.Exp(j.est.mean); math.Abs(ratio-1) > 0.01 || j.verdict == Faster || j.verdict == Slower {
			t.Errorf("%s 5 %% slower: ratio %.4f, %s", name, ratio, j.verdict)
		}
	}
	for seed := range uint64(50) {
		p := shortPlan(decodeAt(0, 1, 8), decodeAt(1, 2, 8), decodeAt(2, 4, 8))
		p.Seed = seed
		if !reflect.DeepEqual(p.Epoch(3), p.Epoch(3)) {
			t.Fatal("one seed, two schedules")
		}
		for _, v := range p.Epoch(int(seed)).Points {
			first := map[string]int{}
			for _, o := range v.Orders {
				first[o[0]]++
				if o != abba() && o != baab() {
					t.Fatalf("order %v", o)
				}
			}
			if first[VariantA] != first[VariantB] {
				t.Fatalf("seed %d: orders %v", seed, v.Orders)
			}
		}
	}
}

// Over many epochs every coin falls both ways about equally often, and every
// point comes first.
func TestCoinsAreFair(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 8), decodeAt(1, 2, 8), decodeAt(2, 4, 8))
	const epochs = 3000
	var bFirst, baFirst int
	leads := map[int]int{}
	seeds := map[uint64]bool{}
	for e := range epochs {
		s := p.Epoch(e)
		leads[s.Points[0].Point.ID]++
		for _, v := range s.Points {
			if v.BFirst {
				bFirst++
			}
			if v.Orders[0] == baab() {
				baFirst++
			}
			if seeds[v.Seed] {
				t.Fatal("a seed of prompts came twice")
			}
			seeds[v.Seed] = true
		}
	}
	n := 3.0 * epochs
	for name, k := range map[string]int{"sessions opened B first": bFirst, "blocks beginning with B": baFirst} {
		if z := (float64(k) - n/2) / math.Sqrt(n/4); math.Abs(z) > 4 {
			t.Errorf("%s: %d of %.0f", name, k, n)
		}
	}
	for id, k := range leads {
		if math.Abs(float64(k)-epochs/3) > 4*math.Sqrt(epochs*2/9) {
			t.Errorf("point %d leads %d of %d epochs", id, k, epochs)
		}
	}
}

// P145: what earlier points leave behind is no change between variants, and
// points keep their values whatever the order in which the plan names them.
func TestP145_OrderOfPoints(t *testing.T) {
	medians := map[string]float64{}
	for name, points := range map[string][]Point{
		"rising":  {decodeAt(0, 1, 64), decodeAt(1, 8, 64), decodeAt(2, 32, 64)},
		"falling": {decodeAt(2, 32, 64), decodeAt(1, 8, 64), decodeAt(0, 1, 64)},
	} {
		m := &machine{leaking: true}
		m.cost = func(e *engine) int64 { return int64(1_000_000 + 2*e.leftKV + 10*e.visit.Point.Batch) }
		r := judge(t, measure(t, m, shortPlan(points...)))
		if r.Verdict != NoDifference {
			t.Errorf("%s: %s %q", name, r.Verdict, r.Reasons)
		}
		for _, p := range r.Points {
			key := string(rune(p.Batch))
			if before, ok := medians[key]; ok && math.Abs(*p.AMedianNS/before-1) > 0.01 {
				t.Errorf("batch %d: %v ns in one order, %v in the other", p.Batch, *p.AMedianNS, before)
			}
			medians[key] = *p.AMedianNS
		}
	}
}

func TestPlanRefusals(t *testing.T) {
	good := func() Plan { return shortPlan(decodeAt(0, 1, 8)) }
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	for want, change := range map[string]func(*Plan){
		"no point given":             func(p *Plan) { p.Points = nil },
		"given twice":                func(p *Plan) { p.Points = append(p.Points, p.Points[0]) },
		"neither prefill nor decode": func(p *Plan) { p.Points[0].Phase = "train" },
		"want at least 1":            func(p *Plan) { p.Points[0].Batch = 0 },
		"floor NaN":                  func(p *Plan) { p.Points[0].Floor = &Floor{NS: nan} },
		"A/A floor":                  func(p *Plan) { p.Points[0].AAFloor = &nan },
		"no look given":              func(p *Plan) { p.Looks = nil },
		"ascending":                  func(p *Plan) { p.Looks = []int{6, 6} },
		"alpha":                      func(p *Plan) { p.Alpha = 1 },
		"the threshold must":         func(p *Plan) { p.MinDelta = 0 },
		"blocks 2":                   func(p *Plan) { p.Blocks = 2 },
		"vocabulary 0":               func(p *Plan) { p.Vocab = 0 },
		"settling rounds 1":          func(p *Plan) { p.SettleRounds = 1 },
	} {
		p := good()
		change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

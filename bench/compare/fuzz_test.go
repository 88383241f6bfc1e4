package compare

import (
	"encoding/json"
	"testing"

	"lathe/bench"
)

// Whatever plan and whatever labels stand in a file, judging it ends in an error
// or in a verdict whose JSON holds no NaN.
func FuzzJudge(f *testing.F) {
	plan, err := json.Marshal(shortPlan(decodeAt(0, 1, 8)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plan, uint64(1), int64(1000), int64(10))
	f.Add([]byte(`{"points":[{"batch":1}]}`), uint64(2), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, detail []byte, labels uint64, ns, spread int64) {
		file := &bench.File{Checks: []bench.Check{{Name: CheckPlan, Detail: detail}}}
		a, b := VariantA, VariantB
		for i := range 7 * 4 * 16 {
			s := bench.Step{Variant: &a, Epoch: i / 64, Block: i / 16 % 4, Slot: i / 4 % 4, Index: i%4 + 1, ContextLen: i%4 + 9,
				Phase: bench.Decode, HostNS: max(0, ns) + int64(i)*(spread%1000), Graph: "none"}
			if (i/4%4+1)/2%2 == 1 {
				s.Variant = &b
			}
			switch bit := labels >> (i % 64) & 7; {
			case i%97 == 0 && bit == 1:
				s.Block--
			case i%89 == 0 && bit == 2:
				s.Variant = nil
			case i%83 == 0 && bit == 3:
				s.Graph = "eager"
			case i%79 == 0 && bit == 4:
				s.HostNS = 0
			}
			file.Steps = append(file.Steps, s)
		}
		r, err := Judge(file)
		if err != nil {
			return
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		switch r.Verdict {
		case Faster, Slower, NoDifference, Inconclusive, Invalid:
		default:
			t.Fatalf("verdict %q", r.Verdict)
		}
	})
}

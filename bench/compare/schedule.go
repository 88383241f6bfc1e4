package compare

import (
	"math/bits"
	"math/rand/v2"
)

// Order is the order of a block's four slots.
type Order [4]string

// The two orders. A linear drift within a block cancels in both; a penalty of
// being first cancels between them.
func abba() Order { return Order{VariantA, VariantB, VariantB, VariantA} }
func baab() Order { return Order{VariantB, VariantA, VariantA, VariantB} }

// Epoch is what one epoch does, by the plan's coins alone.
type Epoch struct {
	Epoch  int
	Points []Visit // in the order in which they are visited
}

// Visit is one point in one epoch.
type Visit struct {
	Point  Point
	BFirst bool    // B's session is opened, and settled, before A's
	Orders []Order // of the planned blocks
	Seed   uint64  // of the prompts: other ids in each epoch and point
}

// Epoch gives the schedule of epoch e. The same plan gives the same schedule,
// whatever was measured before.
//
// Points are visited in a random order. Of each pair of blocks one is A B B A
// and the other B A A B, by a coin; a block left over has a coin of its own. So
// the orders are balanced, and no rhythm of the machine can follow them.
func (p Plan) Epoch(e int) Epoch {
	coins := rand.NewPCG(p.Seed, uint64(e)<<1|1)
	out := Epoch{Epoch: e, Points: make([]Visit, len(p.Points))}
	for i, pt := range p.Points {
		v := Visit{Point: pt, BFirst: coin(coins), Seed: coins.Uint64()}
		for range (p.Blocks + 1) / 2 {
			if coin(coins) {
				v.Orders = append(v.Orders, baab(), abba())
			} else {
				v.Orders = append(v.Orders, abba(), baab())
			}
		}
		v.Orders = v.Orders[:p.Blocks]
		out.Points[i] = v
	}
	for i := len(out.Points) - 1; i > 0; i-- { // Fisher-Yates
		j, _ := bits.Mul64(coins.Uint64(), uint64(i+1))
		out.Points[i], out.Points[j] = out.Points[j], out.Points[i]
	}
	return out
}

func coin(r *rand.PCG) bool { return r.Uint64()>>63 == 1 }

// promptSeed is the seed of the prompts of one repetition of a visit: of all
// slots of a decode visit (block and repetition 0), or of one prefill in each of
// the four slots of a block.
func (v Visit) promptSeed(block, repetition int) uint64 {
	return rand.NewPCG(v.Seed, uint64(block)<<32|uint64(repetition)).Uint64()
}

// each calls measure for the planned blocks of a visit and replaces those that
// did not hold: each at most ExtraBlocks times, in the same order of slots, under
// numbers behind the planned ones.
func (p Plan) each(v Visit, measure func(number int, order Order) (held bool, err error)) error {
	next := p.Blocks
	for i, order := range v.Orders {
		held, err := measure(i, order)
		for n := 0; err == nil && !held && n < p.ExtraBlocks; n++ {
			held, err = measure(next, order)
			next++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package compare

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"lathe/bench"
)

// world is a machine's noise, as standard deviations of the logarithm.
type world struct {
	name         string
	white        float64 // independent, every step
	spikes       float64 // probability of a step that takes 3 % and an exponential 20 % more
	ar, rho      float64 // stationary sd and lag-1 correlation of a slow wander
	drift        float64 // over the planned session of 6 epochs, linear
	clock        float64 // distance of the two clock states
	fast, slow   float64 // mean dwell in steps
	untagged     bool    // nobody reads the clock
	epoch        float64 // shared by both variants of an epoch
	epochVariant float64 // of each variant of an epoch
}

// worlds are the seven of the method's validation.
func worlds() []world {
	base := world{white: 0.004, spikes: 0.01}
	of := func(name string, change func(*world)) world {
		w := base
		w.name = name
		change(&w)
		return w
	}
	return []world{
		of("iid", func(*world) {}),
		of("AR1", func(w *world) { w.ar, w.rho = 0.004, 0.98 }),
		of("drift", func(w *world) { w.drift = 0.015 }),
		of("clock", func(w *world) { w.clock, w.fast, w.slow = 0.03, 400, 200 }),
		of("epoch", func(w *world) { w.epoch = 0.006 }),
		of("epoch x variant", func(w *world) { w.epoch, w.epochVariant = 0.006, 0.003 }),
		of("all", func(w *world) {
			w.ar, w.rho, w.drift = 0.003, 0.98, 0.01
			w.clock, w.fast, w.slow = 0.03, 1200, 400
			w.epoch, w.epochVariant = 0.006, 0.002
		}),
	}
}

// session is a run in a world.
type session struct {
	world
	rng     *rand.Rand
	effect  float64 // ln of B's time over A's
	steps   int     // so far
	total   float64 // steps that the drift is spread over
	wander  float64
	isSlow  bool
	left    float64 // steps until the clock changes
	shared  float64
	variant [2]float64
}

func newSession(w world, seed uint64, effect float64, p Plan) *session {
	name := fnv.New64a() // worlds of one seed are independent
	name.Write([]byte(w.name))
	s := &session{world: w, rng: rand.New(rand.NewPCG(seed, name.Sum64())), effect: math.Log1p(effect)}
	s.total = float64(6 * p.Blocks * 4 * (p.Warmup + p.Steps))
	s.wander = w.ar * s.rng.NormFloat64()
	if w.clock > 0 {
		s.isSlow = s.rng.Float64() < w.slow/(w.fast+w.slow)
		s.dwell()
	}
	return s
}

func (s *session) dwell() {
	mean := s.fast
	if s.isSlow {
		mean = s.slow
	}
	s.left = s.rng.ExpFloat64() * mean
}

func (s *session) begin() {
	s.shared = s.epoch * s.rng.NormFloat64()
	for v := range s.variant {
		s.variant[v] = s.epochVariant * s.rng.NormFloat64()
	}
}

// stepNS is one step's time, 7.5 ms but for the noise, and the clock's in MHz.
func (s *session) stepNS(b bool) (ns, mhz float64) {
	log := s.shared + s.variant[0]
	if b {
		log = s.shared + s.variant[1] + s.effect
	}
	log += s.white * s.rng.NormFloat64()
	if s.ar > 0 {
		s.wander = s.rho*s.wander + s.ar*math.Sqrt(1-s.rho*s.rho)*s.rng.NormFloat64()
		log += s.wander
	}
	log += s.drift * float64(s.steps) / s.total
	mhz = 1980
	if s.clock > 0 {
		if s.left--; s.left <= 0 {
			s.isSlow = !s.isSlow
			s.dwell()
		}
		if s.isSlow {
			log += s.clock
			mhz /= math.Exp(s.clock)
		}
	}
	s.steps++
	ns = 7.5e6 * math.Exp(log)
	if s.spikes > 0 && s.rng.Float64() < s.spikes {
		ns *= 1.03 + 0.2*s.rng.ExpFloat64()
	}
	if s.untagged {
		mhz = 0
	}
	return ns, mhz
}

// slotOf runs one slot, as the runner does.
func (s *session) slotOf(p Plan, epoch, block, pos int, variant string) slot {
	out := slot{epoch: epoch, block: block, pos: pos, b: variant == VariantB, steps: p.Steps, graph: "none"}
	x, ns := make([]float64, p.Steps), make([]float64, p.Steps)
	for i := range p.Warmup + p.Steps {
		t, mhz := s.stepNS(out.b)
		if i >= p.Warmup {
			x[i-p.Warmup], ns[i-p.Warmup] = float64(p.Points[0].ContextLen+i+1), t
			out.clock += mhz / float64(p.Steps)
		}
	}
	out.host = newSeries(x, ns)
	return out
}

// onePoint is a plan of one decode point.
func onePoint(seed uint64) Plan {
	p := DefaultPlan()
	p.Seed, p.Vocab = seed, 1000
	p.Points = []Point{{ID: 0, Batch: 1, ContextLen: 1024, Phase: bench.Decode}}
	return p
}

// simulate runs a plan of one point in a world until it is decided, with the
// runner's own schedule, replacement of blocks and looks.
func simulate(w world, seed uint64, effect float64, p Plan) judgement {
	s := newSession(w, seed, effect, p)
	var all []slot
	pt := p.Points[0]
	for e := range p.Looks[len(p.Looks)-1] {
		s.begin()
		v := p.Epoch(e).Points[0]
		_ = p.each(v, func(number int, order Order) (bool, error) {
			from := len(all)
			for i, variant := range order {
				all = append(all, s.slotOf(p, e, number, i, variant))
			}
			return p.blocks(pt, all[from:], false)[0].fault == sound, nil
		})
		for _, look := range p.Looks {
			if look == e+1 {
				if j := p.judgePoint(pt, evidence{slots: all}); !j.open {
					return j
				}
			}
		}
	}
	panic("the last look left the run open")
}

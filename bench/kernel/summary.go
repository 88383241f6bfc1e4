package kernel

import (
	"encoding/json"
	"fmt"
	"slices"

	"lathe/bench"
	"lathe/bench/stat"
)

// Figure is the median of one variant over one footprint.
type Figure struct {
	Mode      string   `json:"mode"`
	Variant   string   `json:"variant"`
	Footprint int      `json:"footprint"`
	N         int      `json:"n"`
	MedianNS  float64  `json:"median_ns"` // a call
	LoNS      *float64 `json:"lo_ns"`     // 95 % interval of the median; null: too few samples
	HiNS      *float64 `json:"hi_ns"`
	Bytes     uint64   `json:"bytes"` // a call
	GBps      float64  `json:"gb_per_s"`
}

// Proof is whether a rotation was cold: what doubling the footprint changed.
type Proof struct {
	Mode    string  `json:"mode"`
	Variant string  `json:"variant"`
	Ratio   float64 `json:"ratio"` // median over twice the copies / median
	Cold    bool    `json:"cold"`
	Why     string  `json:"why"`
}

// Summary is what a file of samples says.
type Summary struct {
	Modes   []Mode   `json:"modes"`
	Figures []Figure `json:"figures"`
	Proofs  []Proof  `json:"proofs"`
	Notes   []string `json:"notes"`
}

// Measured says whether a file is of this kind.
func Measured(f *bench.File) bool {
	return slices.ContainsFunc(f.Checks, func(c bench.Check) bool { return c.Name == CheckSchedule })
}

// Proven says whether every rotation was cold.
func (s Summary) Proven() bool {
	return !slices.ContainsFunc(s.Proofs, func(p Proof) bool { return !p.Cold })
}

// Summarise reads the samples of a file.
func Summarise(f *bench.File) (Summary, error) {
	s := Summary{Modes: []Mode{}, Figures: []Figure{}, Proofs: []Proof{}, Notes: []string{}}
	var blocks []Block
	for _, c := range f.Checks {
		switch c.Name {
		case CheckSchedule:
			var m Mode
			if err := json.Unmarshal(c.Detail, &m); err != nil {
				return s, fmt.Errorf("summarise operator samples: schedule: %w", err)
			}
			s.Modes = append(s.Modes, m)
		case CheckSamples:
			var b Block
			if err := json.Unmarshal(c.Detail, &b); err != nil {
				return s, fmt.Errorf("summarise operator samples: %w", err)
			}
			blocks = append(blocks, b)
		}
	}
	for _, m := range s.Modes {
		for _, v := range m.Variants {
			for footprint := 1; footprint <= 2; footprint++ {
				if fig, ok := figure(m, v, footprint, blocks); ok {
					s.Figures = append(s.Figures, fig)
				}
			}
			if p, ok := s.prove(m.Mode, v); ok {
				s.Proofs = append(s.Proofs, p)
			}
		}
	}
	s.Notes = append(s.Notes, s.rankings()...)
	return s, nil
}

func figure(m Mode, variant string, footprint int, blocks []Block) (Figure, bool) {
	var ns []float64
	for _, b := range blocks {
		if b.Mode == m.Mode && b.Variant == variant && b.Footprint == footprint {
			for _, v := range b.NS {
				ns = append(ns, float64(v)/float64(max(m.Schedule.Batch, 1)))
			}
		}
	}
	slices.Sort(ns)
	median, ok := stat.Median(ns)
	if !ok {
		return Figure{}, false
	}
	f := Figure{Mode: m.Mode, Variant: variant, Footprint: footprint, N: len(ns), MedianNS: median, Bytes: m.Call.Bytes}
	if median > 0 {
		f.GBps = float64(m.Call.Bytes) / median
	}
	if i, ok := stat.MedianInterval(ns, 0.95); ok {
		f.LoNS, f.HiNS = &i.Lo, &i.Hi
	}
	return f, true
}

func (s Summary) find(mode, variant string, footprint int) (Figure, bool) {
	i := slices.IndexFunc(s.Figures, func(f Figure) bool { return f.Mode == mode && f.Variant == variant && f.Footprint == footprint })
	if i < 0 {
		return Figure{}, false
	}
	return s.Figures[i], true
}

// coldSlack is how much longer a call over twice the copies may take. A rotation that a cache partly
// holds gains by more than that; what remains is noise and the page tables.
const coldSlack = 1.05

func (s Summary) prove(mode, variant string) (Proof, bool) {
	one, ok := s.find(mode, variant, 1)
	two, ok2 := s.find(mode, variant, 2)
	if !ok || !ok2 || one.MedianNS == 0 {
		return Proof{}, false
	}
	p := Proof{Mode: mode, Variant: variant, Ratio: two.MedianNS / one.MedianNS}
	switch {
	case p.Ratio <= coldSlack && p.Ratio >= 1/coldSlack:
		p.Cold, p.Why = true, "twice the footprint takes as long"
	case p.Ratio > coldSlack:
		p.Why = fmt.Sprintf("twice the footprint takes %.1f %% longer: a cache holds part of the rotation", 100*(p.Ratio-1))
	default:
		p.Why = fmt.Sprintf("twice the footprint takes %.1f %% less: the machine is too noisy to tell", 100*(1-p.Ratio))
	}
	return p, true
}

// rankings says where modes disagree about which of two variants is faster.
func (s Summary) rankings() []string {
	type order struct {
		mode, first string
		change      float64
	}
	var orders []order
	for _, m := range s.Modes {
		if len(m.Variants) != 2 {
			continue
		}
		a, ok := s.find(m.Mode, m.Variants[0], 1)
		b, ok2 := s.find(m.Mode, m.Variants[1], 1)
		if !ok || !ok2 {
			continue
		}
		first := a
		if b.MedianNS < a.MedianNS {
			first = b
		}
		orders = append(orders, order{m.Mode, first.Variant, 100 * (a.MedianNS/b.MedianNS - 1)})
	}
	var out []string
	for _, o := range orders[min(1, len(orders)):] {
		if o.first != orders[0].first {
			out = append(out, fmt.Sprintf("the modes disagree: %s is faster in %s (%+.1f %%), %s in %s (%+.1f %%); a decode step finds its inputs cold",
				orders[0].first, orders[0].mode, orders[0].change, o.first, o.mode, o.change))
		}
	}
	return out
}

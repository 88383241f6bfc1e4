package operator

import (
	"fmt"
	"math"
)

// pursue is the rest of a case's examination, once its plain calls were right: NaNs, other neighbours,
// a row alone, every number of threads, one part after the other.
func (c *checker) pursue(s spec, run *session, p *problem, base *result, seed uint64) (*Finding, error) {
	for _, look := range []func(spec, *session, *problem, *result, uint64) (*Finding, error){c.parts, c.neighbours, c.nans} {
		if f, err := look(s, run, p, base, seed); f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// parts runs a case with every number of threads, and with the parts in turn on one thread, the last
// first: one that waits for another hangs then.
func (c *checker) parts(_ spec, run *session, p *problem, base *result, _ uint64) (*Finding, error) {
	hows := []manner{{parts: 3, reverse: true}}
	for _, n := range threadCounts() {
		hows = append(hows, manner{parts: n})
	}
	for i, how := range hows {
		r, err := c.run(run, p, pattern(1+i%2), how)
		if err != nil {
			return nil, err
		}
		on := fmt.Sprintf("on %d threads", how.parts)
		if how.reverse {
			on = fmt.Sprintf("as %d parts on one thread, the last first", how.parts)
		}
		if f := r.misconduct(); f != nil {
			f.Detail = on + ": " + f.Detail
			return f, nil
		}
		if !r.outcome.right() {
			f := r.outcome.fault()
			f.Detail = fmt.Sprintf("wrong %s: %s", on, f.Detail)
			return &f, nil
		}
		if at := firstDifferent(base, r); at != "" {
			c.verdict.warn("other bits with another number of threads, first in %s", at)
		}
	}
	return nil, nil
}

// neighbours runs a case with one row kept and all others changed, and that row alone: its bits must
// stay.
func (c *checker) neighbours(s spec, run *session, _ *problem, base *result, seed uint64) (*Finding, error) {
	n := s.rows()
	if n < 2 {
		return nil, nil
	}
	row := int(mix(seed) % uint64(n))
	others := identities(n)
	for i := range others {
		if i != row {
			others[i] += uint64(1000)
		}
	}
	changed, alone := s.build(seed, others), s.only(row).build(seed, []uint64{uint64(row)})
	for _, v := range []struct {
		p    *problem
		row  int
		what string
	}{{changed, row, "its neighbours in the batch hold other values"}, {alone, 0, "it is alone in the batch"}} {
		if len(v.p.runs) == 0 {
			continue // a padded row
		}
		v.p.solve(v.p)
		r, err := c.run(run, v.p, poisonA, manner{parts: 2})
		if err != nil {
			return nil, err
		}
		if f := r.misconduct(); f != nil {
			return f, nil
		}
		if !r.outcome.right() {
			f := r.outcome.fault()
			return &f, nil
		}
		if at := rowDiffers(base, row, r, v.row); at != "" {
			return &Finding{Code: MixesRows, Detail: fmt.Sprintf("%s has other bits when %s", at, v.what)}, nil
		}
	}
	return nil, nil
}

// rowDiffers names the first run of a row whose bits are others in b, "" where none is.
func rowDiffers(a *result, rowA int, b *result, rowB int) string {
	runsA, runsB := a.problem.ofRow(rowA), b.problem.ofRow(rowB)
	for i, r := range runsA {
		if i < len(runsB) && !sameBits(a, r, b, runsB[i]) {
			return r.label
		}
	}
	return ""
}

func (p *problem) ofRow(row int) []run {
	var out []run
	for _, r := range p.runs {
		if r.row == row {
			out = append(out, r)
		}
	}
	return out
}

// nans puts a NaN into one input at a time: it must reach what depends on it, and nothing else.
func (c *checker) nans(s spec, run *session, _ *problem, _ *result, seed uint64) (*Finding, error) {
	for i := range s.build(seed, identities(s.rows())).sites {
		p := s.build(seed, identities(s.rows()))
		at := p.sites[i]
		p.set(at.region, at.at, math.NaN())
		p.solve(p)
		r, err := c.run(run, p, pattern(1+i%2), manner{parts: 2})
		if err != nil {
			return nil, err
		}
		if f := r.misconduct(); f != nil {
			return f, nil
		}
		if !r.outcome.right() {
			f := r.outcome.fault()
			f.Detail = fmt.Sprintf("with a NaN in %s: %s", at.label, f.Detail)
			return &f, nil
		}
	}
	return nil, nil
}

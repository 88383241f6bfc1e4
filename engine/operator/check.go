package operator

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"lathe/engine/native"
)

// host calls an operator over memory that it shares with the checker. An error is a *death where the
// kernel was the end of it.
type host interface {
	memory() []byte // the arena; its first page is not ours
	base() uint64   // the arena's address for the operator
	open(touchable []span) error
	supports(args int) (bool, error)
	workspace(args int) (int, error)
	call(c call) (int32, error)
}

// call is one call of an operator; all places are bytes from the start of the arena.
type call struct {
	args      int
	workspace span
	parts     int
	reverse   bool     // one part after the other, the last first
	copies    [][3]int // from, to, bytes: made as the operator returns
}

// death is the end of a host, with what it means for the kernel.
type death struct{ finding Finding }

// AsFinding says whether an error of this package is a kernel's fault, and which.
func AsFinding(err error) (Finding, bool) {
	var d *death
	if !errors.As(err, &d) {
		return Finding{}, false
	}
	return d.finding, true
}

func (d *death) Error() string { return d.finding.String() }

// checker runs the cases of one operator.
type checker struct {
	host     host
	page     int
	verdict  *Verdict
	pools    map[class]*pool
	wait     time.Duration // for what works on after its return
	last     *result       // what the arena holds
	counting bool          // the first seed's cases

	builtin builtin // our own operators; nil: there are none
}

// builtin is our own operators over the same arena.
type builtin interface {
	base() uint64 // the arena's address for them
	workspace(op string, args int) (bytes int, ok bool, err error)
	run(op string, args int, workspace span) (int32, error)
}

// session is what a case keeps over its calls, as an engine's session does.
type session struct {
	label     string
	workspace int       // bytes, zeroed before the first call
	ours      []float64 // distance of our own operator, a region
}

// result is one call: what it left, and a copy of its outputs as they were when it returned.
type result struct {
	problem *problem
	layout  layout
	got     [][]byte // of each region with runs
	code    int32
	outcome outcome
	late    bool
	intact  string
}

// lay places a problem in the arena, for an operator that has the arena at base.
func (c *checker) lay(p *problem, workspace int, at placement, base uint64) (layout, error) {
	raw, err := p.encode(make([]uint64, len(p.regions)))
	if err != nil {
		return layout{}, fmt.Errorf("lay out the arguments of %s: %w", p.op, err)
	}
	l := lay(p, len(raw), workspace, c.page, c.page, at)
	if l.end > len(c.host.memory()) {
		return layout{}, fmt.Errorf("check %s: a case needs %d bytes, the arena has %d", p.op, l.end, len(c.host.memory()))
	}
	if raw, err = p.encode(l.addresses(base)); err != nil {
		return layout{}, err
	}
	copy(c.host.memory()[l.args.from:], raw)
	l.write(p, c.host.memory())
	return l, nil
}

// run lays a problem out with its outputs poisoned, calls the operator and judges what it left.
func (c *checker) run(s *session, p *problem, with pattern, how manner) (*result, error) {
	p.poison(with)
	l, err := c.lay(p, s.workspace, how.at, c.host.base())
	if err != nil {
		return nil, err
	}
	if err := c.host.open(l.open()); err != nil {
		return nil, err
	}
	r := &result{problem: p, layout: l}
	c.verdict.Calls++
	if r.code, err = c.host.call(call{l.args.from, l.workspace, how.parts, how.reverse, l.copies()}); err != nil {
		return nil, c.explain(err, r)
	}
	r.got = c.snapshots(l, p)
	allowed := make([]float64, len(p.regions))
	for i := range p.regions {
		allowed[i] = p.allowed(i, s.ours[i])
	}
	r.outcome = judge(p, r.got, with, allowed)
	r.intact = l.intact(p, c.host.memory())
	if r.outcome.unwritten > 0 {
		time.Sleep(c.wait)
		c.wait = max(c.wait/2, lull) // what does not come late once need not be waited for as long again
	}
	r.late, c.last = c.changedSince(r), r
	c.measure(p, r.outcome)
	return r, nil
}

// manner is how a call is made.
type manner struct {
	at      placement
	parts   int
	reverse bool
}

// snapshots copies the outputs as they were when the operator returned.
func (c *checker) snapshots(l layout, p *problem) [][]byte {
	got := make([][]byte, len(p.regions))
	for i, snap := range l.snapshots {
		if snap.n > 0 {
			got[i] = bytes.Clone(c.host.memory()[snap.from:][:l.regions[i].n])
		}
	}
	return got
}

// changedSince says whether outputs were written after the operator had returned.
func (c *checker) changedSince(r *result) bool {
	for i, got := range r.got {
		if got != nil && !bytes.Equal(got, c.host.memory()[r.layout.regions[i].from:][:len(got)]) {
			return true
		}
	}
	return false
}

// explain names the buffer next to the address that a crash touched.
func (c *checker) explain(err error, r *result) error {
	d, ok := err.(*death)
	if !ok {
		return err
	}
	if fault, ok := readFault(c.host.memory()); ok && d.finding.Code == Crashed {
		if near, ok := r.layout.touched(r.problem, int(int64(fault.address-c.host.base()))); ok {
			d.finding.Code, d.finding.Detail = OutOfBounds, fmt.Sprintf("%s what it must not: %s (%s)", fault.verb(), near, d.finding.Detail)
		} else {
			d.finding.Detail += fault.where()
		}
	}
	return d
}

// pool gathers distances over many outputs of one class: squares of relative distances, each
// weighted by the number of elements.
type pool struct{ theirs, ours tally }

type tally struct {
	square float64
	n      int
}

func (t *tally) add(distance float64, n int) {
	t.square += distance * distance * float64(n)
	t.n += n
}

func (t tally) distance() float64 { return math.Sqrt(t.square / float64(t.n)) }

// class is what outputs have in common that one bound holds for.
type class struct {
	elem      native.DType
	roundings int
}

// pool is that of a region's class.
func (c *checker) pool(p *problem, region int) *pool {
	k := class{p.regions[region].elem, p.roundings(region)}
	if c.pools[k] == nil {
		c.pools[k] = &pool{}
	}
	return c.pools[k]
}

// measure notes how far outputs were from the reference. Cases that magnify rounding are left out.
func (c *checker) measure(p *problem, o outcome) {
	for i, d := range o.total {
		if o.counts[i] > 0 && !math.IsNaN(d) && p.loose == 1 {
			c.pool(p, i).theirs.add(d, o.counts[i])
		}
	}
}

// ours is the distance of our own operator from the reference in each region of a problem, in the
// segment where it is furthest off; -1 where it is not known.
func (c *checker) ours(p *problem) ([]float64, error) {
	out := make([]float64, len(p.regions))
	for i := range out {
		out[i] = -1
	}
	if c.builtin == nil {
		return out, nil
	}
	p.poison(poisonA)
	l, err := c.lay(p, 0, placement{front: true}, c.builtin.base())
	if err != nil {
		return nil, err
	}
	bytes, ok, err := c.builtin.workspace(p.op, l.args.from)
	if err != nil || !ok {
		return out, err
	}
	if l, err = c.lay(p, bytes, placement{front: true}, c.builtin.base()); err != nil {
		return nil, err
	}
	if code, err := c.builtin.run(p.op, l.args.from, l.workspace); err != nil || code != 0 {
		return out, err
	}
	got := make([][]byte, len(p.regions))
	for i, s := range l.regions {
		got[i] = c.host.memory()[s.from:][:s.n]
	}
	o := judge(p, got, poisonA, unbounded(len(p.regions)))
	for i, d := range o.total {
		out[i] = o.peak[i]
		if p.loose == 1 && o.counts[i] > 0 && !math.IsNaN(d) {
			c.pool(p, i).ours.add(d, o.counts[i])
		}
	}
	return out, nil
}

func unbounded(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Inf(1)
	}
	return out
}

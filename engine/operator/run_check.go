//go:build unix

package operator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
)

// Check examines an operator of a library against the float64 reference, in a child process. A kernel
// that fails is a verdict with findings; an error is what hinders the check itself: no such operator,
// file or symbol, no child, a cancelled context.
func Check(ctx context.Context, o Options) (Verdict, error) {
	b, v, err := Prepare(ctx, o)
	if b == nil {
		return v, err
	}
	v.End(b.Close())
	return v, context.Cause(ctx)
}

// Prepare is Check that keeps the process of a kernel that passed, so that it can be timed there; with
// o.Timed set, in the call that a decode step of it makes. Without a file only our own operator can be
// timed. The caller closes the Bench; it is nil where the kernel did not pass.
func Prepare(ctx context.Context, o Options) (*Bench, Verdict, error) {
	v := Verdict{Op: o.Op, File: o.File, Findings: []Finding{}, Warnings: []string{}, Precisions: []Precision{}, Threads: threadCounts()}
	o, err := o.withDefaults()
	if err != nil {
		return nil, v, err
	}
	v.Seed, v.Seeds = o.Seed, o.Seeds
	b := &Bench{seed: o.Seed}
	specs, err := b.cases(o)
	if err != nil {
		return nil, v, err
	}
	if o.File != "" {
		if v.SHA256, err = fileSHA256(o.File); err != nil {
			return nil, v, fmt.Errorf("open kernel %s: %w", o.File, plain(err))
		}
		s, err := readSurface(o.File)
		if err != nil {
			return nil, v, fmt.Errorf("open kernel %s: %w", o.File, err)
		}
		s.judge(&v)
	}
	if b.process, err = startProcess(ctx, o.Self, b.arenaBytes(), o.Limit); err != nil {
		return nil, v, err
	}
	b.checker = &checker{host: b.process, page: os.Getpagesize(), verdict: &v, pools: map[class]*pool{}, wait: lateWait}
	ours, err := newOurs(b.process.arena, o.ISA)
	if err != nil {
		b.release()
		return nil, v, err
	}
	b.checker.builtin, b.ours, b.threads = ours, ours, o.Threads
	if err = b.process.load(o.File, o.Op, o.ISA); err == nil {
		err = b.examine(o, specs)
	}
	if err = b.conclude(&v, err); err != nil || !v.OK {
		return nil, v, err
	}
	return b, v, nil
}

// examine runs the cases, and takes what timing needs of the model's call.
func (b *Bench) examine(o Options, specs []spec) error {
	if o.File != "" {
		if err := b.checker.examineAll(o, specs); err != nil {
			return err
		}
		if err := b.checker.examineModel(o); err != nil {
			return err
		}
	}
	if b.spec == nil || len(b.checker.verdict.Findings) > 0 {
		return nil
	}
	c := b.checker
	c.counting = false
	l, err := c.lay(b.problem, 0, placement{front: true}, b.ours.base())
	if err != nil {
		return err
	}
	b.args = l.args.n
	wanted, _, err := b.ours.workspaceFor(b.problem.op, l.args.from, o.Threads)
	if err != nil {
		return err
	}
	b.room = span{0, wanted}
	if o.File == "" {
		return nil
	}
	run, ok, err := c.begin(b.spec, b.problem)
	if err != nil {
		return err
	}
	if !ok {
		c.verdict.found(Finding{Code: SupportsNothing, Case: b.spec.name(), Detail: "its _supports refuses the call of a decode step"})
		return nil
	}
	b.room.n = max(b.room.n, run.workspace)
	return c.examine(b.spec, mix(b.seed), 0, false)
}

// conclude completes the verdict of an examination that ended with err, and ends the process of a
// kernel that did not pass.
func (b *Bench) conclude(v *Verdict, err error) error {
	var end *death
	if err == nil {
		err = context.Cause(b.process.ctx)
	}
	if err != nil && !errors.As(err, &end) {
		b.release()
		return err
	}
	if end != nil {
		v.found(end.finding)
	}
	if len(v.Findings) > 0 {
		for _, f := range b.process.finish() {
			if end == nil || b.process.out.size() > 0 { // what it said on dying is told with its death
				v.found(f)
			}
		}
		b.release()
	}
	b.checker.sum()
	return nil
}

// cases are the edge cases, and with a shape the call of a decode step.
func (b *Bench) cases(o Options) ([]spec, error) {
	specs, err := casesOf(o.Op)
	if err != nil || o.Timed == nil {
		return specs, err
	}
	if b.spec, err = o.Timed.inStep(o.Op); err != nil {
		return nil, err
	}
	b.problem = b.spec.build(mix(o.Seed), identities(b.spec.rows()))
	b.call = pack(b.problem, 0)
	return specs, nil
}

// arenaBytes is the address space of the shared memory; only what a case uses is ever touched.
func (b *Bench) arenaBytes() int { return max(1<<30, 4*b.call.end) }

// examineAll runs every case with every seed; the first seed goes furthest. Once a seed has found
// something the next ones are not needed.
func (c *checker) examineAll(o Options, specs []spec) error {
	total, done := o.Seeds*len(specs), 0
	for i := range o.Seeds {
		c.counting = i == 0 // cases, not their repetitions
		for j, s := range specs {
			if o.Progress != nil {
				o.Progress(done, total)
			}
			err := c.examine(s, mix(o.Seed+uint64(i)), i+j, i == 0)
			var end *death
			if errors.As(err, &end) && end.finding.Case == "" {
				end.finding.Case = s.name()
			}
			if err != nil {
				return err
			}
			done++
			if len(c.verdict.Findings) == mostFindings {
				return nil
			}
		}
		if c.counting = true; len(c.verdict.Findings) > 0 {
			return nil
		}
		if c.verdict.Refused == c.verdict.Cases {
			c.verdict.found(Finding{Code: SupportsNothing, Detail: fmt.Sprintf("its _supports refuses all %d cases", c.verdict.Cases)})
			return nil
		}
	}
	return nil
}

// examineModel runs the calls that a step of the model makes.
func (c *checker) examineModel(o Options) error {
	if o.Model == nil || len(c.verdict.Findings) > 0 {
		return nil
	}
	calls, cut, err := o.Model.calls(o.Op)
	if err != nil {
		return err
	}
	for _, s := range calls {
		before := c.verdict.Refused
		err := c.examine(s, mix(o.Seed-1), 1, false)
		var end *death
		if errors.As(err, &end) && end.finding.Case == "" {
			end.finding.Case = s.name()
		}
		if err != nil {
			return err
		}
		if c.verdict.Refused == before {
			continue
		}
		if cut {
			c.verdict.warn("its _supports refuses the model's call with fewer outputs, so that this call was not checked")
			continue
		}
		c.verdict.found(Finding{Code: SupportsNothing, Case: s.name(), Detail: "its _supports refuses a call of the model's decode step"})
	}
	return nil
}

// sum completes the verdict.
func (c *checker) sum() {
	classes := slices.SortedFunc(maps.Keys(c.pools), func(a, b class) int {
		return cmp.Or(cmp.Compare(a.elem, b.elem), cmp.Compare(a.roundings, b.roundings))
	})
	for _, k := range classes {
		w := c.pools[k]
		if w.theirs.n == 0 {
			continue
		}
		p := Precision{Elem: k.elem.String(), Roundings: k.roundings, Distance: w.theirs.distance(), Allowed: bound(k.roundings, -1)}
		if w.ours.n > 0 {
			ours := w.ours.distance()
			p.Builtin, p.Allowed = &ours, max(p.Allowed, bound(k.roundings, ours))
		}
		if p.Distance > p.Allowed && len(c.verdict.Findings) == 0 {
			c.verdict.found(Finding{Code: LowPrecision, Detail: fmt.Sprintf("relative L2 %.2g from the reference over all %s outputs, %.2g is allowed",
				p.Distance, p.Elem, p.Allowed)})
		}
		c.verdict.Precisions = append(c.verdict.Precisions, p)
	}
	c.verdict.OK = len(c.verdict.Findings) == 0
}

func fileSHA256(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

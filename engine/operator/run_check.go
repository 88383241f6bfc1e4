//go:build unix

package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"lathe/engine/native"
)

// Check examines an operator of a library against the float64 reference, in a child process. A kernel
// that fails is a verdict with findings; an error is what hinders the check itself: no such operator,
// file or symbol, no child, a cancelled context.
func Check(ctx context.Context, o Options) (Verdict, error) {
	v := Verdict{Op: o.Op, File: o.File, Findings: []Finding{}, Warnings: []string{}, Precisions: []Precision{}, Threads: threadCounts()}
	specs, err := casesOf(o.Op)
	if err != nil {
		return v, err
	}
	if o, err = o.withDefaults(); err != nil {
		return v, err
	}
	v.Seed, v.Seeds = o.Seed, o.Seeds
	if v.SHA256, err = fileSHA256(o.File); err != nil {
		return v, fmt.Errorf("open kernel %s: %w", o.File, plain(err))
	}
	s, err := readSurface(o.File)
	if err != nil {
		return v, fmt.Errorf("open kernel %s: %w", o.File, err)
	}
	s.judge(&v)
	p, err := startProcess(ctx, o.Self, arenaBytes, o.Limit)
	if err != nil {
		return v, err
	}
	defer p.release()
	c := &checker{host: p, page: os.Getpagesize(), verdict: &v, pools: map[native.DType]*pool{}, wait: lateWait}
	if err = p.load(o.File, o.Op); err == nil {
		err = c.examineAll(o, specs)
	}
	var end *death
	if err != nil && !errors.As(err, &end) {
		return v, err
	}
	if end != nil {
		v.found(end.finding)
	}
	for _, f := range p.finish() {
		if end == nil || f.Detail != "" && p.out.size() > 0 {
			v.found(f)
		}
	}
	c.sum()
	return v, context.Cause(ctx)
}

// examineAll runs every case with every seed; the first seed goes furthest. Once a seed has found
// something the next ones are not needed.
func (c *checker) examineAll(o Options, specs []spec) error {
	total, done := o.Seeds*len(specs), 0
	for i := range o.Seeds {
		c.counting = i == 0
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
		if len(c.verdict.Findings) > 0 {
			return nil
		}
		if c.verdict.Refused == c.verdict.Cases {
			c.verdict.found(Finding{Code: SupportsNothing, Detail: fmt.Sprintf("its _supports refuses all %d cases", c.verdict.Cases)})
			return nil
		}
	}
	return nil
}

// sum completes the verdict.
func (c *checker) sum() {
	for _, e := range []native.DType{native.F32, native.BF16} {
		w := c.pools[e]
		if w == nil || w.theirs.n == 0 {
			continue
		}
		p := Precision{Elem: e.String(), Distance: w.theirs.distance(), Allowed: bound(e, -1)}
		if w.ours.n > 0 {
			ours := w.ours.distance()
			p.Builtin, p.Allowed = &ours, bound(e, ours)
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

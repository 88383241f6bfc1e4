package operator

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// threadCounts are the numbers of parts that every operator must work with.
func threadCounts() []int { return []int{1, 2, 3, 8} }

// examine runs one case with one seed: the same inputs twice, others at the same addresses, others at
// other addresses. turn picks the number of threads. With thorough it goes on to NaNs, neighbours and
// every number of threads. A *death ends everything.
func (c *checker) examine(s spec, seed uint64, turn int, thorough bool) error {
	ids := identities(s.rows())
	first, second := s.build(seed, ids), s.build(mix(seed), ids)
	first.solve(first)
	second.solve(second)
	run, ok, err := c.begin(s, first)
	if err != nil || !ok {
		return err
	}
	parts := threadCounts()[turn%len(threadCounts())]
	calls := []struct {
		p    *problem
		with pattern
		at   placement
	}{{first, poisonA, placement{}}, {first, poisonB, placement{}}, {second, poisonA, placement{}}, {second, poisonB, placement{front: true}}}
	var results []*result
	for _, call := range calls {
		r, err := c.run(run, call.p, call.with, manner{at: call.at, parts: parts})
		if err != nil {
			return err
		}
		results = append(results, r)
		if r.code != 0 || r.intact != "" || r.late {
			break // it is named below, and may spoil what follows
		}
	}
	f, err := c.conclude(s, run, results, seed)
	if err == nil && f == nil && thorough {
		f, err = c.pursue(s, run, first, results[0], seed)
	}
	if err == nil && f == nil {
		f = c.lateWork(c.last)
	}
	if f != nil {
		f.Case = s.name()
		c.verdict.found(*f)
	}
	return err
}

// begin asks the library whether it takes the case and how much workspace it wants; ok is false where
// it refuses.
func (c *checker) begin(s spec, p *problem) (run *session, ok bool, err error) {
	run = &session{label: s.name()}
	if run.ours, err = c.ours(p); err != nil {
		return nil, false, err
	}
	l, err := c.lay(p, 0, placement{}, c.host.base())
	if err != nil {
		return nil, false, err
	}
	if err := c.host.open([]span{l.args}); err != nil { // a question's buffers are not to be read
		return nil, false, err
	}
	if ok, err = c.host.supports(l.args.from); err != nil {
		return nil, false, c.explain(err, &result{problem: p, layout: l})
	}
	if c.counting {
		c.verdict.Cases++
	}
	if !ok {
		if c.counting {
			c.verdict.Refused++
		}
		return nil, false, nil
	}
	if run.workspace, err = c.host.workspace(l.args.from); err != nil {
		return nil, false, c.explain(err, &result{problem: p, layout: l})
	}
	if run.workspace > 0 {
		if l, err = c.lay(p, run.workspace, placement{}, c.host.base()); err != nil {
			return nil, false, err
		}
		clear(c.host.memory()[l.workspace.from:][:l.workspace.n])
	}
	return run, true, nil
}

// conclude says what the calls of examine show: the same inputs twice, then others at the same
// addresses, then those at other ones. nil where everything was right.
func (c *checker) conclude(s spec, run *session, results []*result, seed uint64) (*Finding, error) {
	for _, r := range results {
		if f := r.misconduct(); f != nil {
			return f, nil
		}
	}
	right := make([]bool, len(results))
	for i, r := range results {
		right[i] = r.outcome.right()
	}
	if !slices.Contains(right, false) {
		if i := firstDifferent(results[0], results[1]); i != "" {
			return &Finding{Code: Unsteady, Detail: "the same inputs gave other bits the second time, first in " + i}, nil
		}
		return nil, nil
	}
	if all(results, func(r *result) bool { return r.silent() }) {
		return &Finding{Code: WritesNothing, Detail: fmt.Sprintf("returned 0 in %d calls and wrote none of its outputs", len(results))}, nil
	}
	if right[0] && results[1].outcome.unwritten > 0 {
		return &Finding{Code: SkipsRepeat, Detail: "wrote its outputs for new inputs; the same inputs again, with the outputs overwritten, left " +
			fmt.Sprintf("%d of %d outputs unwritten", results[1].outcome.unwritten, results[1].outcome.fresh)}, nil
	}
	if !right[2] && resembles(results[0].problem, results[2].got) {
		return c.earlier(s, run, right[0], seed)
	}
	if right[0] {
		return laterFault(results, right), nil
	}
	f := results[0].outcome.fault()
	return &f, nil
}

// earlier tells apart the two ways of answering with an earlier call's result: where fresh inputs at
// fresh addresses are right, addresses are what it goes by.
func (c *checker) earlier(s spec, run *session, atFirst bool, seed uint64) (*Finding, error) {
	if atFirst {
		p := s.build(mix(mix(seed)), identities(s.rows()))
		p.solve(p)
		r, err := c.run(run, p, poisonA, manner{at: placement{shift: 7}, parts: 1})
		if err != nil {
			return nil, err
		}
		if r.outcome.right() {
			return &Finding{Code: CachesPointers, Detail: "other inputs at the same addresses gave the result of the earlier inputs; at other addresses they were right"}, nil
		}
	}
	return &Finding{Code: StaleOutput, Detail: "other inputs gave the result of an earlier call"}, nil
}

// laterFault is the finding where the first call was right and a later one was not.
func laterFault(results []*result, right []bool) *Finding {
	i := slices.Index(right, false)
	what := [...]string{"", "the same inputs again", "the second inputs, at the same addresses", "the second inputs, at other addresses"}[i]
	return &Finding{Code: WrongLater, Detail: fmt.Sprintf("right on the first call and wrong on %s: %s", what, results[i].outcome.fault().Detail)}
}

// misconduct is a fault that has nothing to do with the numbers.
func (r *result) misconduct() *Finding {
	switch {
	case r.late:
		return &Finding{Code: WorksLate, Detail: "its outputs changed after it had returned: something works on, on a thread of its own"}
	case r.code != 0:
		return &Finding{Code: ReturnedError, Detail: fmt.Sprintf("returned %d", r.code)}
	case r.intact != "":
		return &Finding{Code: WroteElsewhere, Detail: r.intact}
	}
	return nil
}

// silent says that a call changed nothing of what it should have written.
func (r *result) silent() bool { return r.outcome.unwritten == r.outcome.fresh && !r.outcome.changed }

// lateWork waits and looks whether anything is written after a case's last call.
func (c *checker) lateWork(r *result) *Finding {
	time.Sleep(lull)
	if c.changedSince(r) {
		r.late = true
		return r.misconduct()
	}
	return nil
}

// lull is how long a case waits for late writes.
const lull = 2 * time.Millisecond

// firstDifferent names the first run whose bits differ between two results of one problem's shape, ""
// where none does.
func firstDifferent(a, b *result) string {
	for i, r := range a.problem.runs {
		if !sameBits(a, r, b, b.problem.runs[i]) {
			return r.label
		}
	}
	return ""
}

func sameBits(a *result, ra run, b *result, rb run) bool {
	w := width(a.problem.regions[ra.region].elem)
	return bytes.Equal(a.got[ra.region][ra.at*w:(ra.at+ra.n)*w], b.got[rb.region][rb.at*w:(rb.at+rb.n)*w])
}

func all(results []*result, is func(*result) bool) bool {
	return !slices.ContainsFunc(results, func(r *result) bool { return !is(r) })
}

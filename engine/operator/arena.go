package operator

import (
	"bytes"
	"fmt"
	"slices"
)

// alignment is what a buffer's start is aligned to: the promise of operator.h.
const alignment = 64

// span is bytes from of a memory, n long.
type span struct{ from, n int }

// placement says where in the arena buffers lie.
type placement struct {
	front bool // at the front of their pages, behind a guard; otherwise at the end, before one
	shift int  // pages left free in front of everything
}

// layout is where the buffers of a problem lie in the arena, in bytes from its start. Between any two
// there is a page that nobody may touch.
type layout struct {
	args      span
	regions   []span // the buffers
	pages     []span // whole pages that hold them
	snapshots []span // copies of regions with outputs, made as the operator returns; n 0: none
	workspace span
	room      span // whole pages that hold the workspace
	end       int
}

// open is everything that the operator's process may touch.
func (l layout) open() []span {
	out := append([]span{}, l.pages...)
	for _, s := range append([]span{l.args, l.room}, l.snapshots...) {
		if s.n > 0 {
			out = append(out, s)
		}
	}
	return out
}

// lay places a problem from byte first on.
func lay(p *problem, argBytes, workspace, page, first int, at placement) layout {
	l := layout{end: first + (at.shift+1)*page}
	take := func(n int) span {
		s := span{l.end, (n + page - 1) / page * page}
		l.end += s.n + page
		return s
	}
	l.args = take(argBytes)
	for i, r := range p.regions {
		bytes := len(r.data)
		whole := take(max(bytes, 1))
		s := span{whole.from, bytes}
		if !at.front {
			s.from += (whole.n - bytes) / alignment * alignment
		}
		l.regions, l.pages = append(l.regions, s), append(l.pages, whole)
		if p.hasRuns(i) {
			l.snapshots = append(l.snapshots, take(bytes))
		} else {
			l.snapshots = append(l.snapshots, span{})
		}
	}
	if workspace > 0 {
		l.room = take(workspace)
		const aligned = 256 // the promise of operator.h for workspaces
		l.workspace = span{l.room.from + (l.room.n-workspace)/aligned*aligned, workspace}
	}
	return l
}

// pack places a problem's regions from byte first on, aligned and without guards: a copy to be timed.
// end is where the copy ends.
func pack(p *problem, first int) layout {
	l := layout{end: first}
	for _, r := range p.regions {
		l.regions = append(l.regions, span{l.end, len(r.data)})
		l.end += (len(r.data) + alignment - 1) / alignment * alignment
	}
	return l
}

func (p *problem) hasRuns(region int) bool {
	return slices.ContainsFunc(p.runs, func(r run) bool { return r.region == region })
}

// addresses are where the regions lie for a process that has the arena at base.
func (l layout) addresses(base uint64) []uint64 {
	out := make([]uint64, len(l.regions))
	for i, s := range l.regions {
		out[i] = base + uint64(s.from)
	}
	return out
}

// write puts the data of the regions into memory, and the gap pattern around them.
func (l layout) write(p *problem, memory []byte) {
	for i, r := range p.regions {
		s, whole := l.regions[i], l.pages[i]
		slack(memory[whole.from:s.from])
		copy(memory[s.from:], r.data)
		slack(memory[s.from+s.n : whole.from+whole.n])
		if snap := l.snapshots[i]; snap.n > 0 {
			clear(memory[snap.from : snap.from+s.n])
		}
	}
}

// slack fills what lies around a buffer: a NaN in every element type.
func slack(b []byte) {
	for i := range b {
		b[i] = slackByte
	}
}

const slackByte = 0xFF

// copies are the copies to make as the operator returns.
func (l layout) copies() [][3]int {
	var out [][3]int
	for i, snap := range l.snapshots {
		if snap.n > 0 {
			out = append(out, [3]int{l.regions[i].from, snap.from, l.regions[i].n})
		}
	}
	return out
}

// intact says what was written that no operator may write: "" where nothing was. got is the memory.
func (l layout) intact(p *problem, got []byte) string {
	for i, r := range p.regions {
		s, whole := l.regions[i], l.pages[i]
		for _, around := range []span{{whole.from, s.from - whole.from}, {s.from + s.n, whole.from + whole.n - s.from - s.n}} {
			for j, b := range got[around.from : around.from+around.n] {
				if b != slackByte {
					return fmt.Sprintf("wrote outside %s, %s", r.name, beside(around.from+j, s))
				}
			}
		}
		now := got[s.from : s.from+s.n]
		for _, kept := range p.kept(i) {
			a, b := kept.from*width(r.elem), (kept.from+kept.n)*width(r.elem)
			if bytes.Equal(now[a:b], r.data[a:b]) {
				continue
			}
			for e := kept.from; e < kept.from+kept.n; e++ {
				w := width(r.elem)
				if !bytes.Equal(now[e*w:(e+1)*w], r.data[e*w:(e+1)*w]) {
					return fmt.Sprintf("wrote element %d of %s, which is no output", e, r.name)
				}
			}
		}
	}
	return ""
}

// beside says how far an address in the arena lies from a buffer.
func beside(at int, s span) string {
	if at < s.from {
		return fmt.Sprintf("%d bytes before its start", s.from-at)
	}
	return fmt.Sprintf("%d bytes past its end", at-s.from-s.n)
}

// kept are the elements of a region that no run covers.
func (p *problem) kept(region int) []span {
	var runs []span
	for _, r := range p.runs {
		if r.region == region {
			runs = append(runs, span{r.at, r.n})
		}
	}
	slices.SortFunc(runs, func(a, b span) int { return a.from - b.from })
	var out []span
	at := 0
	for _, r := range append(runs, span{p.regions[region].n, 0}) {
		if r.from > at {
			out = append(out, span{at, r.from - at})
		}
		at = r.from + r.n
	}
	return out
}

// touched explains an address that the operator must not touch: which buffer lies nearest. ok is
// false where it is not in the arena.
func (l layout) touched(p *problem, at int) (text string, ok bool) {
	if at < 0 || at >= l.end {
		return "", false
	}
	best := -1
	far := func(i int) int {
		s := l.regions[i]
		return max(s.from-at, at-s.from-s.n)
	}
	for i := range p.regions {
		if best < 0 || far(i) < far(best) {
			best = i
		}
	}
	if s := l.regions[best]; at >= s.from && at < s.from+s.n {
		return fmt.Sprintf("%s itself, which only a call may touch", p.regions[best].name), true
	}
	return fmt.Sprintf("%s, %s", p.regions[best].name, beside(at, l.regions[best])), true
}

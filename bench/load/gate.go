package load

import "sync"

// gate is the client's semaphore. Requests that find no permit wait in order of
// arrival, as behind the harnesses' own; a permit that comes back goes straight
// to the first of them.
type gate struct {
	mu      sync.Mutex
	limit   int // 0: none
	inside  int
	waiting []*exchange
	first   int // of waiting
	closed  bool
}

// arrive lets x in, or queues it. A closed gate does neither.
func (g *gate) arrive(x *exchange) (admitted, queued bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return false, false
	case g.limit > 0 && g.inside >= g.limit:
		g.waiting = append(g.waiting, x)
		return false, true
	}
	g.inside++
	return true, false
}

// leave gives a permit back and returns who has it now, nil for nobody.
func (g *gate) leave() *exchange {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first == len(g.waiting) {
		g.inside--
		return nil
	}
	x := g.waiting[g.first]
	g.waiting[g.first] = nil
	if g.first++; g.first == len(g.waiting) {
		g.waiting, g.first = g.waiting[:0], 0
	}
	return x
}

// remove takes those out of the queue that match, and returns them.
func (g *gate) remove(match func(x *exchange) bool) (out []*exchange) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var kept []*exchange
	for _, x := range g.waiting[g.first:] {
		if match(x) {
			out = append(out, x)
		} else {
			kept = append(kept, x)
		}
	}
	g.waiting, g.first = kept, 0
	return out
}

// close turns away everybody from now on and says who was waiting.
func (g *gate) close() (dropped []*exchange) {
	g.mu.Lock()
	defer g.mu.Unlock()
	dropped = g.waiting[g.first:]
	g.closed, g.waiting, g.first = true, nil, 0
	return dropped
}

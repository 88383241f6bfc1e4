package load

import (
	"context"
	"sync/atomic"
)

// newTransport reads plain connections on threads of our own, and those under
// TLS with goroutines.
func newTransport(c *Client) (transport, error) {
	if c.target.secure {
		return newStreams(c), nil
	}
	g := &loops{}
	for range max(1, c.opt.Loops) {
		l, err := newLoop(c)
		if err != nil {
			g.close()
			return nil, err
		}
		g.all = append(g.all, l)
	}
	return g, nil
}

// loops shares requests out over several reading threads.
type loops struct {
	all  []*loop
	turn atomic.Uint32
}

func (g *loops) start(x *exchange) {
	g.all[int(g.turn.Add(1))%len(g.all)].start(x)
}

func (g *loops) abort(r *running, c Class) {
	for _, l := range g.all {
		l.abort(r, c)
	}
}

func (g *loops) ahead(ctx context.Context, n int) error {
	for i, l := range g.all {
		share := n / len(g.all)
		if i < n%len(g.all) {
			share++
		}
		if err := l.ahead(ctx, share); err != nil {
			return err
		}
	}
	return nil
}

func (g *loops) figures() Connected {
	var f Connected
	for _, l := range g.all {
		one := l.figures()
		f.Opened += one.Opened
		f.Reused += one.Reused
		f.Dropped += one.Dropped
		f.BusyNS = max(f.BusyNS, one.BusyNS)
		f.BusyPeak = max(f.BusyPeak, one.BusyPeak)
	}
	return f
}

func (g *loops) close() {
	for _, l := range g.all {
		l.close()
	}
}

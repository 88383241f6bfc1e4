package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"lathe/bench"
)

// Client is the connections of a serving run. They outlive one plan: warm-ups
// and the run itself share the pool, as the harnesses' do.
type Client struct {
	opt    Options
	clock  bench.Clock
	target *target
	via    transport
	busy   atomic.Bool // a plan is carried out
	stamps int         // a socket that keeps the kernel stamping; -1: none
}

// transport moves exchanges over connections.
type transport interface {
	// start takes an exchange; its run's over is called once, on whatever
	// goroutine, when it has ended.
	start(x *exchange)
	// abort ends every exchange of a run with the class.
	abort(r *running, c Class)
	// ahead opens idle connections.
	ahead(ctx context.Context, n int) error
	figures() Connected
	close()
}

// aheadLimit is how long a connection that is opened ahead may take.
const aheadLimit = 10 * time.Second

// Connected is what a client's connections did so far.
type Connected struct {
	Opened  int `json:"opened"`
	Reused  int `json:"reused"`  // requests that found a connection
	Dropped int `json:"dropped"` // connections given up because the body went on behind [DONE]
	// BusyNS is the time that the reading thread did not wait (the busiest one
	// where there are several), and BusyPeak its largest share of a second. A
	// thread that is always busy is the limit of what is measured.
	BusyNS   int64   `json:"busy_ns"`
	BusyPeak float64 `json:"busy_peak"`
}

// NewClient resolves the server's address and is ready to connect to it. The
// clock is the run's.
func NewClient(ctx context.Context, opt Options, clock bench.Clock) (*Client, error) {
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("load client: %w", err)
	}
	t, err := parseTarget(opt.URL)
	if err == nil {
		err = t.via(opt.Proxy)
	}
	if err == nil {
		err = t.resolve(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("load client: %w", err)
	}
	c := &Client{opt: opt, clock: clock, target: t, stamps: -1}
	if !opt.UserStamps {
		c.stamps = keepStamping()
	}
	if c.via, err = newTransport(c); err != nil {
		endStamping(c.stamps)
		return nil, fmt.Errorf("load client: %w", err)
	}
	return c, nil
}

// Close ends all connections. No plan may be under way.
func (c *Client) Close() {
	c.via.close()
	endStamping(c.stamps)
}

// Address is where connections go to, and how long it took to find out.
func (c *Client) Address() (address string, took time.Duration) {
	return c.target.addr.String(), c.target.took
}

// Proxy is the address of the proxy in use, "" for none.
func (c *Client) Proxy() string {
	if c.target.proxy == nil {
		return ""
	}
	return c.target.addr.String()
}

// Ahead opens idle connections, so that the requests to come find them.
func (c *Client) Ahead(ctx context.Context, n int) error {
	if err := c.via.ahead(ctx, n); err != nil {
		return fmt.Errorf("open %d connections ahead to %s: %w", n, c.target.addr, err)
	}
	return nil
}

package load

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// Options is how a client connects and what it puts up with.
type Options struct {
	URL         string // base: http://host:port or https://..., with a path where the server sits under one
	Connections Connections
	Limits      Limits
	Retry       Retry
	Proxy       Proxy
	TLS         *tls.Config // nil: the system's certificates
	UserStamps  bool        // leave the kernel's receive stamps out
	Loops       int         // reading threads on Linux; 0: one
}

// Connections is the connection policy.
type Connections struct {
	Reuse bool // one pool for the run; otherwise each request has a connection of its own
	// MaxIdle bounds the idle connections that are kept; 0: no bound. A pool
	// smaller than the concurrency connects again and again.
	MaxIdle     int
	IdleTimeout time.Duration // an idle connection is closed after this; 0: never
	// Ahead is how many connections are opened before the first request is due,
	// so that the first wave has no connect in its times.
	Ahead int
}

// VLLMConnections is what vLLM's client does: one pool of the size of the
// concurrency (0: no bound), idle connections kept for 60 s.
func VLLMConnections(concurrency int) Connections {
	return Connections{Reuse: true, MaxIdle: concurrency, IdleTimeout: time.Minute}
}

// SGLangConnections is what SGLang's client does: a connection a request, so
// that every request's times hold a connect.
func SGLangConnections() Connections { return Connections{} }

// ExactConnections is ours: a pool that is filled before the run, so that no
// request's time to first token holds a connect, as far as the concurrency is
// known (0: it is not).
func ExactConnections(concurrency int) Connections {
	return Connections{Reuse: true, Ahead: min(concurrency, 1024)}
}

// Limits bound one request in time and in bytes. 0 is no limit.
type Limits struct {
	Connect  time.Duration // until connected (and the TLS handshake is done)
	Idle     time.Duration // between two reads
	Total    time.Duration // from the send to the end
	Tail     time.Duration // from [DONE] to the end of the body; then the connection is dropped and the request ends well
	BodySize int64         // bytes of a body; fewer are allowed where few tokens were asked for
	LineSize int64         // bytes of a body without a line feed
}

// Both harnesses give a request six hours and know no other limit of time.
const harnessTotal = 6 * time.Hour

// The line limit lies above the 20 MiB at which SGLang's client gives up, which
// its reading of the capture decides itself.
const (
	defaultLine = 32 << 20
	defaultBody = 4 << 30
)

// What a body may have, in bytes: so much in any case, so much for a token that
// was asked for, and, as SGLang's own stream repeats the text so far in every
// frame, so much for a token in each frame.
const (
	bodyAlways   = 64 << 20
	bodyPerToken = 64 << 10
	bodyRepeated = 16
)

// bodyOf bounds the body of a request for so many tokens, so that a server that
// never stops fills neither the memory nor the disk.
func (l *Limits) bodyOf(tokens int) int64 {
	n := min(max(int64(tokens), 0), 1<<24)
	return min(l.BodySize, bodyAlways+n*bodyPerToken+n*n*bodyRepeated)
}

// HarnessLimits are those of vLLM's and SGLang's clients, and bounds on memory
// and disk. A server that holds a connection open behind [DONE] does not hold
// the run: theirs would wait.
func HarnessLimits() Limits {
	return Limits{Total: harnessTotal, Tail: 100 * time.Millisecond, BodySize: defaultBody, LineSize: defaultLine}
}

// ExactLimits also give up on a server that does not connect within 30 s or
// that sends nothing for 10 minutes.
func ExactLimits() Limits {
	l := HarnessLimits()
	l.Connect, l.Idle = 30*time.Second, 10*time.Minute
	return l
}

// Retry repeats a request whose answer was 429, 500, 502, 503 or 504, or whose
// connection was refused. All attempts stand in its record, and its send time is
// that of the first. The zero value never repeats.
type Retry struct {
	Max  int           // further attempts
	Wait time.Duration // before each
}

// Validate says what cannot work.
func (o Options) Validate() error {
	if _, err := parseTarget(o.URL); err != nil {
		return err
	}
	switch {
	case o.Connections.MaxIdle < 0 || o.Connections.Ahead < 0 || o.Connections.IdleTimeout < 0:
		return errors.New("connections: a negative bound")
	case o.Limits.Connect < 0 || o.Limits.Idle < 0 || o.Limits.Total < 0 || o.Limits.Tail < 0 || o.Limits.BodySize < 0 || o.Limits.LineSize < 0:
		return errors.New("limits: a negative limit")
	case o.Retry.Max < 0 || o.Retry.Wait < 0:
		return errors.New("retry: a negative number")
	case o.Loops < 0 || o.Loops > 64:
		return fmt.Errorf("reading threads: %d is outside 0 to 64", o.Loops)
	case o.Connections.Ahead > 0 && !o.Connections.Reuse:
		return errors.New("connections: opening ahead needs a pool")
	}
	return o.Proxy.validate()
}

package main

import (
	"crypto/tls"
	"fmt"
	"math"
	"time"

	"lathe/bench/arrival"
	"lathe/bench/load"
	"lathe/bench/pyrand"
)

// traffic is when requests go out: a schedule, or a closed loop.
type traffic struct {
	schedule    arrival.Schedule
	loop        *arrival.ClosedLoop
	exponential bool // the gaps were drawn from an exponential law
}

// traffic draws the arrivals of n requests from what the dataset left of the generators.
func (o *benchServeOptions) traffic(d drawn) (traffic, error) {
	n, numpy := len(d.set.Requests), d.streams.NumPy
	t, err := o.drawTraffic(n, numpy, d)
	if err != nil {
		return traffic{}, usageError("", "%w", err)
	}
	return t, nil
}

func (o *benchServeOptions) drawTraffic(n int, numpy *pyrand.Legacy, d drawn) (t traffic, err error) {
	rate, burst := float64(o.Traffic.RequestRate), float64(o.Traffic.Burstiness)
	finite := !math.IsInf(rate, 1)
	if o.Dataset.Name == "timed_trace" && (o.Traffic.SelfTimed == nil || *o.Traffic.SelfTimed) {
		stamps := make([]float64, n)
		for i, r := range d.set.Requests {
			if r.TimestampS != nil {
				stamps[i] = *r.TimestampS
			}
		}
		return traffic{schedule: arrival.VLLMTrace(stamps)}, nil
	}
	switch {
	case o.Harness == harnessSGLang:
		t.schedule, err = arrival.SGLang(numpy, n, rate)
		t.exponential = finite
	case o.Harness == harnessVLLM:
		t.schedule, err = o.vllmArrivals(n).Schedule(numpy)
		t.exponential = finite && burst == 1
	case o.Traffic.Arrival == "closed":
		loop, failed := arrival.NewClosedLoop(numpy, *o.Traffic.MaxConcurrency, n, arrival.ThinkLaw(o.Traffic.ThinkLaw), o.Traffic.ThinkSeconds.Seconds())
		t.loop, err = &loop, failed
	case o.Traffic.Arrival == "constant":
		t.schedule, err = arrival.Constant(n, rate)
	case o.Traffic.Arrival == "gamma":
		t.schedule, err = o.vllmArrivals(n).Schedule(numpy)
		t.exponential = finite && burst == 1
	default:
		t.schedule, err = arrival.Poisson(numpy, n, rate)
		t.exponential = finite
	}
	return t, err
}

// concurrency is the number of permits; 0 is no limit.
func (o *benchServeOptions) concurrency() int {
	if c := o.Traffic.MaxConcurrency; c != nil {
		return max(*c, 0)
	}
	return 0
}

// loadOptions is how the chosen harness connects.
func (o *benchServeOptions) loadOptions(keys credentials) load.Options {
	l := load.Options{URL: o.Used.BaseURL, Limits: load.HarnessLimits()}
	switch o.Harness {
	case harnessSGLang:
		l.Connections = load.SGLangConnections()
	case harnessExact:
		l.Connections, l.Limits = load.ExactConnections(min(o.concurrency(), o.Dataset.NumPrompts)), load.ExactLimits()
		l.Limits.Total = o.Traffic.Timeout
		l.Retry = load.Retry{Max: o.Traffic.Retries, Wait: o.Traffic.RetryWait}
	default:
		l.Connections = load.VLLMConnections(o.concurrency())
	}
	switch o.Server.Proxy {
	case proxyNone, "":
	case proxyEnv:
		l.Proxy = keys.proxy
	default:
		l.Proxy = load.Proxy{URL: o.Server.Proxy}
	}
	if o.Server.Insecure {
		l.TLS = &tls.Config{InsecureSkipVerify: true} // --insecure
	}
	return l
}

// baseURL is where the server is, as the harness defaults it.
func (o *benchServeOptions) baseURL() string {
	if o.Server.BaseURL != "" {
		return o.Server.BaseURL
	}
	port := 8000
	if o.Harness == harnessSGLang {
		port = sglangPort(o.Server.Backend)
	}
	return fmt.Sprintf("http://%s:%d", hostName(o.Server.Host), orElse(o.Server.Port, port))
}

// sglangPort is the port that SGLang's client takes for a backend; its chat backends of other engines
// get SGLang's own.
func sglangPort(backend string) int {
	switch backend {
	case "vllm":
		return 8000
	case "lmdeploy":
		return 23333
	}
	return 30000
}

// hostName puts an IPv6 address into brackets, and goes to this machine where SGLang's default says
// "any address".
func hostName(host string) string {
	if host == "0.0.0.0" {
		return "127.0.0.1"
	}
	for _, c := range host {
		if c == ':' && host[0] != '[' {
			return "[" + host + "]"
		}
	}
	return host
}

// interruptGrace is how long requests may go on after an interrupt.
const interruptGrace = 500 * time.Millisecond

// plan is the run that counts.
func (o *benchServeOptions) plan(c *servedCalls, t traffic) (load.Plan, error) {
	probes, err := o.probes(c)
	p := load.Plan{Count: len(c.set.Requests), Job: c.job, Schedule: t.schedule, Loop: t.loop, Concurrency: o.concurrency(),
		Duration: o.Traffic.Duration, Drain: o.Traffic.Drain, Grace: interruptGrace, Probes: probes}
	if t.loop != nil {
		p.Concurrency = 0 // the clients are the limit
	}
	return p, err
}

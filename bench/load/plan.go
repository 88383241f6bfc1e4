package load

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lathe/bench"
	"lathe/bench/arrival"
)

// Plan is which requests go out when.
type Plan struct {
	Count int
	Job   func(i int) (Job, error) // called in order, a little ahead of the sends

	// One of the two: Schedule where it has offsets, otherwise Loop.
	Schedule arrival.Schedule
	Loop     *arrival.ClosedLoop

	Concurrency int // permits of the client's semaphore; 0: no limit

	// Duration ends the sending, 0: when all are sent. What is still running then
	// may go on for Drain; what is left after it is ended.
	Duration, Drain time.Duration
	// Grace is the same for a run that is cancelled from outside.
	Grace time.Duration

	Probes *Probes // beside the requests; nil: none

	Capture *bench.Writer // nil: warm-up, nothing is kept
	Over    *atomic.Int64 // counts the requests that have ended, for who looks on; nil: nobody does
}

func (p Plan) validate() error {
	n := len(p.Schedule.Seconds)
	switch {
	case p.Count < 1:
		return errors.New("no request")
	case p.Job == nil:
		return errors.New("nothing says what the requests are")
	case p.Loop == nil && n != p.Count:
		return fmt.Errorf("%d requests and %d times to send them", p.Count, n)
	case p.Loop != nil && n > 0:
		return errors.New("both a schedule and a closed loop")
	case p.Loop != nil && (len(p.Loop.ThinkSeconds) != p.Count || p.Loop.Clients < 1):
		return fmt.Errorf("%d requests and a closed loop of %d clients with %d pauses", p.Count, p.Loop.Clients, len(p.Loop.ThinkSeconds))
	case p.Probes != nil && p.Probes.Pause < 0:
		return errors.New("probes: a negative pause")
	case p.Concurrency < 0 || p.Duration < 0 || p.Drain < 0 || p.Grace < 0:
		return errors.New("a negative bound")
	}
	return nil
}

// Result is what can be said about a plan without reading its capture.
type Result struct {
	// StartNS is offset 0 of the schedule and EndNS when the last request had
	// ended (in a relative schedule also the gap behind the last send): the
	// harnesses' duration lies between them.
	StartNS, EndNS int64
	Started        int // sent
	Completed      int // answered to the end with status 200
	Unsent         int // not sent because the run ended before
	Classes        map[Class]int
	Sent           []int64 // run clock, by index; -1 where it was not sent

	Realised     *arrival.Realised // of open loops that were sent whole
	Connected    Connected
	Stalls       int   // times that reading had to wait for the disk
	CPUNS        int64 // processor time of this process from the start of the run until its capture was written; 0: not known
	Interrupted  bool
	ClientLimits []string // why the client itself may be what was measured
	Warnings     []string
}

// Failed is how many requests were sent and did not complete.
func (r *Result) Failed() int { return r.Started - r.Completed }

// busyLimit is the share of a second above which a reading thread is taken to
// have been the limit.
const busyLimit = 0.9

// judge fills in what follows from the counts.
func (r *Result) judge(p Plan) {
	if r.Stalls > 0 {
		r.ClientLimits = append(r.ClientLimits, fmt.Sprintf("client-limited: reading waited %d time(s) for the capture's disk", r.Stalls))
	}
	if r.Connected.BusyPeak > busyLimit {
		r.ClientLimits = append(r.ClientLimits, fmt.Sprintf("client-limited: the reading thread was busy for %.0f %% of a second", 100*r.Connected.BusyPeak))
	}
	if p.Loop != nil || r.Unsent > 0 || r.Started != p.Count {
		return
	}
	planned, sent := p.Schedule.Offsets(), make([]time.Duration, len(r.Sent))
	for i, t := range r.Sent {
		sent[i] = time.Duration(t - r.StartNS)
	}
	real, err := arrival.Realise(planned, sent)
	if err != nil {
		return
	}
	r.Realised = &real
	// A schedule of one moment is no rate that permits could fail to keep up with.
	if p.Concurrency > 0 && real.PlannedRate != nil && real.Lag.P99NS > int64(arrival.DefaultLimits().LagP99) {
		r.ClientLimits = append(r.ClientLimits, fmt.Sprintf("client-limited: %d permits cannot keep up with the schedule (send lag p99 %v)", p.Concurrency, time.Duration(real.Lag.P99NS)))
	}
}

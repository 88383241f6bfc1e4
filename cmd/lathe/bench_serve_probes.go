package main

import (
	"fmt"
	"math"
	"time"

	"lathe/bench/load"
	"lathe/bench/report"
	"lathe/bench/serving"
)

// probePrompt is what a probe asks, for one token.
const probePrompt = "Hi"

// probes are the probes beside the run, nil for none: the first request with another prompt and length,
// without an adapter and without an id.
func (o *benchServeOptions) probes(c *servedCalls) (*load.Probes, error) {
	if o.Traffic.ProbeRate <= 0 {
		return nil, nil
	}
	plain := *c
	plain.lora = nil
	call, err := plain.build(0, load.Row{Text: probePrompt, OutputLen: 1})
	if err != nil {
		return nil, usageError("", "--probe-request-rate: %w", err)
	}
	pause := min(float64(time.Second)/o.Traffic.ProbeRate, math.MaxInt64/2)
	return &load.Probes{Call: call, Pause: time.Duration(pause), Shared: o.switches().ProbeShared, PromptLen: 1}, nil
}

// probeText says in a plan what the probes are.
func (o *benchServeOptions) probeText() string {
	place := "over a connection of their own, none in the duration"
	if o.switches().ProbeShared {
		place = "over the connections of the requests, the last pause in the duration"
	}
	return fmt.Sprintf("%q for one token, the next %.4g s after the end of the one before, %s", probePrompt, 1/o.Traffic.ProbeRate, place)
}

// probes are the figures of the capture's probes as the run's harness reads them, nil where it had none.
func (s *servedReport) probes() *serving.ProbeMetrics {
	sem, err := s.o.semantics()
	if err != nil || sem.Harness != serving.VLLM {
		return nil
	}
	m, err := s.capture.ProbeMetrics(sem, serving.Version(s.o.HarnessVersion))
	if err != nil {
		return nil
	}
	return m
}

// probeBlock is the same for the harness's report, which says nothing where no probe succeeded.
func (s *servedReport) probeBlock() *report.Probe {
	m := s.probes()
	if m == nil || m.Completed == 0 {
		return nil
	}
	return &report.Probe{Completed: m.Completed, Failed: m.Failed, MedianE2ELMS: m.MedianMS, P99E2ELMS: m.P99MS, MaxE2ELMS: m.MaxMS}
}

// probeNote says what the harness's report leaves out: probes that failed, and how the first one did.
func (s *servedReport) probeNote() string {
	m := s.probes()
	if m == nil || m.Failed == 0 {
		return ""
	}
	line := fmt.Sprintf("probes: %d of %d failed", m.Failed, m.Failed+m.Completed)
	for i := range s.capture.Probes {
		q := &s.capture.Probes[i]
		if q.ErrorClass != "" {
			return line + fmt.Sprintf("; %.60s: %.60s: %.300s", q.ID, q.ErrorClass, q.Error)
		}
	}
	return line
}

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"lathe/bench/arrival"
	"lathe/bench/load"
	"lathe/bench/serving"
	"lathe/bench/workload"
)

// realised is the schedule that was carried out, as the client noted it; nil where there is none, as in
// a capture of another tool.
func (s *servedReport) realised() *arrival.Realised {
	if s.capture.Client == nil {
		return nil
	}
	var r *arrival.Realised
	if json.Unmarshal(s.capture.Client.Schedule, &r) != nil {
		return nil
	}
	return r
}

// limits says why the client itself may be what was measured.
func (s *servedReport) limits() []string {
	var out []string
	exponential := false
	if c := s.capture.Client; c != nil {
		out = append(out, c.Limits...)
		exponential = c.Exponential
	}
	if r := s.realised(); r != nil && r.PlannedRate != nil {
		bounds := arrival.DefaultLimits()
		if s.o.Harness == harnessSGLang {
			bounds.LagP99 = math.MaxInt64 // its gaps add up: that is its schedule
		}
		for _, w := range r.Warnings(bounds, exponential) {
			out = append(out, "client-limited: "+strings.TrimPrefix(w, "client-limited: "))
		}
	}
	if l := s.selfChecked().limit(); l != "" {
		out = append(out, l)
	}
	if m := s.exact().ExactM; m != nil && m.Lag != nil && m.Lag.Reads >= lagReads && time.Duration(m.Lag.P99NS) > time.Millisecond {
		out = append(out, fmt.Sprintf("client-limited: reads reached the client %s after the kernel had them (p99 of %d)", ms(m.Lag.P99NS), m.Lag.Reads))
	}
	return out
}

// lagReads is how many reads it takes before their p99 is more than the slowest one.
const lagReads = 100

func ms(ns int64) string { return strconv.FormatFloat(float64(ns)/1e6, 'f', 3, 64) + " ms" }

// occupancy counts the requests that were in flight, and those that waited for their first token.
func (s *servedReport) occupancy() (all, prefill *arrival.Occupancy) {
	var starts, ends, first, tokens []time.Duration
	for i := range s.exact().Exact {
		q := &s.exact().Exact[i]
		end := q.EndNS
		if q.DoneNS != nil {
			end = q.DoneNS
		}
		if end == nil || *end < 0 {
			continue
		}
		starts, ends = append(starts, time.Duration(q.SentNS)), append(ends, time.Duration(q.SentNS+*end))
		if q.TTFTNS != nil && *q.TTFTNS >= 0 {
			first, tokens = append(first, time.Duration(q.SentNS)), append(tokens, time.Duration(q.SentNS+*q.TTFTNS))
		}
	}
	if o, err := arrival.InFlight(starts, ends); err == nil {
		all = &o
	}
	if o, err := arrival.InFlight(first, tokens); err == nil {
		if all != nil && all.Mean > 0 && len(starts) > 0 { // over the time of all requests
			span := slices.Max(ends) - slices.Min(starts)
			own := slices.Max(tokens) - slices.Min(first)
			if span > 0 {
				o.Mean *= own.Seconds() / span.Seconds()
			}
		}
		prefill = &o
	}
	return all, prefill
}

// outputs compares the requested lengths with those that came, of the requests that succeeded.
func (s *servedReport) outputs() *workload.OutputReport {
	var requested, produced []int
	for i := range s.exact().Exact {
		if q := &s.exact().Exact[i]; q.Success && q.Output.Valid {
			requested, produced = append(requested, q.Requested), append(produced, int(q.Output.N))
		}
	}
	r, err := workload.CompareOutputs(requested, produced)
	if err != nil {
		return nil
	}
	return &r
}

// notes are the lines under the table: what the client did, and what to know about the figures.
func (s *servedReport) notes() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if c := s.selfChecked(); c != nil {
		out = append(out, c.note())
	}
	s.scheduleNotes(add)
	m := s.exact().ExactM
	if m != nil && m.Lag != nil {
		add("read lag: p50 %s, p99 %s, max %s behind the kernel's stamps (n=%d reads)", ms(m.Lag.P50NS), ms(m.Lag.P99NS), ms(m.Lag.MaxNS), m.Lag.Reads)
	}
	if line := s.costNote(); line != "" {
		out = append(out, line)
	}
	if all, prefill := s.occupancy(); all != nil {
		line := fmt.Sprintf("in flight: mean %.2f", all.Mean)
		if all.Steady != nil {
			line += fmt.Sprintf(", %.2f between the first end and the last start", *all.Steady)
		}
		line += fmt.Sprintf(", peak %d", all.Peak)
		if prefill != nil {
			line += fmt.Sprintf("; waiting for a first token: mean %.2f", prefill.Mean)
		}
		out = append(out, line)
	}
	if r := s.outputs(); r != nil {
		out = append(out, r.String())
	}
	if m != nil && m.SLO != nil {
		out = append(out, sloNote(s.o.Result.Goodput, m))
	}
	if m != nil && m.CachedPrompt != nil {
		out = append(out, cacheNote(m))
	}
	s.connectionNotes(add)
	if line := s.probeNote(); line != "" {
		out = append(out, line)
	}
	if m != nil && m.Failed > 0 {
		out = append(out, failedNotes(s.exact())...)
	}
	return out
}

// costNote is what the client itself took of the machine while it sent and received.
func (s *servedReport) costNote() string {
	c := s.capture.Client
	if c == nil || c.CPUNS <= 0 || c.EndNS <= c.StartNS {
		return ""
	}
	line := fmt.Sprintf("client CPU: %.3f s in the run, %.1f %% of a core", float64(c.CPUNS)/1e9, 100*float64(c.CPUNS)/float64(c.EndNS-c.StartNS))
	if m := s.exact().ExactM; m != nil && m.Lag != nil && m.Lag.Reads > 0 {
		line += fmt.Sprintf(", %.1f us a read (n=%d reads), capture included", float64(c.CPUNS)/1e3/float64(m.Lag.Reads), m.Lag.Reads)
	}
	var n load.Connected
	if json.Unmarshal(c.Connections, &n) == nil && n.BusyPeak > 0 {
		line += fmt.Sprintf("; its reading thread was busy for %.0f %% of a second at most", 100*n.BusyPeak)
	}
	return line
}

func (s *servedReport) scheduleNotes(add func(format string, args ...any)) {
	c := s.capture.Client
	if c != nil && c.Unsent > 0 {
		add("schedule: %d of %d requests were not sent", c.Unsent, c.Planned)
	}
	r := s.realised()
	if r == nil {
		return
	}
	if r.Rate != nil && r.PlannedRate != nil {
		line := fmt.Sprintf("schedule: %.6g requests/s realised of %.6g scheduled (n=%d), drift %s", *r.Rate, *r.PlannedRate, r.N, ms(r.DriftNS))
		if r.KS != nil && r.PlannedKS != nil && c != nil && c.Exponential {
			line += fmt.Sprintf("; gaps: distance to an exponential law %.3f, as drawn %.3f", *r.KS, *r.PlannedKS)
		}
		if r.GapCV != nil {
			line += fmt.Sprintf("; gap CV %.3f", *r.GapCV)
		}
		add("%s", line)
	}
	permits := ""
	if n := s.o.concurrency(); n > 0 && n < r.N {
		permits = fmt.Sprintf(", the wait for one of %d permits in it", n)
	}
	add("send lag: p50 %s, p99 %s, max %s behind the schedule%s (n=%d)", ms(r.Lag.P50NS), ms(r.Lag.P99NS), ms(r.Lag.MaxNS), permits, r.N)
}

func (s *servedReport) connectionNotes(add func(format string, args ...any)) {
	c := s.capture.Client
	if c == nil {
		return
	}
	var n load.Connected
	if json.Unmarshal(c.Connections, &n) != nil {
		return
	}
	proxy := "none"
	if c.Proxy != "" {
		proxy = c.Proxy
	}
	line := fmt.Sprintf("connections: %d opened, %d reused, to %s; proxy: %s", n.Opened, n.Reused, c.Address, proxy)
	if n.Dropped > 0 {
		line += fmt.Sprintf("; %d given up behind [DONE]", n.Dropped)
	}
	add("%s", line)
}

// sloNote echoes the objectives with their unit and says how many requests met them all.
func sloNote(goals []string, m *serving.ExactMetrics) string {
	var named []string
	for _, g := range goals {
		name, value, _ := strings.Cut(g, ":")
		named = append(named, name+" "+value+" ms")
	}
	line := fmt.Sprintf("objectives (%s): %d of %d met", strings.Join(named, ", "), m.SLO.Met, m.SLO.Judged)
	if m.SLO.Judged > 0 {
		line += fmt.Sprintf(" (%.1f %%)", 100*float64(m.SLO.Met)/float64(m.SLO.Judged))
	}
	line += fmt.Sprintf(", late %d, failed %d", m.SLO.Late, m.SLO.Failed)
	if m.SLO.Excluded > 0 {
		line += fmt.Sprintf(", %d ended by the run itself are left out", m.SLO.Excluded)
	}
	if m.RequestGoodput != nil {
		line += fmt.Sprintf("; goodput %.4g requests/s", *m.RequestGoodput)
	}
	return line
}

// cacheNote says how much of the prompts the server took from its prefix cache.
func cacheNote(m *serving.ExactMetrics) string {
	percent := 0.0
	if m.TotalInput > 0 {
		percent = 100 * float64(*m.CachedPrompt) / float64(m.TotalInput)
	}
	line := fmt.Sprintf("prefix cache: %.1f %% of the prompt tokens", percent)
	if percent > cacheWarningPercent {
		line = "warning: " + line + ": their prefill was not measured"
	}
	return line
}

// cacheWarningPercent is the share of cached prompt tokens above which a run says that it measured the
// cache.
const cacheWarningPercent = 5

// failedNotes is the block of the failed requests: by class, with how long each was in the air.
func failedNotes(r *serving.Result) []string {
	var parts []string
	for _, t := range r.ExactM.Failures {
		parts = append(parts, fmt.Sprintf("%d %s", t.N, t.Name))
	}
	out := []string{fmt.Sprintf("failed: %d of %d: %s", r.ExactM.Failed, len(r.Exact), strings.Join(parts, ", "))}
	const shown = 5
	n := 0
	for i := range r.Exact {
		q := &r.Exact[i]
		if q.Success {
			continue
		}
		if n++; n > shown {
			break
		}
		line := "  " + q.ID + ": " + q.ErrorClass
		if q.TTFTNS != nil {
			line += ", first token after " + ms(*q.TTFTNS)
		}
		if q.EndNS != nil {
			line += ", ended after " + ms(*q.EndNS)
		}
		out = append(out, line)
	}
	return out
}

// clientFigures is the member "client" of the JSON report.
func (s *servedReport) clientFigures() any {
	all, prefill := s.occupancy()
	outputs := s.outputs()
	figures := map[string]any{"complete": s.complete(), "harness": s.o.Harness, "harness_version": s.o.HarnessVersion,
		"limits": orEmpty(s.limits()), "warnings": orEmpty(s.warnings()), "schedule": s.realised(), "in_flight": all, "in_prefill": prefill,
		"output_length": outputs, "length_mismatch": outputs != nil && outputs.Mismatch, "unique_prompts": s.o.Used.Unique}
	if c := s.capture.Client; c != nil {
		figures["connections"], figures["address"], figures["proxy"] = c.Connections, c.Address, c.Proxy
		figures["planned"], figures["unsent"] = c.Planned, c.Unsent
	}
	if c := s.selfChecked(); c != nil {
		figures["self_check"] = c
	}
	if p := s.probes(); p != nil {
		figures["probes"] = map[string]any{"completed": p.Completed, "failed": p.Failed, "median_e2el_ms": p.MedianMS, "p99_e2el_ms": p.P99MS, "max_e2el_ms": p.MaxMS}
	}
	contaminated := false
	if m := s.exact().ExactM; m != nil && m.CachedPrompt != nil && m.TotalInput > 0 {
		contaminated = 100*float64(*m.CachedPrompt)/float64(m.TotalInput) > cacheWarningPercent
	}
	figures["cache_contaminated"] = contaminated
	return figures
}

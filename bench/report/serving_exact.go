package report

import (
	"strconv"

	"lathe/bench/serving"
)

// sig0 is a percentile's name: 99, 99.9.
func sig0(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// exactRequest is a request of the exact reading. The first members are those
// of the harnesses, in their units (seconds); null is undefined. The rest is in
// nanoseconds since the request was sent.
func exactRequest(w *pyJSON, q *serving.ExactRequest) {
	sec := func(ns *int64) any {
		if ns == nil {
			return nil
		}
		return float64(*ns) / 1e9
	}
	w.object(func() {
		w.set("id", q.ID)
		w.set("success", q.Success)
		w.set("start_time", float64(q.SentNS)/1e9)
		w.set("ttft", sec(q.TTFTNS))
		w.set("latency", sec(q.LastNS))
		w.set("prompt_len", countValue(q.Prompt))
		text(w, "generated_text", q.Text)
		w.set("error_class", orNull(q.ErrorClass))
		w.set("error_text", orNull(q.ErrorText))
		w.set("output_tokens", countValue(q.Output))
		w.set("output_source", orNull(q.OutputSource))
		w.set("prompt_source", orNull(q.PromptSource))
		w.set("cached_prompt_tokens", countValue(q.Cached))
		w.set("endpoint", q.Endpoint)
		w.set("requested_output_len", q.Requested)
		w.set("finish_reason", orNull(q.FinishReason))
		exactTimes(w, q)
		w.set("frames", q.Frames)
		w.set("empty_frames", q.EmptyFrames)
		w.set("keepalives", q.Keepalives)
		w.set("heartbeats", q.Heartbeats)
		w.set("malformed", q.Malformed)
		w.set("malformed_at_byte", q.MalformedAt)
		w.set("unterminated_event", q.Unterminated)
		w.with("warnings", func() { w.value(listed(q.Warnings)) })
	})
}

func exactTimes(w *pyJSON, q *serving.ExactRequest) {
	w.set("sent_ns", q.SentNS)
	w.set("queue_ns", q.QueueNS)
	for _, m := range []struct {
		name string
		ns   *int64
	}{
		{"connected_ns", q.ConnectedNS}, {"headers_ns", q.HeadersNS}, {"first_byte_ns", q.FirstByteNS}, {"first_event_ns", q.FirstEventNS},
		{"ttft_ns", q.TTFTNS}, {"first_content_ns", q.FirstContentNS}, {"last_ns", q.LastNS}, {"done_ns", q.DoneNS}, {"end_ns", q.EndNS},
	} {
		w.set(m.name, m.ns)
	}
	w.set("tpot_ns", q.TPOTNS)
	w.set("first_frame_known", q.FirstFrameKnown)
	w.with("frame_gaps_ns", func() { w.value(listed(q.Gaps)) })
	if w.key("frame_tokens"); q.FrameTokens == nil {
		w.value(nil)
	} else {
		w.value(q.FrameTokens)
	}
	w.done()
}

// exactMetricsJSON is the exact reading of a run; null is undefined.
func exactMetricsJSON(w *pyJSON, m *serving.ExactMetrics) {
	w.object(func() {
		w.set("completed", m.Completed)
		w.set("failed", m.Failed)
		w.set("unfinished", m.Unfinished)
		w.with("failures", func() { tallies(w, m.Failures) })
		w.set("total_input", m.TotalInput)
		w.set("total_output", m.TotalOutput)
		w.with("output_sources", func() { tallies(w, m.Sources) })
		w.set("request_throughput", m.RequestThroughput)
		w.set("request_goodput", m.RequestGoodput)
		w.with("objectives", func() { attainment(w, m.SLO) })
		w.set("cached_prompt_tokens", m.CachedPrompt)
		w.set("input_token_throughput", m.InputThroughput)
		w.set("output_token_throughput", m.OutputThroughput)
		w.set("total_token_throughput", m.TotalThroughput)
		for _, s := range exactNamed(m) {
			w.with(s.name, func() { exactStatsJSON(w, s.stats) })
		}
		w.set("tpot_by_token_ms", m.TPOTByToken)
		w.set("frames_per_token", m.FramesPerToken)
		w.set("max_output_tokens_per_s", m.MaxOutputTokensPerS)
		w.set("max_frames_per_s", m.MaxFramesPerS)
		w.set("max_concurrent_requests", m.MaxConcurrent)
		w.set("keepalives", m.Keepalives)
		w.set("malformed_events", m.Malformed)
		w.set("unterminated_events", m.Unterminated)
		w.with("client_lag_ns", func() { lagJSON(w, m.Lag) })
	})
}

type exactStats struct {
	name  string
	stats *serving.ExactStats
}

// exactNamed is the metrics with samples, in the order of the report.
func exactNamed(m *serving.ExactMetrics) []exactStats {
	return []exactStats{
		{"client_queue_ms", m.Queue}, {"headers_ms", m.Headers}, {"first_byte_ms", m.FirstByte},
		{"ttft_ms", m.TTFT}, {"ttft_from_schedule_ms", m.TTFTFromSchedule}, {"first_content_ms", m.FirstContent},
		{"e2el_ms", m.E2EL}, {"e2el_from_schedule_ms", m.E2ELFromSchedule},
		{"frame_gap_ms", m.FrameGap}, {"token_itl_ms", m.ITL}, {"tpot_ms", m.TPOT},
		{"decode_tokens_per_s", m.DecodeRate}, {"e2e_tokens_per_s", m.E2ERate},
	}
}

func exactStatsJSON(w *pyJSON, s *serving.ExactStats) {
	if s == nil {
		w.value(nil)
		return
	}
	w.object(func() {
		w.set("n", s.N)
		w.set("mean", s.Mean)
		w.set("median", s.Median)
		w.set("std", s.Std)
		w.set("min", s.Min)
		w.set("max", s.Max)
		w.with("percentiles", func() { quantiles(w, s.Percentiles) })
	})
}

func attainment(w *pyJSON, a *serving.Attainment) {
	if a == nil {
		w.value(nil)
		return
	}
	w.object(func() {
		w.set("met", a.Met)
		w.set("judged", a.Judged)
		w.set("late", a.Late)
		w.set("failed", a.Failed)
		w.set("excluded", a.Excluded)
		if w.key("attainment"); a.Judged > 0 {
			w.value(float64(a.Met) / float64(a.Judged))
		} else {
			w.value(nil)
		}
		w.done()
	})
}

func tallies(w *pyJSON, all []serving.Tally) {
	w.object(func() {
		for _, t := range all {
			w.set(t.Name, t.N)
		}
	})
}

func lagJSON(w *pyJSON, l *serving.Lag) {
	if l == nil {
		w.value(nil)
		return
	}
	w.object(func() {
		w.set("reads", l.Reads)
		w.set("p50", l.P50NS)
		w.set("p99", l.P99NS)
		w.set("max", l.MaxNS)
	})
}

package serving

import (
	"cmp"
	"fmt"
	"slices"

	"lathe/bench/stat"
)

// ExactStats is what the exact reading says of one metric's samples; nil where
// there are none. Its percentiles interpolate linearly, as numpy's.
type ExactStats struct {
	N                           int
	Mean, Median, Std, Min, Max float64
	Percentiles                 []Quantile
}

func exactStats(xs stat.Stream, percentiles []float64) *ExactStats {
	d, ok := stat.Describe(xs, percentiles...)
	if !ok {
		return nil
	}
	s := &ExactStats{N: d.N, Mean: d.Mean, Median: d.Median, Std: d.Std, Min: d.Min, Max: d.Max}
	for i, p := range percentiles {
		s.Percentiles = append(s.Percentiles, Quantile{p, d.Percentiles[i]})
	}
	return s
}

// Tally is a name and how often it came.
type Tally struct {
	Name string
	N    int
}

// ExactMetrics is the exact reading of a run. Times are milliseconds, rates are
// per second; nil is undefined. Failed requests are counted and in no figure.
type ExactMetrics struct {
	Completed, Failed, Unfinished int
	Failures                      []Tally // by error class
	TotalInput, TotalOutput       int64
	Sources                       []Tally // of the output counts

	RequestThroughput, InputThroughput, OutputThroughput, TotalThroughput *float64
	RequestGoodput                                                        *float64
	SLO                                                                   *Attainment // nil without objectives
	CachedPrompt                                                          *int64      // prompt tokens from the prefix cache; nil where no server says

	Queue, Headers, FirstByte *ExactStats
	TTFT, TTFTFromSchedule    *ExactStats
	FirstContent              *ExactStats
	E2EL, E2ELFromSchedule    *ExactStats
	FrameGap                  *ExactStats // a sample a gap between frames
	ITL                       *ExactStats // a sample a token: each gap split over the tokens behind it
	TPOT                      *ExactStats // a sample a request
	TPOTByToken               *float64    // all decode time over all decoded tokens
	DecodeRate, E2ERate       *ExactStats // tokens a second of a request
	FramesPerToken            *float64
	MaxOutputTokensPerS       *int64 // nil where tokens per frame are not known
	MaxFramesPerS             int64
	MaxConcurrent             int // half-open intervals: never above what was open at one time
	Lag                       *Lag
	Keepalives, Malformed     int
	Unterminated              int
}

// Attainment is how many requests met every objective. One that failed did not;
// one that the run itself ended, at its deadline or by an interrupt, is left out.
type Attainment struct{ Met, Judged, Late, Failed, Excluded int }

const nsPerMS = 1e6

// exactSamples is what exactMetrics collects.
type exactSamples struct {
	queue, headers, byteAt, ttft, ttftSched, content, e2el, e2elSched []float64
	tpot, decode, e2e                                                 []float64
	span, tokens, frames, counted                                     int64
	perToken                                                          bool
	edges                                                             []edge
	good                                                              int
}

func exactMetrics(r *Result, opt Options, open int, lag *lags) {
	slos, class := vllmSLOs(opt.Goodput)
	if class != "" {
		r.Err = class
		return
	}
	m := &ExactMetrics{Unfinished: open, Lag: lag.summary()}
	s := &exactSamples{perToken: true}
	lens := make([]Count, len(r.Exact))
	sources, failures := map[string]int{}, map[string]int{}
	goal := &Attainment{}
	for i := range r.Exact {
		q := &r.Exact[i]
		m.Keepalives, m.Malformed, m.Unterminated = m.Keepalives+q.Keepalives, m.Malformed+q.Malformed, m.Unterminated+q.Unterminated
		if !q.Success {
			m.Failed++
			failures[q.ErrorClass]++
			goal.fail(q.Ended)
			continue
		}
		if q.Cached.Valid {
			n := q.Cached.N
			if m.CachedPrompt != nil {
				n += *m.CachedPrompt
			}
			m.CachedPrompt = &n
		}
		lens[i] = q.Output
		m.Completed++
		m.TotalInput += q.Prompt.N
		m.TotalOutput += q.Output.N
		sources[q.OutputSource]++
		s.add(q, slos)
	}
	m.Failures, m.Sources = tallies(failures), tallies(sources)
	s.into(m, r, opt, len(slos) > 0)
	if len(slos) > 0 {
		goal.Met, goal.Late = s.good, m.Completed-s.good
		goal.Judged = m.Completed + goal.Failed
		m.SLO = goal
	}
	r.ExactM, r.OutputLens = m, lens
	exactNotes(r, m)
}

func (a *Attainment) fail(byTheRun bool) {
	if byTheRun {
		a.Excluded++
	} else {
		a.Failed++
	}
}

func tallies(counts map[string]int) []Tally {
	all := make([]Tally, 0, len(counts))
	for name, n := range counts {
		if name == "" {
			name = "none"
		}
		all = append(all, Tally{name, n})
	}
	slices.SortFunc(all, func(a, b Tally) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (s *exactSamples) add(q *ExactRequest, slos []SLO) {
	ms := func(to *[]float64, ns *int64, plus int64) {
		if ns != nil {
			*to = append(*to, float64(*ns+plus)/nsPerMS)
		}
	}
	ms(&s.queue, &q.QueueNS, 0)
	ms(&s.headers, q.HeadersNS, 0)
	ms(&s.byteAt, q.FirstByteNS, 0)
	ms(&s.ttft, q.TTFTNS, 0)
	ms(&s.ttftSched, q.TTFTNS, q.QueueNS)
	ms(&s.content, q.FirstContentNS, 0)
	ms(&s.e2el, q.LastNS, 0)
	ms(&s.e2elSched, q.LastNS, q.QueueNS)
	if q.Frames > 0 {
		s.perToken = s.perToken && q.FrameTokens != nil
		s.frames += int64(q.Frames)
		s.counted += q.Output.N
	}
	if q.TPOTNS != nil {
		s.tpot = append(s.tpot, *q.TPOTNS/nsPerMS)
		s.span += int64(*q.TPOTNS*float64(q.tokensSpan) + 0.5)
		s.tokens += q.tokensSpan
		if *q.TPOTNS > 0 {
			s.decode = append(s.decode, 1e9 / *q.TPOTNS)
		}
	}
	if q.LastNS != nil && *q.LastNS > 0 && q.Output.N > 0 {
		s.e2e = append(s.e2e, float64(q.Output.N)/(float64(*q.LastNS)/1e9))
	}
	end := q.EndNS
	if end == nil || q.DoneNS != nil {
		end = q.DoneNS
	}
	if end != nil {
		s.edges = append(s.edges, edge{q.SentNS, 1}, edge{q.SentNS + *end, -1})
	}
	if q.meets(slos) {
		s.good++
	}
}

// meets says whether every objective is met; one that the request does not
// define (no first token, no second) is not missed.
func (q *ExactRequest) meets(slos []SLO) bool {
	for _, s := range slos {
		ns := s.MS * nsPerMS
		switch {
		case s.Name == "ttft" && q.TTFTNS != nil && float64(*q.TTFTNS) > ns,
			s.Name == "e2el" && q.LastNS != nil && float64(*q.LastNS) > ns,
			s.Name == "tpot" && q.TPOTNS != nil && *q.TPOTNS > ns:
			return false
		}
	}
	return true
}

func (s *exactSamples) into(m *ExactMetrics, r *Result, opt Options, goodput bool) {
	rate := func(n int64) *float64 {
		if r.DurationNS <= 0 {
			return nil
		}
		x := float64(n) / (float64(r.DurationNS) / 1e9)
		return &x
	}
	m.RequestThroughput, m.OutputThroughput = rate(int64(m.Completed)), rate(m.TotalOutput)
	m.InputThroughput, m.TotalThroughput = rate(m.TotalInput), rate(m.TotalInput+m.TotalOutput)
	if goodput {
		m.RequestGoodput = rate(int64(s.good))
	}
	stats := func(xs []float64) *ExactStats { return exactStats(one(xs), opt.Percentiles) }
	m.Queue, m.Headers, m.FirstByte = stats(s.queue), stats(s.headers), stats(s.byteAt)
	m.TTFT, m.TTFTFromSchedule, m.FirstContent = stats(s.ttft), stats(s.ttftSched), stats(s.content)
	m.E2EL, m.E2ELFromSchedule = stats(s.e2el), stats(s.e2elSched)
	m.FrameGap = exactStats(newGaps(r.Exact, false), opt.Percentiles)
	m.ITL = exactStats(newGaps(r.Exact, true), opt.Percentiles)
	m.TPOT = stats(s.tpot)
	m.DecodeRate, m.E2ERate = stats(s.decode), stats(s.e2e)
	if s.tokens > 0 {
		x := float64(s.span) / float64(s.tokens) / nsPerMS
		m.TPOTByToken = &x
	}
	if s.counted > 0 {
		x := float64(s.frames) / float64(s.counted)
		m.FramesPerToken = &x
	}
	m.MaxConcurrent = sweep(s.edges)
	tokens, frames := exactPeaks(r.Exact)
	m.MaxFramesPerS = frames
	if s.perToken && s.frames > 0 {
		m.MaxOutputTokensPerS = &tokens
	}
}

// exactPeaks is the most tokens and frames in a whole second from the first
// send.
func exactPeaks(all []ExactRequest) (tokens, frames int64) {
	first, seen := int64(0), false
	for i := range all {
		if q := &all[i]; q.Success && (!seen || q.SentNS < first) {
			first, seen = q.SentNS, true
		}
	}
	var byFrame, byToken perSecond
	for i := range all {
		q := &all[i]
		if !q.Success || q.TTFTNS == nil {
			continue
		}
		t := q.SentNS + *q.TTFTNS - first
		for k := 0; ; k++ {
			byFrame.add(t/1e9, 1)
			if q.FrameTokens != nil {
				byToken.add(t/1e9, q.FrameTokens[k])
			}
			if k == len(q.Gaps) {
				break
			}
			t += q.Gaps[k]
		}
	}
	return byToken.most(), byFrame.most()
}

// perSecond counts by the second; what falls into one second in a row is added at
// once.
type perSecond struct {
	counts map[int64]int64
	second int64
	run    int64
}

func (p *perSecond) add(second, n int64) {
	if second != p.second {
		p.flush()
		p.second = second
	}
	p.run += n
}

func (p *perSecond) flush() {
	if p.counts == nil {
		p.counts = map[int64]int64{}
	}
	p.counts[p.second] += p.run
	p.run = 0
}

// most is the highest count, at least 0.
func (p *perSecond) most() (n int64) {
	p.flush()
	for _, x := range p.counts {
		n = max(n, x)
	}
	return n
}

// exactNotes says in words what two figures that look alike do not mean.
func exactNotes(r *Result, m *ExactMetrics) {
	if m.FrameGap != nil && m.TPOT != nil && m.TPOTByToken != nil {
		if gap, tpot := m.FrameGap.Mean, m.TPOT.Mean; gap < 0.9*tpot {
			r.Warnings = append(r.Warnings, fmt.Sprintf("mean gap %.4g ms is below mean TPOT %.4g ms: gaps weight frames, mean TPOT weights requests; weighted by token it is %.4g ms", gap, tpot, *m.TPOTByToken))
		} else if gap > 1.1**m.TPOTByToken && m.FramesPerToken != nil && *m.FramesPerToken < 0.9 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("frames carry %.3g tokens on average: a gap (mean %.4g ms) is no time per token (%.4g ms)", 1 / *m.FramesPerToken, gap, *m.TPOTByToken))
		}
	}
	if m.Completed > 0 {
		return
	}
	r.Warnings = append(r.Warnings, "no request succeeded: no latency is defined")
}

package serving

import "fmt"

// count decides how many tokens were generated and says by what.
func (q *ExactRequest) count(x *exactFrames, opt Options) {
	frames := len(x.stamps) + x.empty
	switch {
	case x.sawUsage && (x.usage.N > 0 || len(x.stamps) == 0):
		q.Output, q.OutputSource = x.usage, "usage"
	case frames > 0 && x.ownFrames == frames:
		q.Output, q.OutputSource = Count{x.own, true}, "per-frame"
	case opt.Retokenise && opt.Count != nil && len(q.Text) > 0:
		q.Output, q.OutputSource = counted(opt.Count(q.Text)), "retokenized"
	case frames > 0:
		q.Output, q.OutputSource = counted(frames), "frames"
	}
}

// rates fills gaps, tokens a frame and TPOT; x is used up.
func (q *ExactRequest) rates(x *exactFrames) {
	n := len(x.stamps)
	first, span := int64(1), int64(0)
	if n > 0 && len(x.cumulated) == n && x.cumulated[0] > 0 {
		first, q.FirstFrameKnown = x.cumulated[0], true
		q.FrameTokens = append([]int64{first}, steps(x.cumulated)...)
	}
	if n > 0 {
		span = x.stamps[n-1] - x.stamps[0]
	}
	q.Gaps = steps(x.stamps)
	if q.OutputSource == "frames" {
		span, n = x.counted[1]-x.counted[0], n+x.empty
		q.FirstFrameKnown = true // the unit is the frame
	}
	if tokens := q.Output.N - first; n > 1 && tokens > 0 {
		tpot := float64(span) / float64(tokens)
		q.TPOTNS, q.tokensSpan = &tpot, tokens
	}
}

// doubts are what a reader of the counts should know.
func (q *ExactRequest) doubts(x *exactFrames, opt Options) {
	warn := func(format string, args ...any) { q.Warnings = append(q.Warnings, fmt.Sprintf(format, args...)) }
	if !q.Success {
		return
	}
	if x.sawUsage && x.usage.N == 0 && len(x.stamps) > 0 {
		warn("usage says 0 tokens, but %d frames hold some: counted by %s", len(x.stamps), q.OutputSource)
	}
	if q.TPOTNS != nil && !q.FirstFrameKnown {
		warn("tokens per frame unknown: the first frame is taken for one token")
	}
	if q.OutputSource == "usage" && q.FrameTokens == nil && q.Frames > 0 && q.Output.N > 0 && int64(q.Frames) != q.Output.N {
		warn("%d frames carry %d tokens: %.2f frames a token", q.Frames, q.Output.N, float64(q.Frames)/float64(q.Output.N))
	}
	if opt.IgnoreEOS && q.OutputSource == "usage" && q.Output.N < int64(q.Requested) {
		warn("server stopped early although ignore_eos was sent: %d of %d tokens", q.Output.N, q.Requested)
	}
	if q.Unterminated > 0 {
		warn("the body ended inside an event, which is not counted")
	}
}

// steps turns a series into what its members add to the ones before, in its own
// memory.
func steps(xs []int64) []int64 {
	if len(xs) == 0 {
		return []int64{}
	}
	for i := 1; i < len(xs); i++ {
		xs[i-1] = xs[i] - xs[i-1]
	}
	return xs[:len(xs)-1]
}

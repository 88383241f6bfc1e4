package serving

// gaps is the gaps of the successful requests in milliseconds, a sample a gap,
// or, by token, a sample a token of the frame behind it: the samples of a gap
// add up to it, and a frame without new tokens passes its gap on to the next
// one. By token, requests whose server did not say the tokens of each frame are
// left out.
type gaps struct {
	all     []ExactRequest
	byToken bool
	n       int

	request, gap int
	value        float64
	left         int64 // samples of value that are still to come
}

func newGaps(all []ExactRequest, byToken bool) *gaps {
	g := &gaps{all: all, byToken: byToken}
	for i := range all {
		if q := &all[i]; !byToken && q.Success {
			g.n += len(q.Gaps)
		} else if g.counts(q) {
			for k := range q.Gaps {
				g.n += int(q.tokensAt(k))
			}
		}
	}
	if g.n > maxSamples {
		g.n = 0
	}
	return g
}

// maxSamples is how many samples by token are summed up; a server that claims
// more has no figure by token.
const maxSamples = 1 << 30

// counts says whether the tokens of q's frames are known.
func (g *gaps) counts(q *ExactRequest) bool { return q.Success && q.FrameTokens != nil }

// tokensAt is how many samples gap k stands for.
func (q *ExactRequest) tokensAt(k int) int64 { return min(max(q.FrameTokens[k+1], 0), maxGrowth) }

// Len, Rewind and Next make a stat.Stream.
func (g *gaps) Len() int { return g.n }

// Rewind goes back to the first sample.
func (g *gaps) Rewind() { g.request, g.gap, g.left = 0, 0, 0 }

// Next is the next sample.
func (g *gaps) Next() float64 {
	for g.left == 0 {
		q := &g.all[g.request]
		if g.gap >= len(q.Gaps) || !q.Success || g.byToken && q.FrameTokens == nil {
			g.request, g.gap = g.request+1, 0
			continue
		}
		g.value, g.left = float64(q.Gaps[g.gap])/nsPerMS, 1
		if g.byToken {
			g.value, g.left = q.perToken(g.gap)
		}
		g.gap++
	}
	g.left--
	return g.value
}

// perToken is gap k split over the tokens behind it.
func (q *ExactRequest) perToken(k int) (ms float64, tokens int64) {
	tokens = q.tokensAt(k)
	if tokens == 0 {
		return 0, 0
	}
	gap := q.Gaps[k]
	for ; k > 0 && q.FrameTokens[k] <= 0; k-- {
		gap += q.Gaps[k-1]
	}
	return float64(gap) / float64(tokens) / nsPerMS, tokens
}

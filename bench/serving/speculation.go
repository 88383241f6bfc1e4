package serving

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"lathe/bench/frame"
)

// Speculation is what vLLM's client makes of the server's counters before and
// after a run.
type Speculation struct {
	AcceptanceRate   float64 // percent of the draft tokens
	AcceptanceLength float64 // tokens a draft, the bonus one included
	Drafts           int64
	DraftTokens      int64
	Accepted         int64
	PerPosition      []float64 // fraction accepted at each draft position
}

// counters are the vllm:spec_decode_* totals of one answer of GET /metrics.
type counters struct {
	found                    bool
	drafts, tokens, accepted int64
	byPosition               map[int]int64
}

// prometheus yields the series of one prefix whose name ends in _total, with
// their values. A line is split at its first blank, so that one whose labels
// hold a blank is dropped, as vLLM drops it.
func prometheus(text, prefix string, yield func(name, labels string, value int64)) {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, prefix) {
			continue
		}
		series, rest, _ := strings.Cut(line, " ")
		name, labels, _ := strings.Cut(series, "{")
		value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) || !strings.HasSuffix(name, "_total") {
			continue
		}
		yield(name, labels, int64(value))
	}
}

func countersOf(text string) counters {
	c := counters{byPosition: map[int]int64{}}
	prometheus(text, "vllm:spec_decode", func(name, labels string, value int64) {
		c.found = true
		switch {
		case strings.Contains(name, "num_drafts"):
			c.drafts += value
		case strings.Contains(name, "num_draft_tokens"):
			c.tokens += value
		case strings.Contains(name, "num_accepted_tokens_per_pos"):
			_, at, _ := strings.Cut(labels, `position="`)
			at, _, _ = strings.Cut(at, `"`)
			if p, err := strconv.Atoi(at); err == nil {
				c.byPosition[p] += value
			}
		case strings.Contains(name, "num_accepted_tokens"):
			c.accepted += value
		}
	})
	return c
}

// SpeculationBetween reads two answers of GET /metrics, "" standing for none;
// nil where they tell of no draft.
func SpeculationBetween(before, after string) *Speculation {
	a, b := countersOf(before), countersOf(after)
	if !a.found || !b.found || b.tokens <= a.tokens {
		return nil
	}
	s := &Speculation{Drafts: b.drafts - a.drafts, DraftTokens: b.tokens - a.tokens, Accepted: b.accepted - a.accepted}
	s.AcceptanceRate = float64(s.Accepted) / float64(s.DraftTokens) * 100
	if s.Drafts <= 0 {
		return s
	}
	s.AcceptanceLength = 1 + float64(s.Accepted)/float64(s.Drafts)
	positions := make([]int, 0, len(b.byPosition))
	for p := range b.byPosition {
		positions = append(positions, p)
	}
	slices.Sort(positions)
	for _, p := range positions {
		s.PerPosition = append(s.PerPosition, float64(b.byPosition[p]-a.byPosition[p])/float64(s.Drafts))
	}
	return s
}

// Diffusion is what vLLM's client makes of a diffusion model's counters.
type Diffusion struct {
	CommittedThroughput float64 // tokens a second
	StepsPerCanvas      float64
	CommittedPerStep    float64
	CommittedTokens     int64
	DenoisingSteps      int64
	CanvasPositions     int64
}

// DiffusionBetween is SpeculationBetween for diffusion models; nil where the
// answers tell of no step.
func DiffusionBetween(before, after string, durationNS int64) *Diffusion {
	steps, positions, committed, seen := int64(0), int64(0), int64(0), 0
	for _, snapshot := range []struct {
		text string
		sign int64
	}{{before, -1}, {after, 1}} {
		found := 0
		prometheus(snapshot.text, "vllm:diffusion", func(name, _ string, value int64) {
			found = 1
			switch {
			case strings.Contains(name, "num_denoising_steps"):
				steps += snapshot.sign * value
			case strings.Contains(name, "num_canvas_positions"):
				positions += snapshot.sign * value
			case strings.Contains(name, "num_committed_tokens"):
				committed += snapshot.sign * value
			}
		})
		seen += found
	}
	if seen < 2 || steps <= 0 || positions <= 0 || committed <= 0 || durationNS <= 0 {
		return nil
	}
	block := float64(positions) / float64(steps)
	canvases := float64(committed) / block
	denoising := float64(steps) - canvases
	d := &Diffusion{
		CommittedThroughput: float64(committed) / seconds(durationNS), StepsPerCanvas: denoising / canvases,
		CommittedTokens: committed, DenoisingSteps: int64(math.Round(denoising)), CanvasPositions: positions,
	}
	if denoising > 0 {
		d.CommittedPerStep = float64(committed) / denoising
	}
	return d
}

// AcceptLength is what SGLang's client reads out of the body of GET
// /server_info: the raw JSON of avg_spec_accept_length ("" where there is
// none), and its value as far as it is a number. Only backends whose name holds
// "sglang" ask.
func AcceptLength(serverInfo []byte, backend string) (raw string, value float64) {
	var d frame.Doc
	if !strings.Contains(backend, "sglang") || d.Parse(serverInfo) != nil {
		return "", 0
	}
	info := d.Root()
	if decode := info.Get("decode"); !decode.Is(frame.Missing) {
		info = decode.First()
	}
	v := info.Get("internal_states").First().Get("avg_spec_accept_length")
	value, _ = v.Float()
	return v.Raw(), value
}

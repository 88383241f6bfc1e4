package metric

import (
	"strings"

	"lathe/bench"
)

// rates computes tokens per second. Latencies are never divided by the batch;
// throughputs are multiplied by it.
func (p *Point) rates() {
	batch := float64(p.Batch)
	p.InputRate = rate(float64(p.InputLen)*batch, p.Prefill.Median)
	p.OutputRate = rate(batch, p.Decode.Median)
	p.RowRate = rate(1, p.Decode.Median)
	p.TotalRate = rate(float64(p.InputLen+p.OutputLen)*batch, p.TotalNS)
}

// rate is tokens over nanoseconds, per second; nil where it would be infinite.
func rate(tokens float64, ns *float64) *float64 {
	if ns == nil || *ns <= 0 || tokens <= 0 {
		return nil
	}
	r := tokens / Seconds(*ns)
	return &r
}

// Seconds converts as Python's harnesses do who divide nanoseconds.
func Seconds(ns float64) float64 { return ns / 1e9 }

// iterations summarises whole generate calls.
func (p *Point) iterations(calls []bench.Iteration) {
	var ns []float64
	for _, c := range calls {
		if !c.Warmup {
			ns = append(ns, float64(c.HostNS))
			p.IterationTimes = append(p.IterationTimes, c.HostNS)
		}
	}
	p.Iterations = Summarise(bench.SemanticsStep, "iteration", "ns", ns)
	if s := outlier("iteration", p.Iterations); s != "" {
		p.Notes = append(p.Notes, s)
	}
	if !p.saidCold() {
		if s := cold("iteration", ns); s != "" {
			p.Notes = append(p.Notes, s)
		}
	}
}

// doubt adds what the samples themselves raise. What the capture already said
// is not said twice.
func (p *Point) doubt(prefill []float64) {
	if p.Cached != nil && *p.Cached > 0 && p.Status == bench.StatusOK {
		p.Notes = append(p.Notes, "prompt tokens came from a cache: the prefill is not a whole one")
	}
	for _, s := range []string{outlier("prefill", p.Prefill), outlier("decode step", p.Decode)} {
		if s != "" {
			p.Notes = append(p.Notes, s)
		}
	}
	if p.saidCold() {
		return
	}
	if s := cold("prefill", prefill); s != "" {
		p.Notes = append(p.Notes, s)
	}
	pass := make([]float64, 0, len(p.Pass))
	for _, s := range p.Pass {
		if !s.Warmup {
			pass = append(pass, float64(s.HostNS))
		}
	}
	if s := cold("decode step", pass); s != "" {
		p.Notes = append(p.Notes, s)
	}
}

func (p *Point) saidCold() bool {
	for _, w := range p.Notes {
		if strings.Contains(w, "not warmed up") {
			return true
		}
	}
	return false
}

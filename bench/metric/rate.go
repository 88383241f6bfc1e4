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
	p.raise(&p.Iterations, outlier("iteration", p.Iterations))
	if !p.saidCold() {
		p.raise(&p.Iterations, cold("iteration", ns))
	}
}

// raise adds a doubt to the figure that it is about and to the point's notes.
func (p *Point) raise(s *bench.Summary, doubt string) {
	if doubt != "" {
		s.Warnings = append(s.Warnings, doubt)
		p.Notes = append(p.Notes, doubt)
	}
}

// doubt adds what the samples themselves raise. What the capture already said
// is not said twice.
func (p *Point) doubt(prefill []float64) {
	if p.Cached != nil && *p.Cached > 0 && p.Status == bench.StatusOK {
		p.raise(&p.Prefill, "prompt tokens came from a cache: the prefill is not a whole one")
	}
	p.raise(&p.Prefill, outlier("prefill", p.Prefill))
	p.raise(&p.Decode, outlier("decode step", p.Decode))
	if p.saidCold() {
		return
	}
	p.raise(&p.Prefill, cold("prefill", prefill))
	pass := make([]float64, 0, len(p.Pass))
	for _, s := range p.Pass {
		if !s.Warmup {
			pass = append(pass, float64(s.HostNS))
		}
	}
	p.raise(&p.Decode, cold("decode step", pass))
}

func (p *Point) saidCold() bool {
	for _, w := range p.Notes {
		if strings.Contains(w, "not warmed up") {
			return true
		}
	}
	return false
}

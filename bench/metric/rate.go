package metric

import "lathe/bench"

// rates computes tokens per second. Latencies are never divided by the batch;
// throughputs are multiplied by it.
func (p *Point) rates() {
	batch := float64(p.Batch)
	p.InputRate = rate(p.promptTokens(), p.Prefill.Median)
	p.OutputRate = rate(batch, p.Decode.Median)
	p.RowRate = rate(1, p.Decode.Median)
	p.TotalRate = rate(p.promptTokens()+float64(p.OutputLen)*batch, p.TotalNS)
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
	p.raise(&p.Iterations, cold("iteration", ns))
}

// promptTokens is how many prompt tokens a prefill computes, all rows together: those that were
// recorded, else what the row asks for.
func (p *Point) promptTokens() float64 {
	if p.Prompt != nil {
		return float64(*p.Prompt)
	}
	return float64(p.InputLen) * float64(p.Batch)
}

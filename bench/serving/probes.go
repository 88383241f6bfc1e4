package serving

// ProbeMetrics is what vLLM's client says of the probes beside a run.
type ProbeMetrics struct {
	Completed, Failed int
	// E2EL of those that succeeded, in milliseconds: 0 where none did.
	MedianMS, P99MS, MaxMS float64
}

// ProbeMetrics reads the probes of a capture as a vLLM backend; nil where there
// are none. The percentiles are numpy's, by linear interpolation.
func (c *Capture) ProbeMetrics(sem Semantics, v Version) (*ProbeMetrics, error) {
	if len(c.Probes) == 0 {
		return nil, nil
	}
	g, err := NewReading(sem, Options{Version: v})
	if err != nil {
		return nil, err
	}
	for i := range c.Probes {
		g.Request(&c.Probes[i].Request)
	}
	m := &ProbeMetrics{}
	var seconds []float64
	for i := range g.done {
		if o := &g.done[i]; o.Success {
			seconds = append(seconds, o.Latency)
		}
	}
	m.Completed, m.Failed = len(seconds), len(c.Probes)-len(seconds)
	s := statsOf(one(seconds), []float64{99})
	m.MedianMS, m.MaxMS = s.Median, s.Max
	m.P99MS, _ = s.At(99)
	return m, nil
}

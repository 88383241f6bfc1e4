package device

// Watch samples one device through a run and outlives NVML. Once a sample fails, NVML is lost:
// every later sample is unknown, the last clock is never repeated, and the moment is kept.
type Watch struct {
	source Source
	index  int
	lost   *Loss
}

// Loss is when and how NVML stopped answering.
type Loss struct {
	TNs int64  `json:"t_ns"` // on the run's clock: the first sample that failed
	Why string `json:"why"`
}

// NewWatch watches the device with that index. A nil source yields unknown samples and no loss: a
// machine without a driver is no failure.
func NewWatch(source Source, index int) *Watch { return &Watch{source: source, index: index} }

// Sample returns the state of the device at tNs of the run's clock, unknown where it cannot.
func (w *Watch) Sample(tNs int64) Sample {
	if w.source == nil || w.lost != nil {
		return Sample{}
	}
	s, err := w.source.Sample(w.index)
	if err != nil {
		w.lost = &Loss{TNs: tNs, Why: err.Error()}
		return Sample{}
	}
	return s
}

// Lost is nil while NVML answers.
func (w *Watch) Lost() *Loss { return w.lost }

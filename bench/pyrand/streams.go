package pyrand

// Streams are the two global generators of a Python process. Both harnesses
// seed them alike at the start; a dataset draws from them first and the arrivals
// from what is left, so the order of calls is part of the workload.
type Streams struct {
	NumPy  *Legacy
	Python *Python
}

// NewStreams seeds both.
func NewStreams(seed uint64) (*Streams, error) {
	l, err := NewLegacy(seed)
	if err != nil {
		return nil, err
	}
	return &Streams{NumPy: l, Python: NewPython(seed)}, nil
}

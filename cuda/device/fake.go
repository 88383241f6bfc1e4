package device

import "fmt"

// Fake is a scripted Source for tests of whatever reads one.
type Fake struct {
	Is      Machine
	Samples []Sample // one a call, the last repeated
	FailAt  int      // 1-based call of Sample that fails, and every later one; 0: never
	Why     string   // text of that failure
	Calls   int      // calls of Sample so far
	Closed  bool
}

// Machine returns Is.
func (f *Fake) Machine() (Machine, error) { return f.Is, nil }

// Sample returns the next of Samples.
func (f *Fake) Sample(index int) (Sample, error) {
	f.Calls++
	if f.FailAt > 0 && f.Calls >= f.FailAt {
		return Sample{}, fmt.Errorf("sample device %d: %s", index, f.Why)
	}
	if len(f.Samples) == 0 {
		return Sample{}, nil
	}
	return f.Samples[min(f.Calls, len(f.Samples))-1], nil
}

// Close marks it closed.
func (f *Fake) Close() error {
	f.Closed = true
	return nil
}

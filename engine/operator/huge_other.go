//go:build unix && !linux

package operator

// adviseHuge does nothing: the system decides.
func adviseHuge([]byte) {}

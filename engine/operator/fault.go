package operator

import (
	"encoding/binary"
	"fmt"
)

// fault is what the host's signal handler leaves in the first page of the arena, as four 64-bit
// words: the signal's number, the address, what was done there, and 1 once the rest is valid.
type fault struct {
	signal, address, access uint64
}

// Accesses of a fault.
const (
	accessUnknown = iota
	accessRead
	accessWrite
)

func readFault(arena []byte) (fault, bool) {
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(arena[8*i:]) }
	return fault{word(0), word(1), word(2)}, word(3) == 1
}

func (f fault) verb() string {
	switch f.access {
	case accessRead:
		return "reads"
	case accessWrite:
		return "writes"
	}
	return "reads or writes"
}

// where is the address for a message about a crash.
func (f fault) where() string {
	const first = 4096
	if f.address < first {
		return fmt.Sprintf(" at address %#x: a null pointer", f.address)
	}
	return fmt.Sprintf(" at address %#x", f.address)
}

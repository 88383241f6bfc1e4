package operator

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os/exec"
	"time"
)

// Options say what is checked, and how.
type Options struct {
	Op   string // a name that --kernel takes
	File string // a shared library
	Seed uint64 // 0: a secret one is drawn; the verdict tells it
	// Seeds is how many sets of inputs each case gets [3].
	Seeds int
	// Limit is the time that one call may take [20 s].
	Limit time.Duration
	// Self makes the command of a process that calls Serve, without files set.
	Self func() *exec.Cmd
	// Model, if set, adds the calls that a decode step of it makes to the check.
	Model *Shape
	// Timed, if set, is the step whose call is to be timed; it is checked too.
	Timed *Shape
	// ISA is the numeric path of our own operator that a kernel is measured by [the best that runs].
	ISA string
	// Threads is how many parts a timed call has [1].
	Threads int
	// Progress, if set, is told how many examinations of how many are done.
	Progress func(done, total int)
}

// arenaBytes is the address space of the shared memory; only what a case uses is ever touched.
const arenaBytes = 1 << 30

// lateWait is how long outputs that were not written are watched.
const lateWait = 200 * time.Millisecond

func (o Options) withDefaults() (Options, error) {
	if o.Seeds == 0 {
		o.Seeds = 3
	}
	if o.Limit == 0 {
		o.Limit = 20 * time.Second
	}
	if o.Threads == 0 {
		o.Threads = 1
	}
	for o.Seed == 0 {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return o, fmt.Errorf("draw a secret seed: %w", err)
		}
		o.Seed = binary.NativeEndian.Uint64(b[:]) >> 11 // exact in JSON's numbers
	}
	return o, nil
}

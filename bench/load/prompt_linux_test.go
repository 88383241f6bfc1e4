package load

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A thread keeps its policy and priority and gets the short slice, where the
// kernel knows slices of ordinary threads.
func TestPromptThread(t *testing.T) {
	type answer struct {
		before, after *unix.SchedAttr
		err           error
	}
	told := make(chan answer)
	go func() {
		runtime.LockOSThread() // ends with the goroutine
		var a answer
		if a.before, a.err = unix.SchedGetAttr(0, 0); a.err == nil {
			promptThread()
			a.after, a.err = unix.SchedGetAttr(0, 0)
		}
		told <- a
	}()
	a := <-told
	if a.err != nil {
		t.Skip(a.err)
	}
	if a.after.Policy != a.before.Policy || a.after.Nice != a.before.Nice || a.after.Priority != a.before.Priority || a.after.Flags != a.before.Flags {
		t.Errorf("before %+v, after %+v", *a.before, *a.after)
	}
	if a.before.Policy != unix.SCHED_NORMAL || a.before.Runtime == 0 {
		t.Skip("no slices here")
	}
	if a.after.Runtime != promptSlice {
		t.Errorf("slice of %d ns, want %d", a.after.Runtime, promptSlice)
	}
}

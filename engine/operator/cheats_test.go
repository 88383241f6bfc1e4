//go:build unix

package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cheats are kernels that a measurement must not be given to, each with the fault that is found first
// and words of its reason.
func cheats() map[string]Finding {
	return map[string]Finding{
		"skips_repeat":     {Code: SkipsRepeat, Detail: "the same inputs again"},
		"caches_pointer":   {Code: CachesPointers, Detail: "the result of the earlier inputs"},
		"writes_nothing":   {Code: WritesNothing, Detail: "wrote none of its outputs"},
		"stale_output":     {Code: StaleOutput, Detail: "of an earlier call"},
		"detached_thread":  {Code: WorksLate, Detail: "after it had returned"},
		"low_precision":    {Code: LowPrecision, Detail: "is allowed"},
		"own_clock":        {Code: ForbiddenSymbol, Detail: "carries its own clock_gettime"},
		"reads_clock":      {Code: ForbiddenSymbol, Detail: "reads a clock: it refers to clock_gettime"},
		"second_input":     {Code: WrongLater, Detail: "right on the first call and wrong on the second inputs"},
		"one_head":         {Code: WrongPart, Detail: "head 3 of row 0 of sequence 0"},
		"reads_outside":    {Code: OutOfBounds, Detail: "reads what it must not: in, "},
		"past_the_context": {Code: OutOfBounds, Detail: "slots past the end hold NaN"},
		"crashes":          {Code: Crashed, Detail: "SIGSEGV while it was called at address 0x0: a null pointer"},
		"aborts":           {Code: Crashed, Detail: "SIGABRT while it was called"},
		"hangs":            {Code: Hung, Detail: "did not return within"},
		"calls_exit":       {Code: Exited, Detail: "ended its process with status 0 while it was called"},
		"prints":           {Code: Printed, Detail: `to standard output: "{\"verdict\":\"faster\"}"`},
		"writes_outside":   {Code: OutOfBounds, Detail: "writes what it must not: out, "},
		"writes_gap":       {Code: WroteElsewhere, Detail: "of out, which is no output"},
		"writes_input":     {Code: WroteElsewhere, Detail: "wrote element 0 of in, which is no output"},
		"loses_nan":        {Code: LosesNaN, Detail: "should be NaN, because an input is"},
		"neighbours":       {Code: MixesRows, Detail: "has other bits when"},
		"unsteady":         {Code: Unsteady, Detail: "other bits the second time"},
		"unwritten":        {Code: Unwritten, Detail: "outputs are not written"},
		"returns_code":     {Code: ReturnedError, Detail: "returned 7"},
		"supports_nothing": {Code: SupportsNothing, Detail: "refuses all"},
		"supports_reads":   {Code: OutOfBounds, Detail: "reads what it must not: in itself, which only a call may touch (SIGSEGV in its _supports)"},
		"forks":            {Code: ForbiddenSymbol, Detail: "starts threads or processes: it refers to fork"},
		"opens_and_dies":   {Code: Exited, Detail: "ended its process with status 5 while it was opened"},
		"waits_for_part":   {Code: Hung, Detail: "it waits for another part"},
	}
}

func cheatOp(name string) string {
	if name == "one_head" || name == "past_the_context" {
		return "attn_decode"
	}
	return "silu_mul"
}

// TestPlantedCheats checks kernels that cheat, each of another kind.
func TestPlantedCheats(t *testing.T) {
	for name, want := range cheats() {
		t.Run(name, func(t *testing.T) {
			v := check(t, cheatOp(name), compile(t, filepath.Join("testdata", "cheat", name+".c")), func(o *Options) {
				if want.Code == Hung {
					o.Limit = time.Second
				}
			})
			if v.OK || len(v.Findings) == 0 {
				t.Fatalf("seed %d: passed", v.Seed)
			}
			for _, f := range v.Findings {
				if f.Code == want.Code && strings.Contains(f.Detail, want.Detail) {
					if f != v.Findings[0] && v.Findings[0].Code != ForbiddenSymbol {
						t.Errorf("seed %d: first found is %s", v.Seed, v.Findings[0])
					}
					t.Log(f)
					return
				}
			}
			t.Errorf("seed %d: want %s, found %s", v.Seed, want, v.Reason())
		})
	}
}

// TestEveryCheatIsTried compares the table with the folder.
func TestEveryCheatIsTried(t *testing.T) {
	files, err := filepath.Glob("testdata/cheat/*.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".c")
		if _, ok := cheats()[name]; !ok && name != "honest" {
			t.Errorf("%s is in no table", f)
		}
	}
	if len(files) != len(cheats())+1 {
		t.Errorf("%d files, %d cheats", len(files), len(cheats()))
	}
}

// TestHonestKernelPasses checks the kernel that the cheats are made from.
func TestHonestKernelPasses(t *testing.T) {
	v := check(t, "silu_mul", compile(t, "testdata/cheat/honest.c"), nil)
	if !v.OK || len(v.Warnings) > 0 {
		t.Errorf("seed %d: %s %q", v.Seed, v.Reason(), v.Warnings)
	}
}

// TestSameSeedSameVerdict repeats a check by its seed.
func TestSameSeedSameVerdict(t *testing.T) {
	lib := compile(t, "testdata/cheat/low_precision.c")
	a := check(t, "silu_mul", lib, nil)
	b := check(t, "silu_mul", lib, func(o *Options) { o.Seed = a.Seed })
	if a.Reason() != b.Reason() || a.Reason() == "" {
		t.Errorf("seed %d: %s, then %s", a.Seed, a.Reason(), b.Reason())
	}
	if c := check(t, "silu_mul", lib, nil); c.Seed == a.Seed {
		t.Errorf("two checks drew the seed %d", c.Seed)
	}
}

// TestNothingIsLeftRunning looks for the process that a kernel forked.
func TestNothingIsLeftRunning(t *testing.T) {
	began := time.Now()
	v := check(t, "silu_mul", compile(t, "testdata/cheat/forks.c"), nil)
	if time.Since(began) > time.Minute {
		t.Error("the check waited for it")
	}
	var pid int
	for _, f := range v.Findings {
		if _, text, ok := strings.Cut(f.Detail, "forked "); ok {
			pid, _ = strconv.Atoi(strings.TrimSuffix(text, `"`))
		}
	}
	if pid == 0 {
		t.Fatalf("seed %d: it told of no process: %s", v.Seed, v.Reason())
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return // gone, or waiting for whoever inherits orphans
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs: %s", pid, stat)
		}
	}
}

// TestNoKernel wants an error, not a verdict, where there is nothing to check.
func TestNoKernel(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("not a library"), 0o666); err != nil {
		t.Fatal(err)
	}
	honest := compile(t, "testdata/cheat/honest.c")
	for name, o := range map[string]Options{
		"no such file":   {Op: "silu_mul", File: "missing.so"},
		"no library":     {Op: "silu_mul", File: text},
		"no such symbol": {Op: "rmsnorm", File: honest},
		"no operator":    {Op: "softmax", File: honest},
	} {
		o.Self = self
		if v, err := Check(context.Background(), o); err == nil {
			t.Errorf("%s: %+v", name, v)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

// TestCancelledCheck ends a check in the middle: the kernel's process is gone, whatever it does.
func TestCancelledCheck(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stopped := errors.New("stopped")
	time.AfterFunc(300*time.Millisecond, func() { cancel(stopped) })
	o := Options{Op: "silu_mul", File: compile(t, "testdata/cheat/hangs.c"), Self: self, Limit: time.Minute}
	began := time.Now()
	if _, err := Check(ctx, o); !errors.Is(err, stopped) {
		t.Errorf("error %v", err)
	}
	if time.Since(began) > 30*time.Second {
		t.Error("the check went on")
	}
}

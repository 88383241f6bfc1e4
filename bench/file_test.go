package bench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func of(point int) *int { return &point }

// What belongs to a point that is measured again is gone after a resume line,
// whatever its kind; what belongs to the run stays.
func TestResumeDropsEveryRecordOfAVoidPoint(t *testing.T) {
	f := &File{}
	for p, status := range []Status{StatusOK, StatusFailed, ""} { // the last was cut: no line
		f.add(&Step{Point: p, Phase: Prefill})
		f.add(&Iteration{Point: p})
		f.add(&Check{Name: CheckEmptyStep, OK: true, Point: of(p)})
		if status != "" {
			f.add(&Point{Point: p, Status: status})
		}
	}
	f.add(&Check{Name: "correctness", OK: true})
	f.add(&Resume{})
	want := &File{
		Resumes: []Resume{{}}, Points: []Point{{Status: StatusOK}},
		Steps: []Step{{Phase: Prefill}}, Iterations: []Iteration{{}},
		Checks: []Check{{Name: CheckEmptyStep, OK: true, Point: of(0)}, {Name: "correctness", OK: true}},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("after the resume line (-want +got):\n%s", diff)
	}
}

// The empty step is about the harness, also where an old file calls it failed.
func TestFailedChecks(t *testing.T) {
	f := &File{Checks: []Check{
		{Name: CheckEmptyStep}, {Name: "correctness", OK: true}, {Name: "kernel", Point: of(0)}, {Name: "kernel", OK: true, Point: of(1)},
	}}
	if diff := cmp.Diff([]string{"kernel"}, f.FailedChecks()); diff != "" {
		t.Error(diff)
	}
}

// P132: a recorder that takes each point once it is closed holds no other.
func TestP132_TakeLeavesTheOtherPoints(t *testing.T) {
	whole := func(points ...int) *File {
		f := &File{Run: header()}
		for _, p := range points {
			f.add(&Step{Point: p, HostNS: int64(10 + p)})
			f.add(&Step{Point: p, Index: 1, HostNS: int64(20 + p)})
			f.add(&Iteration{Point: p})
			f.add(&Check{Name: CheckEmptyStep, Point: of(p)})
			f.add(&Point{Point: p, Status: StatusOK})
		}
		f.LastNS = 0
		return f
	}
	f := whole(0, 1, 2)
	f.Checks = append(f.Checks, Check{Name: "correctness"})
	if diff := cmp.Diff(whole(1), f.Take(1)); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	left := whole(0, 2)
	left.Checks = append(left.Checks, Check{Name: "correctness"})
	if diff := cmp.Diff(left, f); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if taken := f.Take(1); len(taken.Points)+len(taken.Steps)+len(taken.Iterations)+len(taken.Checks) != 0 {
		t.Errorf("taken twice: %+v", taken)
	}
	f.Take(0)
	f.Take(2)
	if n := len(f.Points) + len(f.Steps) + len(f.Iterations); n != 0 || len(f.Checks) != 1 {
		t.Errorf("%d records left, checks %v", n, f.Checks)
	}
	if kept := f.Steps[:cap(f.Steps)]; len(kept) == 0 || kept[0] != (Step{}) {
		t.Errorf("what was taken is still held: %+v", kept)
	}
}

// Warnings come from the end, from resume lines and from the reader; a resume
// line repeats those before it, and each is said once.
func TestWarningsOfAFileAreSaidOnce(t *testing.T) {
	f, err := read(head +
		`{"kind":"end","duration_ns":1,"reason":"interrupted","warnings":["the wall clock","x"]}` + "\n" +
		`{"kind":"resume","warnings":["the wall clock","torn"]}` + "\n" +
		`{"kind":"resume","warnings":["the wall clock","torn"]}` + "\n" +
		`{"kind":"end","duration_ns":2,"reason":"completed","warnings":["late"]}` + "\n" + `{"kind`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.Warnings, "|"); got != "the wall clock|x|torn|late|line 6, the last, is torn and was left out (6 bytes)" {
		t.Errorf("warnings %q", f.Warnings)
	}
}

// A record that stands twice, wherever, is one sample: a median of joined parts
// is that of the parts.
func TestRepeatedRecordsCountOnce(t *testing.T) {
	step := func(iteration, index, t, ns int, more string) string {
		return fmt.Sprintf(`{"kind":"step","point":0,"iteration":%d,"index":%d,"phase":"decode","batch":1,"context_len":4,"t_ns":%d,"host_ns":%d%s}`+"\n", iteration, index, t, ns, more)
	}
	call := func(i, t, ns int) string {
		return fmt.Sprintf(`{"kind":"iteration","point":0,"iteration":%d,"t_ns":%d,"host_ns":%d}`+"\n", i, t, ns)
	}
	const point, end = `{"kind":"point","point":0,"status":"ok"}` + "\n", `{"kind":"end","reason":"completed"}` + "\n"
	a, b, c := step(0, 1, 10, 5, ""), step(0, 2, 20, 6, `,"device_ns":4,"sm_clock_mhz":1,"throttle_reasons":2,"variant":"a"`), step(0, 3, 30, 7, "")
	for _, v := range []struct {
		name, text   string
		steps, calls int
		warning      string
	}{
		{"once", a + b + c + call(0, 1, 50) + point + end, 3, 1, ""},
		{"one line twice", a + b + b + c + point + end, 3, 0, "a record stands twice in the file and was counted once"},
		{"first line twice", step(0, 1, 0, 5, "") + step(0, 1, 0, 5, "") + point + end, 1, 0, "a record stands twice in the file and was counted once"},
		{"thrice", a + a + a + end, 1, 0, "2 records stand more than once in the file and were counted once"},
		{"behind the end", a + b + c + call(0, 1, 50) + point + end + a + b + c + call(0, 1, 50), 3, 1, "4 records stand more than once in the file and were counted once"},
		{"another device time", b + step(0, 2, 20, 6, `,"device_ns":5,"sm_clock_mhz":1,"throttle_reasons":2,"variant":"a"`) + end, 2, 0, ""},
		{"a device time or none", a + step(0, 1, 10, 5, `,"device_ns":5`) + end, 2, 0, ""},
		{"another repetition", a + step(1, 1, 10, 5, "") + call(0, 1, 50) + call(1, 1, 50) + end, 2, 2, ""},
		{"measured again", a + `{"kind":"resume"}` + "\n" + a + point + end, 1, 0, ""},
		{"measured again, and then twice", a + `{"kind":"resume"}` + "\n" + a + a + point + end, 1, 0, "a record stands twice in the file and was counted once"},
	} {
		f, err := read(head + v.text)
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		if got := strings.Join(f.Warnings, "|"); len(f.Steps) != v.steps || len(f.Iterations) != v.calls || got != v.warning {
			t.Errorf("%s: %d steps, %d iterations, %q", v.name, len(f.Steps), len(f.Iterations), got)
		}
	}
}

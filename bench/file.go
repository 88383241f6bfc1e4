package bench

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// File is what a raw file of the offline harnesses holds, in memory. Requests
// and their reads are left out: they are streamed by a Reader.
type File struct {
	Run        Run
	Resumes    []Resume
	Points     []Point // one a point, in the order in which they were closed
	Steps      []Step  // of these points and of the one that was cut, in the order of the file
	Iterations []Iteration
	Checks     []Check      // of these points, and of the run
	End        *End         // nil where the file was cut
	Clock      *ClockOrigin // in force at the end of the file
	LastNS     int64        // latest time on the run's clock
	SHA256     string       // of the file as it lies on disk
	Warnings   []string
}

// Complete says whether the run ended of itself.
func (f *File) Complete() bool { return f.End != nil && f.End.Reason == EndCompleted }

// Done says whether point has its line, with status ok or skipped: a resumed
// run does not measure it again.
func (f *File) Done(point int) bool {
	return slices.ContainsFunc(f.Points, func(p Point) bool {
		return p.Point == point && p.Status != StatusFailed
	})
}

// ReadFile reads a raw file whole, as ReadAll does.
func ReadFile(path string) (*File, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return ReadAll(r)
}

// ReadAll reads all records of r.
//
// Behind a resume line the run goes on. What stands before it of points that
// were not Done is dropped: those points are measured again. A step or an
// iteration that stands in the file twice is taken once, with a warning.
func ReadAll(r *Reader) (*File, error) {
	f, twice := &File{}, repeats{last: -1}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if !twice.found(f, rec) {
			f.add(rec)
		}
	}
	sum, err := r.SHA256()
	if err != nil {
		return nil, err
	}
	f.SHA256 = sum
	f.warn(twice.warning())
	f.warn(r.Warnings())
	return f, nil
}

func (f *File) add(rec any) {
	switch v := rec.(type) {
	case *Run:
		f.Run, f.Clock = *v, v.Clock
	case *Resume:
		f.resume(v)
	case *Point:
		f.close(v)
	case *Step:
		f.Steps = append(f.Steps, *v)
		f.LastNS = max(f.LastNS, v.TNS+v.HostNS)
	case *Iteration:
		f.Iterations = append(f.Iterations, *v)
		f.LastNS = max(f.LastNS, v.TNS+v.HostNS)
	case *Check:
		f.Checks = append(f.Checks, *v)
	case *End:
		f.End = v
		f.LastNS = max(f.LastNS, v.DurationNS)
		f.warn(v.Warnings)
	}
}

// warn adds warnings, each once: a resume line repeats what the process before
// it wrote.
func (f *File) warn(texts []string) {
	for _, text := range texts {
		if !slices.Contains(f.Warnings, text) {
			f.Warnings = append(f.Warnings, text)
		}
	}
}

// resume drops what the process before left of points that are not done.
func (f *File) resume(v *Resume) {
	f.Resumes = append(f.Resumes, *v)
	f.End = nil
	if v.Clock != nil {
		f.Clock = v.Clock
	}
	f.warn(v.Warnings)
	done := map[int]bool{}
	for _, p := range f.Points {
		done[p.Point] = p.Status != StatusFailed
	}
	f.Points = slices.DeleteFunc(f.Points, func(p Point) bool { return !done[p.Point] })
	f.Steps = slices.DeleteFunc(f.Steps, func(s Step) bool { return !done[s.Point] })
	f.Iterations = slices.DeleteFunc(f.Iterations, func(i Iteration) bool { return !done[i.Point] })
	f.Checks = slices.DeleteFunc(f.Checks, func(c Check) bool { return c.Point != nil && !done[*c.Point] })
}

// FailedChecks names the numeric checks that failed: the numbers of such a file
// are wrong.
func (f *File) FailedChecks() []string {
	var names []string
	for _, c := range f.Checks {
		if !c.OK && c.Name != CheckEmptyStep {
			names = append(names, c.Name)
		}
	}
	return names
}

// Take moves the records of a point out of f into a file of their own with the
// same header: its line, steps, iterations and checks. A recorder that takes each
// point once its results are out holds one point at a time.
func (f *File) Take(point int) *File {
	t := &File{Run: f.Run}
	t.Points = move(&f.Points, func(p *Point) bool { return p.Point == point })
	t.Steps = move(&f.Steps, func(s *Step) bool { return s.Point == point })
	t.Iterations = move(&f.Iterations, func(i *Iteration) bool { return i.Point == point })
	t.Checks = move(&f.Checks, func(c *Check) bool { return c.Point != nil && *c.Point == point })
	return t
}

// move takes out of from what is of the point, in its order.
func move[T any](from *[]T, of func(*T) bool) []T {
	all := *from
	var taken []T
	left := all[:0]
	for i := range all {
		if of(&all[i]) {
			taken = append(taken, all[i])
		} else {
			left = append(left, all[i])
		}
	}
	clear(all[len(left):])
	*from = left
	return taken
}

// close takes a point's line. A second one for the same point without a resume
// between them is a mistake of the writer: the last one stands.
func (f *File) close(p *Point) {
	if i := slices.IndexFunc(f.Points, func(q Point) bool { return q.Point == p.Point }); i >= 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("point %d is closed twice: the last line stands", p.Point))
		f.Points = slices.Delete(f.Points, i, i+1)
	}
	f.Points = append(f.Points, *p)
}

package report

import (
	"fmt"
	"slices"
	"strings"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/metric"
	"lathe/bench/roofline"
)

// view is what every form of a report shows.
type view struct {
	file     *bench.File
	points   []metric.Point
	complete bool
	state    string // why it is not complete; "" where it is
	title    string
	facts    []fact
	warnings []string        // of the run and of the file
	roofline *roofline.Sheet // nil where the file has no roofs
}

type fact struct{ name, value string }

func look(f *bench.File) view {
	v := view{file: f, points: metric.Points(f)}
	v.state = state(f)
	v.complete = v.state == ""
	v.title = f.Run.Command
	if m := modelName(f.Run); m != "" {
		v.title += ": " + m
	}
	if f.Run.Backend.Name != "" {
		v.title += " on " + f.Run.Backend.Name
	}
	v.facts = facts(f)
	v.warnings = slices.Concat(f.Run.Warnings, f.Warnings)
	if f.Run.Workload.Kind == bench.KindCorrectness {
		v.title += " (correctness test)"
	}
	v.warnings = append(v.warnings, failedChecks(f)...)
	sheet, warning := rooflineOf(f)
	v.roofline = sheet
	if warning != "" {
		v.warnings = append(v.warnings, warning)
	}
	return v
}

// failedChecks says each check that failed once, with how often it did.
func failedChecks(f *bench.File) []string {
	times := map[string]int{}
	var names, out []string
	for _, name := range f.FailedChecks() {
		if times[name] == 0 {
			names = append(names, name)
		}
		times[name]++
	}
	for _, name := range names {
		text := fmt.Sprintf("numeric check %s failed", name)
		if n := times[name]; n > 1 {
			text += fmt.Sprintf(" (%d times)", n)
		}
		out = append(out, text)
	}
	return out
}

func modelName(r bench.Run) string {
	if r.Model != nil {
		return r.Model.ID
	}
	return r.Workload.Model
}

// requested is how many points the run was asked for; 0 where the workload does
// not tell.
func requested(w bench.Workload) int {
	if !slices.Contains([]string{"one-batch", "latency", "roofline", bench.KindCorrectness}, w.Kind) {
		return 0
	}
	return len(w.BatchSizes) * len(w.InputLens) * len(w.OutputLens)
}

// Complete says whether a run ended of itself with a line for every point that
// it was asked for.
func Complete(f *bench.File) bool { return state(f) == "" }

// state says why a run is incomplete; "" where it is complete.
func state(f *bench.File) string {
	want, got := requested(f.Run.Workload), len(f.Points)
	finished := fmt.Sprintf("%d points finished", got)
	if want > 0 {
		finished = fmt.Sprintf("%d of %d points finished", got, want)
	}
	switch {
	case f.End == nil:
		return "the file has no end record, the run was cut; " + finished
	case f.End.Reason == bench.EndFailed && f.End.Error != "":
		return "the run failed (" + plain(f.End.Error) + "); " + finished
	case f.End.Reason != bench.EndCompleted:
		return fmt.Sprintf("the run was %s; %s", plain(string(f.End.Reason)), finished)
	case want > 0 && got < want:
		return finished
	case f.Run.Command == "compare" && !compare.Interleaved(f):
		return "the plan of the comparison is not in the file: no verdict follows from what is left of it"
	}
	return ""
}

// facts is the header block: what ran where, and which file says so.
func facts(f *bench.File) []fact {
	r := f.Run
	all := []fact{
		{"model", modelFact(r)}, {"host", hostFact(r.Host)}, {"backend", backendFact(r.Backend)},
		{"build", join(" ", r.Build.Version, r.Build.Revision, r.Build.Go)},
		{"started", startedFact(f)}, {"workload", sha(r.WorkloadSHA256)}, {"raw file", sha(f.SHA256)},
	}
	var gpus []fact
	for _, g := range r.Host.GPUs {
		gpus = append(gpus, fact{"gpu", gpuFact(g)})
	}
	all = slices.Insert(all, 2, gpus...)
	for i := range all {
		all[i].value = plain(all[i].value)
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.value == "" })
}

func modelFact(r bench.Run) string {
	m := r.Model
	if m == nil {
		return r.Workload.Model
	}
	parts := []string{m.ID}
	if m.Source != m.ID {
		parts = append(parts, m.Source)
	}
	if m.Parameters > 0 {
		parts = append(parts, count(m.Parameters)+" parameters")
	}
	parts = append(parts, m.DType)
	if m.WeightBytes > 0 {
		parts = append(parts, bytesText(m.WeightBytes)+" of weights")
	}
	return join(", ", parts...)
}

func hostFact(h bench.Host) string {
	parts := []string{h.CPU}
	if h.Cores > 0 {
		parts = append(parts, fmt.Sprintf("%d cores", h.Cores))
	}
	if h.MemoryBytes != nil {
		parts = append(parts, bytesText(*h.MemoryBytes))
	}
	if h.OS != "" {
		parts = append(parts, join(" ", h.OS+"/"+h.Arch, h.Kernel))
	}
	if h.Virtualised != nil && *h.Virtualised {
		parts = append(parts, "virtualised")
	}
	if h.Governor != nil {
		parts = append(parts, "governor "+*h.Governor)
	}
	return join(", ", parts...)
}

func gpuFact(g bench.GPU) string {
	parts := []string{fmt.Sprintf("%d: %s", g.Index, g.Name)}
	if g.Driver != "" {
		parts = append(parts, "driver "+g.Driver)
	}
	if g.PowerLimitW != nil {
		parts = append(parts, fmt.Sprintf("%d W", *g.PowerLimitW))
	}
	if g.SMClockMHz != nil {
		parts = append(parts, fmt.Sprintf("SM up to %d MHz", *g.SMClockMHz))
	}
	return join(", ", parts...)
}

func backendFact(b bench.Backend) string {
	parts := []string{b.Name, b.ISA}
	if b.Threads > 0 {
		parts = append(parts, fmt.Sprintf("%d threads", b.Threads))
	}
	if b.KVDType != "" {
		parts = append(parts, "KV "+b.KVDType)
	}
	if b.SHA256 != "" {
		parts = append(parts, "sha256 "+b.SHA256[:min(12, len(b.SHA256))])
	}
	return join(", ", parts...)
}

func startedFact(f *bench.File) string {
	s := f.Run.StartedAt
	for _, r := range f.Resumes {
		s += ", resumed " + r.StartedAt
	}
	return s
}

func sha(sum string) string {
	if sum == "" {
		return ""
	}
	return "sha256 " + sum
}

// join leaves out what is empty; control characters never reach a terminal.
func join(sep string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p = plain(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}

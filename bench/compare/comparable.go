package compare

import (
	"fmt"
	"slices"

	"lathe/bench"
)

// difference is one thing that is not equal in two recordings.
type difference struct {
	what    string
	refuses bool // the two do not compare; otherwise it is said and no more
}

// unlike lists what is not equal in two recordings: machine, model, workload and
// semantics must be, for a difference in time to be the kernel's.
func unlike(a, b *bench.File) []difference {
	var out []difference
	equal := func(name string, x, y any, refuses bool) {
		if x != y {
			out = append(out, difference{fmt.Sprintf("%s: %s in A, %s in B", name, shown(x), shown(y)), refuses})
		}
	}
	ra, rb := &a.Run, &b.Run
	equal("workload.kind", ra.Workload.Kind, rb.Workload.Kind, true)
	equal("workload.model", ra.Workload.Model, rb.Workload.Model, true)
	equal("workload.dataset", ra.Workload.Dataset, rb.Workload.Dataset, true)
	equal("workload.arrival", ra.Workload.Arrival, rb.Workload.Arrival, true)
	equal("workload.seed", ra.Workload.Seed, rb.Workload.Seed, true)
	if ra.Model != nil && rb.Model != nil {
		equal("model.dtype", ra.Model.DType, rb.Model.DType, true)
		equal("model.parameters", ra.Model.Parameters, rb.Model.Parameters, true)
	}
	equal("backend.kv_cache_dtype", ra.Backend.KVDType, rb.Backend.KVDType, true)
	equal("synchronisation of every step", synced(a), synced(b), true)
	equal("backend.threads", ra.Backend.Threads, rb.Backend.Threads, false)
	equal("build.go", ra.Build.Go, rb.Build.Go, false)
	return append(out, unlikeHosts(&ra.Host, &rb.Host)...)
}

// Unlike lists what is not equal in two recordings: what keeps their times from
// comparing, and what is only worth knowing.
func Unlike(a, b *bench.File) (refused, noted []string) {
	for _, d := range unlike(a, b) {
		if d.refuses {
			refused = append(refused, d.what)
		} else {
			noted = append(noted, d.what)
		}
	}
	return refused, noted
}

func unlikeHosts(a, b *bench.Host) []difference {
	var out []difference
	equal := func(name string, x, y any, refuses bool) {
		if x != y {
			out = append(out, difference{fmt.Sprintf("%s: %s in A, %s in B", name, shown(x), shown(y)), refuses})
		}
	}
	equal("host.os", a.OS, b.OS, true)
	equal("host.arch", a.Arch, b.Arch, true)
	equal("host.cpu", a.CPU, b.CPU, true)
	equal("host.cores", a.Cores, b.Cores, true)
	equal("host.governor", known(a.Governor), known(b.Governor), true)
	equal("host.kernel", a.Kernel, b.Kernel, false)
	equal("host.hostname", a.Hostname, b.Hostname, false)
	equal("host.gpus", len(a.GPUs), len(b.GPUs), true)
	for i := range min(len(a.GPUs), len(b.GPUs)) {
		x, y := &a.GPUs[i], &b.GPUs[i]
		at := fmt.Sprintf("host.gpus[%d].", i)
		equal(at+"name", x.Name, y.Name, true)
		equal(at+"driver", x.Driver, y.Driver, true)
		equal(at+"power_limit_w", known(x.PowerLimitW), known(y.PowerLimitW), true)
		equal(at+"memory_clock_max_mhz", known(x.MemClockMHz), known(y.MemClockMHz), true)
		equal(at+"sm_clock_max_mhz", known(x.SMClockMHz), known(y.SMClockMHz), true)
		equal(at+"ecc", known(x.ECC), known(y.ECC), true)
		equal(at+"mig", known(x.MIG), known(y.MIG), true)
		equal(at+"uuid", x.UUID, y.UUID, false)
	}
	return out
}

// known is the value behind a pointer, nil where it is not known.
func known[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func shown(x any) string {
	switch v := x.(type) {
	case nil:
		return "unknown"
	case string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(x)
}

// synced says whether the steps of a recording were synchronised; a loop that
// does not synchronise knows no graph mode.
func synced(f *bench.File) bool {
	return !slices.ContainsFunc(f.Steps, func(s bench.Step) bool { return s.Graph == "" })
}

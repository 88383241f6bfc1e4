package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lathe/bench/frame"
)

func isNVBench(v frame.Value) bool {
	first := v.Get("benchmarks").First()
	return v.Get("devices").Is(frame.Array) && (!first.Get("states").Is(frame.Missing) || !first.Get("min_samples").Is(frame.Missing))
}

// readNVBench reads NVBench's JSON, of any of its versions: only what all have.
func readNVBench(v frame.Value, _ Options) (*File, error) {
	f := &File{Form: "NVBench result", Kind: Kernel, Harness: NVBench, Traits: []Trait{{"timed", "launches of one kernel on a device", true}}}
	f.Release = v.Get("meta").Get("version").Get("nvbench").Get("string").Text()
	var devices, names []string
	for d := range v.Get("devices").All() {
		devices = append(devices, clip(d.Get("name").Text(), 80))
	}
	run, skipped, cold := 0, 0, false
	for b := range v.Get("benchmarks").All() {
		if n := clip(b.Get("name").Text(), 80); n != "" && !slices.Contains(names, n) && len(names) < 32 {
			names = append(names, n)
		}
		for s := range b.Get("states").All() {
			if run++; s.Get("is_skipped").Truthy() {
				skipped++
			}
			cold = cold || nvSummary(s, "nv/cold/")
		}
	}
	if run == 0 {
		return nil, errors.New("no state of any benchmark in it")
	}
	slices.Sort(names)
	f.Traits = append(f.Traits, Trait{"devices", strings.Join(devices, ", "), true}, Trait{"benchmarks", strings.Join(names, ", "), true})
	f.traits(v.Get("benchmarks").First(), false, "min_samples", "min_time", "max_noise", "timeout", "stopping_criterion")
	if skipped > 0 {
		f.warn(fmt.Sprintf("%d of %d states were skipped", skipped, run))
	}
	if !cold {
		f.warn("no state has a cold measurement: its times may be those of a warm cache")
	}
	return f, nil
}

// nvSummary says whether a state has a summary whose tag begins so; older files
// have names instead of tags.
func nvSummary(state frame.Value, tag string) bool {
	for s := range state.Get("summaries").All() {
		if strings.HasPrefix(s.Get("tag").Text(), tag) {
			return true
		}
	}
	for name := range state.Get("summaries").Members() {
		if strings.Contains(name, "Cold") {
			return true
		}
	}
	return false
}

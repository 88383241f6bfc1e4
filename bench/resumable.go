package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DifferentRunError says why a run cannot be resumed: what differs, one entry a
// value, as "path: before, now".
type DifferentRunError struct{ Differences []string }

func (e *DifferentRunError) Error() string {
	return "resume: the file was recorded differently: " + strings.Join(e.Differences, "; ")
}

// Resumable says whether now may append to the file that before heads: the
// command, the workload, the options, the machine, the build, the backend and
// the model must be equal. It leaves out what cannot move a number: argv, stamps,
// warnings, load time, notes, and a device's own report, which holds free memory.
// except names keys of the options that do not matter either ("resume").
func Resumable(before, now Run, except ...string) error {
	a, err := identity(before, except)
	if err != nil {
		return fmt.Errorf("resume: header of the file: %w", err)
	}
	b, err := identity(now, except)
	if err != nil {
		return fmt.Errorf("resume: header of this run: %w", err)
	}
	paths := slices.Collect(maps.Keys(a))
	for p := range b {
		if _, ok := a[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	var diff []string
	for _, p := range paths {
		if a[p] != b[p] {
			diff = append(diff, fmt.Sprintf("%s: %s before, %s now", p, shown(a, p), shown(b, p)))
		}
	}
	if len(diff) > 0 {
		return &DifferentRunError{diff}
	}
	return nil
}

func shown(m map[string]string, path string) string {
	if v, ok := m[path]; ok {
		return v
	}
	return "absent"
}

// identity is what a run is, flattened to paths and JSON values.
func identity(r Run, except []string) (map[string]string, error) {
	r.Host.Notes = nil
	r.Backend.Device = nil
	if r.Model != nil {
		m := *r.Model
		m.LoadNS = 0
		r.Model = &m
	}
	data, err := json.Marshal(struct {
		Command     string          `json:"command"`
		Workload    Workload        `json:"workload"`
		Host        Host            `json:"host"`
		Build       Build           `json:"build"`
		Backend     Backend         `json:"backend"`
		Model       *Model          `json:"model"`
		Options     json.RawMessage `json:"options"`
		Environment []EnvVar        `json:"environment"`
	}{r.Command, r.Workload, r.Host, r.Build, r.Backend, r.Model, r.Options, r.Environment})
	if err != nil {
		return nil, err
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	if opts, ok := tree.(map[string]any)["options"].(map[string]any); ok {
		for _, k := range except {
			delete(opts, k)
		}
	}
	flat := map[string]string{}
	return flat, flatten(flat, "", tree)
}

// flatten descends into objects; a list is one value, because that is how an
// option is read. Null is as good as absent.
func flatten(flat map[string]string, path string, v any) error {
	if m, ok := v.(map[string]any); ok {
		for k, child := range m {
			if err := flatten(flat, strings.TrimPrefix(path+"."+k, "."), child); err != nil {
				return err
			}
		}
		return nil
	}
	if v == nil {
		return nil
	}
	data, err := json.Marshal(v)
	flat[path] = string(data)
	return err
}

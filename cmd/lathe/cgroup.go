package main

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// groups are the folders of the control groups that bind this process for one controller, "cpu" or
// "memory": those of both versions of the interface, from each root down to the process's own group.
// A container sees its own group at the root, under whatever path the host has for it; folders that
// are not there are passed over by their readers.
func (m machine) groups(controller string) []string {
	var dirs []string
	for line := range strings.SplitSeq(m.text("proc/self/cgroup"), "\n") {
		_, rest, _ := strings.Cut(line, ":")
		controllers, group, ok := strings.Cut(rest, ":")
		switch {
		case !ok:
		case controllers == "": // version 2, or the unified tree beside version 1
			dirs = append(dirs, below("sys/fs/cgroup", group)...)
		case slices.Contains(strings.Split(controllers, ","), controller):
			dirs = append(dirs, below("sys/fs/cgroup/"+controller, group)...)
		}
	}
	for _, root := range []string{"sys/fs/cgroup", "sys/fs/cgroup/" + controller} {
		if !slices.Contains(dirs, root) {
			dirs = append(dirs, root)
		}
	}
	return dirs
}

// below is root and every folder from it down to group.
func below(root, group string) []string {
	dirs := []string{root}
	for part := range strings.SplitSeq(strings.Trim(path.Clean("/"+group), "/"), "/") {
		if part != "" {
			root = path.Join(root, part)
			dirs = append(dirs, root)
		}
	}
	return dirs
}

// quota is the CPU time that control groups grant, in CPUs: the least of the process's group and
// those above it. Nil: no limit, or unknown.
func (m machine) quota() *float64 {
	least := math.Inf(1)
	for _, dir := range m.groups("cpu") {
		if f := strings.Fields(m.line(path.Join(dir, "cpu.max"))); len(f) == 2 {
			least = min(least, ratio(f[0], f[1]))
		}
		least = min(least, ratio(m.line(path.Join(dir, "cpu.cfs_quota_us")), m.line(path.Join(dir, "cpu.cfs_period_us"))))
	}
	if math.IsInf(least, 1) {
		return nil
	}
	return &least
}

// ratio is +Inf for "max", -1 and what is no number.
func ratio(quota, period string) float64 {
	q, err := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err != nil || err2 != nil || q <= 0 || p <= 0 {
		return math.Inf(1)
	}
	return q / p
}

// memoryLimit is what this process may use, in bytes: the machine's memory, or the least that a
// control group above it grants if that is less. False where neither is known.
func (m machine) memoryLimit() (uint64, bool) {
	const unlimited = 1 << 62 // version 1 has no word for it, but a number near this
	limit, ok := m.bytes("proc/meminfo", "MemTotal")
	for _, dir := range m.groups("memory") {
		for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
			n, err := strconv.ParseUint(m.line(path.Join(dir, file)), 10, 64)
			if err == nil && n < unlimited && (!ok || n < limit) {
				limit, ok = n, true
			}
		}
	}
	return limit, ok
}

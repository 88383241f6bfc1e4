package main

import (
	"testing"
	"testing/fstest"
)

// tree is a file system of these files.
func tree(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestMemoryLimit(t *testing.T) {
	const meminfo = "MemTotal:       16000000 kB\n"
	const total = 16000000 << 10
	for _, c := range []struct {
		name  string
		files map[string]string
		want  uint64 // 0: unknown
	}{
		{"nothing known", nil, 0},
		{"the machine's", map[string]string{"proc/meminfo": meminfo}, total},
		{"no number", map[string]string{"proc/meminfo": "MemTotal: many\n"}, 0},
		{"v2, own group", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user.slice/lathe.scope\n",
			"sys/fs/cgroup/user.slice/memory.max": "max\n", "sys/fs/cgroup/user.slice/lathe.scope/memory.max": "1000000\n"}, 1000000},
		{"v2, the group above is smaller", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user.slice/lathe.scope\n",
			"sys/fs/cgroup/user.slice/memory.max": "500000\n", "sys/fs/cgroup/user.slice/lathe.scope/memory.max": "1000000\n"}, 500000},
		{"v2, container's root", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "700000\n"}, 700000},
		{"v2, another group's limit", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/b/memory.max": "7\n"}, total},
		{"v2, above the machine's memory", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999999\n"}, total},
		{"v1, the chain", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/y\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":            "9223372036854771712\n",
			"sys/fs/cgroup/memory/docker/memory.limit_in_bytes":     "300000\n",
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "400000\n"}, 300000},
		{"v1, container that sees its group at the root", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/docker/abc\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "200000\n"}, 200000},
		{"v1, unlimited and no meminfo", map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"a group outside the namespace", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../../other\n",
			"sys/fs/cgroup/memory.max": "600000\n"}, 600000},
	} {
		got, ok := machine{tree(c.files)}.memoryLimit()
		if ok != (c.want > 0) || ok && got != c.want {
			t.Errorf("%s: %d, %v, want %d", c.name, got, ok, c.want)
		}
	}
}

func TestQuota(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  float64 // 0: none
	}{
		{"none", nil, 0},
		{"v2, the group above", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "50000 100000\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, 0.5},
		{"v1, root of a container", map[string]string{"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 1.5},
		{"v1, own group", map[string]string{"proc/self/cgroup": "2:cpu,cpuacct:/a\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "25000\n", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n"}, 0.25},
	} {
		got := machine{tree(c.files)}.quota()
		if (got != nil) != (c.want > 0) || got != nil && *got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestProcValue(t *testing.T) {
	m := machine{tree(map[string]string{"f": "Odd:\nVmHWMx:  7 kB\nVmHWM:\t    2048 kB\nBelow: -1 kB\n"})}
	if n, ok := m.bytes("f", "VmHWM"); !ok || n != 2048<<10 {
		t.Errorf("%d, %v", n, ok)
	}
	for _, key := range []string{"Odd", "Below", "Missing"} {
		if n, ok := m.bytes("f", key); ok {
			t.Errorf("%s: %d", key, n)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// procValue reads "KEY: N kB" of a file of /proc, in bytes. Other systems have no such file.
func procValue(path, key string) (uint64, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), key+":")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			return 0, false
		}
		n, err := strconv.ParseUint(fields[0], 10, 64)
		return n << 10, err == nil
	}
	return 0, false
}

// memoryLimit is what this process may use: the machine's memory, or its control group's if less.
func memoryLimit() (uint64, bool) {
	limit, ok := procValue("/proc/meminfo", "MemTotal")
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64); err == nil && (!ok || n < limit) {
			limit, ok = n, true
		}
	}
	return limit, ok
}

// fitsMemory refuses bytes that are over fraction of the memory limit. Where the limit is unknown
// nothing is refused here; the backend's own allocation then decides.
func fitsMemory(need int64, fraction float64) error {
	limit, ok := memoryLimit()
	if !ok || float64(need) <= fraction*float64(limit) {
		return nil
	}
	return fmt.Errorf("%s needed, %s allowed (--mem-fraction-static %g of %s)", gigabytes(need), gigabytes(int64(fraction*float64(limit))), fraction, gigabytes(int64(limit)))
}

func gigabytes(n int64) string { return fmt.Sprintf("%.2f GB", float64(n)/1e9) }

// peakMemory is the largest resident size of the process since resetPeakMemory, nil where the
// system does not tell.
func peakMemory() *uint64 {
	if n, ok := procValue("/proc/self/status", "VmHWM"); ok {
		return &n
	}
	return nil
}

// resetPeakMemory starts the peak anew (proc(5), clear_refs 5). Where that fails the peak is the
// process's since its start, which is still an upper bound.
func resetPeakMemory() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

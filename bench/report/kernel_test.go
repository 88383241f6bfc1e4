package report

import (
	"encoding/json"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/kernel"
)

// kernelFile is a recording of two kernels in two modes, of which one is not cold.
func kernelFile(t *testing.T) *bench.File {
	t.Helper()
	f := &bench.File{Run: bench.Run{Command: "kernel bench", Warnings: []string{"a doubt"}}, End: &bench.End{Reason: bench.EndCompleted}, SHA256: "ab"}
	add := func(name string, detail any) {
		raw, err := json.Marshal(detail)
		if err != nil {
			t.Fatal(err)
		}
		f.Checks = append(f.Checks, bench.Check{Kind: bench.KindCheck, Name: name, OK: true, Detail: raw})
	}
	variants := []string{"file", "builtin"}
	add(kernel.CheckSchedule, kernel.Mode{Mode: kernel.Cold, Variants: variants, Schedule: kernel.Schedule{Copies: 9, Batch: 2, Cut: true,
		Pilot: kernel.Pilot{Call: 1500, Around: 250}}, Call: kernel.Call{Bytes: 4096}})
	for i, ns := range [][]int64{{4000, 4200, 3800}, {8000, 8400, 7600}, {2000, 2000, 2000}, {2040, 2040, 2040}} {
		add(kernel.CheckSamples, kernel.Block{Mode: kernel.Cold, Variant: variants[i/2], Footprint: 1 + i%2, Index: i, NS: ns})
	}
	return f
}

// TestKernelReports reads a recording in every form: figures a call, the proof, what was planned.
func TestKernelReports(t *testing.T) {
	want := map[string][]string{
		"text": {"cold     file       9     2.000  3", "cold     file      18     4.000  3  1.02", "cold  builtin       9     1.000  3  4.10",
			"NOT PROVEN COLD: twice the footprint takes 100.0 % longer", "cold, builtin: cold: twice the footprint takes as long (ratio 1.020)",
			"a call took 1.50 us and what", "cut short by the time limit", "warning:  a doubt"},
		"markdown": {"| cold | file | 9 | 2.000 | 3 | 2.05 |", "- cold, builtin: cold: twice the footprint"},
		"csv":      {"true,cold,file,1,9,3,2000,,,4096,2.048,ab", "true,cold,builtin,2,18,3,1020,"},
		"json":     {`"proven_cold": false`, `"median_ns": 2000`, `"raw_sha256": "ab"`},
	}
	for format, parts := range want {
		var b strings.Builder
		if err := Write(&b, kernelFile(t), format); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		for _, part := range parts {
			if !strings.Contains(text, strings.Join(strings.Fields(part), " ")) {
				t.Errorf("%s: no %q in\n%s", format, part, b.String())
			}
		}
	}
	if err := Write(&strings.Builder{}, kernelFile(t), "html"); err == nil {
		t.Error("html: no error")
	}
}

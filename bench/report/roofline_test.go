package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/roofline"
	"lathe/engine/llama"
)

// sheetFile is a run on an H100 with a step of ns nanoseconds and an instrumented pass.
func sheetFile(t *testing.T, ns int64) *bench.File {
	t.Helper()
	c, err := llama.Preset("llama-3-8b")
	if err != nil {
		t.Fatal(err)
	}
	quoted, ok := roofline.Quoted("NVIDIA H100 80GB HBM3")
	if !ok {
		t.Fatal("no H100 in the table")
	}
	reason := "memory: \x1b[31mtoo large"
	f := &bench.File{Points: []bench.Point{{Status: bench.StatusOK, Batch: 1, InputLen: 1024, OutputLen: 2},
		{Point: 1, Status: bench.StatusSkipped, Reason: &reason, Batch: 512, InputLen: 8192, OutputLen: 2}},
		Steps: []bench.Step{{Phase: bench.Prefill, Batch: 1, ContextLen: 1024, HostNS: 20e6},
			{Phase: bench.Decode, Index: 1, Batch: 1, ContextLen: 1025, HostNS: ns}},
		End: &bench.End{Reason: bench.EndCompleted}}
	f.Run.Workload = bench.Workload{Kind: "roofline", BatchSizes: []int{1, 512}, InputLens: []int{1024}, OutputLens: []int{2}}
	for _, record := range []func() (bench.Check, error){
		func() (bench.Check, error) { return roofline.RecordRoofs([]roofline.Roofs{quoted}) },
		func() (bench.Check, error) { return roofline.RecordWork(0, roofline.PointWorkOf(c, 1, 1024, 1, 2)) },
		func() (bench.Check, error) {
			return roofline.RecordOperators(0, roofline.OperatorPass{ContextLen: 1025, Operators: []string{"attn_decode"},
				NS: [][]int64{{500e3}}, StepNS: []int64{5e6}})
		},
	} {
		check, err := record()
		if err != nil {
			t.Fatal(err)
		}
		f.Checks = append(f.Checks, check)
	}
	return f
}

func written(t *testing.T, f *bench.File, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRooflineTable(t *testing.T) {
	text := written(t, sheetFile(t, 9.04e6), "text")
	for _, want := range []string{"4.521 memory     50.0", "skipped: memory: [31mtoo large", "attn_decode     32      500.0",
		"datasheet roofs: 3350 GB/s, 989400 GFLOP/s bf16, ridge 295 FLOP/byte"} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
	if lie := written(t, sheetFile(t, 2e6), "text"); !strings.Contains(lie, "impossible: below the floor of the datasheet") {
		t.Errorf("a step below the floor is not called so:\n%s", lie)
	}
	if markdown := written(t, sheetFile(t, 9e6), "markdown"); !strings.Contains(markdown, "| 1 | 1025 | decode |") ||
		!strings.Contains(markdown, "| attn\\_decode |") {
		t.Errorf("markdown:\n%s", markdown)
	}
}

// Every row of the CSV has as many cells as the head, those without figures as well.
func TestRooflineCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(written(t, sheetFile(t, 9.04e6), "csv"))).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	decode := rows[2]
	if decode[column["phase"]] != "decode" || decode[column["bytes"]] != "15144593920" || decode[column["limit"]] != "memory" ||
		decode[column["verdict"]] != "possible" || decode[column["roof_byte_per_s"]] != "3350000000000" {
		t.Errorf("decode: %v", decode)
	}
	if skipped := rows[3]; skipped[column["status"]] != "skipped" || skipped[column["verdict"]] != "" || strings.Contains(skipped[column["reason"]], "\x1b") {
		t.Errorf("skipped: %q", skipped)
	}
}

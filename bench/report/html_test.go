package report

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/serving"
)

// selfContained checks what every page must be: one document, no script, nothing
// from elsewhere, no undefined number, no control character, the same bytes again.
func selfContained(t *testing.T, page, again string) {
	t.Helper()
	if page != again {
		t.Error("the page was written differently a second time")
	}
	for _, bad := range []string{"<script", "href=", "src=", "@import", "url(", "NaN", "+Inf", "-Inf", "ZgotmplZ", "\x1b"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if at := regexp.MustCompile(`https?://[^"]*`).FindAllString(page, -1); len(at) > 0 {
		for _, u := range at {
			if u != "http://www.w3.org/2000/svg" {
				t.Errorf("the page names %s", u)
			}
		}
	}
}

func TestHTMLOfARoofline(t *testing.T) {
	page := written(t, sheetFile(t, 9.04e6), "html")
	selfContained(t, page, written(t, sheetFile(t, 9.04e6), "html"))
	for _, want := range []string{"<h2>Roofline</h2>", `aria-label="Roofline"`, "attn_decode", "skipped: memory: [31mtoo large",
		`aria-label="batch 1, input 1024: decode step times"`, "Every decode step in its order, n=1."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Of many samples every k-th is drawn, and the caption says so; text of the file
// cannot become markup.
func TestHTMLOfARun(t *testing.T) {
	f := &bench.File{Points: []bench.Point{{Status: bench.StatusOK, Batch: 2, InputLen: 8, OutputLen: 5001}}}
	f.Run.Command = `bench <b>one-batch</b>`
	f.Run.Warnings = []string{`<img src=x onerror=alert(1)>`}
	f.Steps = append(f.Steps, bench.Step{Phase: bench.Prefill, Batch: 2, ContextLen: 8, HostNS: 5e6})
	for i := 1; i <= 5000; i++ {
		f.Steps = append(f.Steps, bench.Step{Phase: bench.Decode, Index: i, Batch: 2, ContextLen: 8 + i, TNS: int64(i) * 2e6, HostNS: 1e6 + int64(i%7)*1e4})
	}
	page := written(t, f, "html")
	for _, want := range []string{"1667 of 5000 decode steps, evenly picked", "&lt;img src=x onerror", "bench &lt;b&gt;one-batch&lt;/b&gt;", "INCOMPLETE: the file has no end record"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "<img") || strings.Contains(page, "<b>") {
		t.Error("text of the file became markup")
	}
	empty := written(t, &bench.File{}, "html")
	selfContained(t, empty, written(t, &bench.File{}, "html"))
	if !strings.Contains(empty, "No point was measured.") {
		t.Errorf("an empty file's page: %s", empty)
	}
}

// The seed's speculative stream as a page: every reading has its column and its
// line in each figure.
func TestHTMLOfACapture(t *testing.T) {
	c := loadCorpus(t)
	done := 0
	for i := range c.scenarios {
		s := &c.scenarios[i]
		if s.Name != "eagle-chat-1" && s.Name != "error-mid-chat-1" {
			continue
		}
		done++
		names := []string{"vllm:openai-chat", "sglang:sglang-oai-chat", "exact"}
		results := read(t, bytes.NewReader(lines(t, s.records(t))), names, s.options(serving.August))
		write := func() string {
			var b bytes.Buffer
			if err := ServingHTML(&b, &serving.Capture{End: &bench.End{}}, "abc", results, Said{Head: []string{"client-limited: <b>"}, Notes: []string{"send lag: p50"}}); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		page := write()
		selfContained(t, page, write())
		limit, table, lag := strings.Index(page, "warning: client-limited: &lt;b&gt;"), strings.Index(page, "<table"), strings.Index(page, "send lag: p50")
		if limit < 0 || limit > table || lag < table {
			t.Errorf("%s: the limit at %d, the table at %d, the lag at %d", s.Name, limit, table, lag)
		}
		for _, name := range names {
			if strings.Count(page, ">"+name+"<") < 1 {
				t.Errorf("%s: %s is missing", s.Name, name)
			}
		}
		if s.Name == "eagle-chat-1" && (!strings.Contains(page, `aria-label="ITL by reading"`) || !strings.Contains(page, `aria-label="TTFT over time"`)) {
			t.Errorf("%s: a figure is missing", s.Name)
		}
	}
	if done != 2 {
		t.Fatalf("%d scenarios", done)
	}
}

func TestRanksKeepTheEnds(t *testing.T) {
	values := make([]float64, 12345)
	for i := range values {
		values[i] = float64((i * 7919) % len(values))
	}
	r := ranks(values)
	if len(r) != 1000 || r[0] != 0 || r[999] != 12344 || !slices.IsSorted(r) {
		t.Errorf("%d ranks from %g to %g", len(r), r[0], r[len(r)-1])
	}
	if r := ranks([]float64{2, 1}); len(r) != 2 || r[0] != 1 {
		t.Errorf("%v", r)
	}
}

// A comparison's page has the verdict on top and both sides in each point's figures.
func TestHTMLOfAComparison(t *testing.T) {
	f := load(t, "compare.jsonl.zst")
	page := written(t, f, "html")
	selfContained(t, page, written(t, f, "html"))
	verdict, points := strings.Index(page, `<div class="verdict `), strings.Index(page, "<h2>Points</h2>")
	if verdict < 0 || points < verdict {
		t.Errorf("the verdict stands at %d, the points at %d", verdict, points)
	}
	if n := strings.Count(page, `: steps over time"`); n != 2 {
		t.Errorf("%d figures of steps, want one for each of the two measured points", n)
	}
	for _, want := range []string{"Change of B against A, percent", ">A</text>", ">B</text>", "change by epoch"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	f.End = nil
	if cut := written(t, f, "html"); !strings.Contains(cut, "INCOMPLETE") {
		t.Error("a cut recording's page does not say so")
	}
}

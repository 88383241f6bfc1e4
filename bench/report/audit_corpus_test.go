package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lathe/bench/audit"
)

// figuresOf are the figures of a file that two readings of one capture can
// differ in.
func figuresOf(f *audit.File) map[audit.Figure]float64 {
	all := map[audit.Figure]float64{audit.Completed: float64(*f.Counts.Completed), audit.OutputTokens: float64(*f.Counts.Output), audit.InputTokens: float64(*f.Counts.Input)}
	for _, m := range []audit.Figure{audit.TTFT, audit.ITL, audit.TPOT, audit.E2EL} {
		if x, ok := f.Stats[m]["mean"]; ok {
			all[m] = x
		}
	}
	return all
}

// movedBySomeRow says whether a row of a comparison moves a figure, or may.
func movedBySomeRow(c *audit.Comparison, f audit.Figure) bool {
	for _, r := range c.Rows {
		for _, m := range r.Moves {
			if m.Figure == f || m.Figure == audit.Everything {
				return true
			}
		}
	}
	var open []string
	for _, r := range c.NotTold {
		open = append(open, r.ID)
	}
	return slices.ContainsFunc(audit.Rows(), func(r audit.Row) bool {
		return slices.Contains(open, r.ID) && slices.Contains(r.Moves, f) && !strings.HasPrefix(r.ID, "G") && !strings.HasPrefix(r.ID, "B") && !strings.HasPrefix(r.ID, "A")
	})
}

// TestAuditExplainsEveryDifference reads every scenario of the corpus by every
// pair of harness, backend and release: where two readings of one capture differ
// in a figure, the audit of their result files must name a row about what is
// made of a stream that moves it.
func TestAuditExplainsEveryDifference(t *testing.T) {
	if testing.Short() {
		t.Skip("every scenario by every pair")
	}
	c := loadCorpus(t)
	byEndpoint := map[string][]string{"completions": {"vllm:openai", "sglang:sglang-oai", "sglang:vllm"}, "chat": {"vllm:openai-chat", "sglang:sglang-oai-chat"}, "generate": {"sglang:sglang"}}
	differ := 0
	for i := range c.scenarios {
		s := &c.scenarios[i]
		var files []*audit.File
		var names []string
		for _, by := range byEndpoint[s.Requests[0].Endpoint] {
			for _, v := range []string{"2026-08", "2026-11"} {
				m := made{scenario: s.Name, by: by, version: aug, args: "--save-detailed --percentile-metrics ttft,tpot,itl,e2el"}
				if v == string(nov) {
					m.version = nov
				}
				if strings.HasPrefix(by, "sglang") {
					m.args = "--output-details"
				}
				if f := m.try(t, c, s); f != nil {
					files, names = append(files, f), append(names, fmt.Sprint(by, " ", v))
				}
			}
		}
		for x := range files {
			for y := x + 1; y < len(files); y++ {
				got := audit.Compare(files[x], files[y])
				a, b := figuresOf(files[x]), figuresOf(files[y])
				for f, va := range a {
					vb, ok := b[f]
					if !ok || math.Abs(va-vb) <= 1e-9*max(math.Abs(va), math.Abs(vb)) {
						continue
					}
					differ++
					if !movedBySomeRow(got, f) {
						t.Errorf("%s: %s is %v by %s and %v by %s, and no row says why: %q", s.Name, f, va, names[x], vb, names[y], idsOf(got, audit.Moves))
					}
				}
			}
		}
	}
	if differ < 1000 {
		t.Errorf("only %d differences were looked at", differ)
	}
	t.Logf("%d differences explained", differ)
}

// try opens what a harness makes of a scenario; nil where it ends in an
// exception.
func (m *made) try(t *testing.T, c *corpus, s *scenario) *audit.File {
	t.Helper()
	harness, backend, _ := strings.Cut(m.by, ":")
	p := printed{Scenario: s.Name, Harness: harness, Backend: backend, Args: strings.Fields(m.args), ServerInfo: []byte("null")}
	if _, _, _, err := p.render(t, s, m.version); err != nil {
		return nil
	}
	return m.open(t, c)
}

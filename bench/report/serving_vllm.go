package report

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"lathe/bench/serving"
)

// VLLMRun is what a vLLM report says besides its figures: flags of the run.
type VLLMRun struct {
	Date               time.Time
	Backend            string
	Label              *string
	ModelID            string
	TokenizerID        *string // nil without a tokenizer
	NumPrompts         int
	Metadata           []string // KEY=VALUE
	RequestRate        float64  // +Inf for no limit
	Burstiness         float64
	MaxConcurrency     *int
	RampUpStrategy     string // "" without a ramp
	RampStart, RampEnd int
	PercentileMetrics  []string // ttft, tpot, itl, e2el, …
	SaveDetailed       bool
	ResultDir          string
	ResultFilename     string
	Speculation        *serving.Speculation
	Diffusion          *serving.Diffusion
	Probe              *Probe
	RPSChanges         []RPSChange
	// ClockOriginNS is CLOCK_MONOTONIC at the capture's 0: start times are told on
	// the machine's clock, as vLLM's client does.
	ClockOriginNS int64
}

// Probe is what probe requests beside the run took.
type Probe struct {
	Completed, Failed                  int
	MedianE2ELMS, P99E2ELMS, MaxE2ELMS float64
}

// RPSChange says when a ramp reached a whole rate.
type RPSChange struct {
	RPS       int
	Timestamp string // ISO 8601
}

// vllmMetric is one metric of vLLM's block.
type vllmMetric struct {
	name, title, label string
	stats              serving.Stats
}

// chosen lists the selected metrics in the order of the block and the file.
func (run *VLLMRun) chosen(m *serving.VLLMMetrics, v serving.Version) []vllmMetric {
	all := []vllmMetric{}
	if run.TokenizerID != nil {
		all = append(all, vllmMetric{"ttft", "Time to First Token", "TTFT", m.TTFT},
			vllmMetric{"tpot", "Time per Output Token (excl. 1st token)", "TPOT", m.TPOT},
			vllmMetric{"itl", "Inter-token Latency", "ITL", m.ITL})
	}
	all = append(all, vllmMetric{"e2el", "End-to-end Latency", "E2EL", m.E2EL})
	if sw, _ := serving.SwitchesOf(v); sw.QueueTime && run.MaxConcurrency != nil {
		all = append(all, vllmMetric{"client_queue_time", "Client-side Queueing", "Client Queue Time", m.QueueTime})
		if !math.IsInf(run.RequestRate, 0) {
			all = append(all, vllmMetric{"e2el_including_client_queue", "Queue-inclusive End-to-end Latency", "E2EL incl. Client Queue", m.E2ELWithQueue})
		}
	}
	return slices.DeleteFunc(all, func(x vllmMetric) bool { return !slices.Contains(run.PercentileMetrics, x.name) })
}

// VLLMBlock is the block that vLLM prints; an error where vLLM ends in an
// exception instead.
func VLLMBlock(run VLLMRun, r *serving.Result) (string, error) {
	m := r.VLLM
	if m == nil {
		return "", unfinished(r)
	}
	k := &block{}
	k.title(" Serving Benchmark Result ", '=')
	k.line("Successful requests:", m.Completed)
	k.line("Failed requests:", m.Failed)
	if run.MaxConcurrency != nil {
		k.line("Maximum request concurrency:", *run.MaxConcurrency)
	}
	if !math.IsInf(run.RequestRate, 0) {
		k.line("Request rate configured (RPS):", run.RequestRate)
	}
	k.line("Benchmark duration (s):", durationSeconds(r))
	k.line("Total input tokens:", m.TotalInput)
	if run.TokenizerID != nil {
		k.line("Total generated tokens:", m.TotalOutput)
	}
	k.line("Request throughput (req/s):", m.RequestThroughput)
	if m.GoodputAsked {
		k.line("Request goodput (req/s):", m.RequestGoodput)
	}
	if run.TokenizerID != nil {
		k.line("Output token throughput (tok/s):", m.OutputThroughput)
		k.line("Peak output token throughput (tok/s):", m.MaxOutputTokensPerS)
	}
	k.line("Peak concurrent requests:", float64(m.MaxConcurrentRequests))
	if run.TokenizerID != nil {
		k.line("Total token throughput (tok/s):", m.TotalTokenThroughput)
	}
	if run.Probe != nil {
		k.probes(run.Probe)
	}
	for _, x := range run.chosen(m, r.Version) {
		k.title(x.title, '-')
		k.line("Mean "+x.label+" (ms):", x.stats.Mean)
		k.line("Median "+x.label+" (ms):", x.stats.Median)
		for _, q := range x.stats.Percentiles {
			k.line("P"+percentileName(q.P)+" "+x.label+" (ms):", q.Value)
		}
	}
	if run.Diffusion != nil {
		k.diffusion(run.Diffusion)
	} else if run.Speculation != nil {
		k.speculation(run.Speculation)
	}
	return k.close(), nil
}

// unfinished says that the harness cannot finish a run.
func unfinished(r *serving.Result) error {
	if r.Err == "" {
		return fmt.Errorf("report %s: the harness ends in %s in its cache report and writes no result file", r.Semantics, r.CacheErr)
	}
	return fmt.Errorf("report %s: the harness ends in %s instead of a result", r.Semantics, r.Err)
}

func durationSeconds(r *serving.Result) float64 { return float64(r.DurationNS) / 1e9 }

func (k *block) probes(p *Probe) {
	k.title("Probe Requests", '-')
	k.line("Probe requests completed:", p.Completed)
	k.line("Probe requests failed:", p.Failed)
	k.line("Median probe E2EL (ms):", p.MedianE2ELMS)
	k.line("P99 probe E2EL (ms):", p.P99E2ELMS)
	k.line("Max probe E2EL (ms):", p.MaxE2ELMS)
}

func (k *block) speculation(s *serving.Speculation) {
	k.title("Speculative Decoding", '-')
	k.line("Acceptance rate (%):", s.AcceptanceRate)
	k.line("Acceptance length:", s.AcceptanceLength)
	k.line("Drafts:", s.Drafts)
	k.line("Draft tokens:", s.DraftTokens)
	k.line("Accepted tokens:", s.Accepted)
	if len(s.PerPosition) > 0 {
		k.b.WriteString("Per-position acceptance (%):\n")
	}
	for i, rate := range s.PerPosition {
		k.line(fmt.Sprintf("  Position %d:", i), rate*100)
	}
}

func (k *block) diffusion(d *serving.Diffusion) {
	k.title("Diffusion Decoding", '-')
	k.line("Committed throughput (tok/s):", d.CommittedThroughput)
	k.line("Denoising steps per canvas:", d.StepsPerCanvas)
	k.line("Committed per denoising step:", d.CommittedPerStep)
	k.line("Committed tokens:", d.CommittedTokens)
	k.line("Denoising steps:", d.DenoisingSteps)
	k.line("Canvas positions evaluated:", d.CanvasPositions)
}

// VLLMResultName is where vLLM saves its result.
func VLLMResultName(run VLLMRun) string {
	name := run.ResultFilename
	if name == "" {
		label := run.Backend
		if run.Label != nil && *run.Label != "" {
			label = *run.Label
		}
		rate := strings.ToLower(pyFloat(run.RequestRate))
		if math.IsInf(run.RequestRate, 1) {
			rate = "inf"
		}
		middle := rate + "qps"
		if run.RampUpStrategy != "" {
			middle = fmt.Sprintf("ramp-up-%s-%dqps-%dqps", run.RampUpStrategy, run.RampStart, run.RampEnd)
		}
		if run.MaxConcurrency != nil {
			middle += fmt.Sprintf("-concurrency%d", *run.MaxConcurrency)
		}
		name = fmt.Sprintf("%s-%s-%s-%s.json", label, middle, path.Base(run.ModelID), run.Date.Format("20060102-150405"))
	}
	if run.ResultDir != "" {
		return path.Join(run.ResultDir, name)
	}
	return name
}

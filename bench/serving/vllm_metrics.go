package serving

import "fmt"

// VLLMMetrics is the result of vLLM's calculate_metrics.
type VLLMMetrics struct {
	Completed, Failed       int
	TotalInput, TotalOutput int64
	RequestThroughput       float64 // per second, as the others
	RequestGoodput          float64 // 0 where no objective was named
	GoodputAsked            bool
	OutputThroughput        float64
	TotalTokenThroughput    float64
	TTFT, TPOT, ITL, E2EL   Stats
	// QueueTime and E2ELWithQueue are known since November 2026.
	QueueTime, E2ELWithQueue Stats
	MaxOutputTokensPerS      float64
	MaxConcurrentRequests    int
}

// vllmMetrics fills r as vLLM's aggregation does.
func vllmMetrics(r *Result, opt Options, sw Switches) {
	slos, class := vllmSLOs(opt.Goodput)
	if class != "" {
		r.Err = class
		return
	}
	m := &VLLMMetrics{GoodputAsked: len(slos) > 0}
	lens := make([]Count, len(r.Requests))
	var ttfts, tpots, e2els, queue, both []float64
	good, ones := 0, 0
	for i := range r.Requests {
		o := &r.Requests[i]
		lens[i] = counted(0)
		if !o.Success {
			m.Failed++
			continue
		}
		n := vllmOutputLen(o, opt.Count)
		if opt.Count == nil && !usageTold(o) {
			ones++
		}
		lens[i] = Count{n, true}
		m.Completed++
		m.TotalOutput += n
		m.TotalInput += o.Prompt.N
		if n > 1 {
			tpots = append(tpots, o.latency("tpot", n))
		}
		ttfts, e2els = append(ttfts, o.TTFT), append(e2els, o.Latency)
		if q := seconds(o.QueueNS); sw.QueueTime {
			queue, both = append(queue, q), append(both, o.Latency+q)
		}
		if meets(o, n, slos) {
			good++
		}
	}
	if ones > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no tokenizer: answers without usage count as 1 token each, as in vLLM (%d of %d)", ones, m.Completed))
	}
	duration := seconds(r.DurationNS)
	if duration == 0 {
		r.Err = divisionError
		return
	}
	m.RequestThroughput = float64(m.Completed) / duration
	if m.GoodputAsked {
		m.RequestGoodput = float64(good) / duration
	}
	m.OutputThroughput = float64(m.TotalOutput) / duration
	m.TotalTokenThroughput = float64(m.TotalInput+m.TotalOutput) / duration
	m.TTFT, m.TPOT = statsOf(one(ttfts), opt.Percentiles), statsOf(one(tpots), opt.Percentiles)
	m.E2EL, m.ITL = statsOf(one(e2els), opt.Percentiles), statsOf(pool(r.Requests), opt.Percentiles)
	m.QueueTime, m.E2ELWithQueue = statsOf(one(queue), opt.Percentiles), statsOf(one(both), opt.Percentiles)
	m.MaxOutputTokensPerS, m.MaxConcurrentRequests = peaks(r.Requests)
	r.VLLM, r.OutputLens = m, lens
}

// vllmOutputLen is the server's count, else the text encoded again, else 1.
func vllmOutputLen(o *Outcome, count Counter) int64 {
	if usageTold(o) {
		return o.Output.N
	}
	if count == nil {
		return 1
	}
	return int64(count(o.Text))
}

// usageTold says whether the server counted the tokens.
func usageTold(o *Outcome) bool { return o.Output.Valid && o.Output.N != 0 }

func meets(o *Outcome, tokens int64, slos []SLO) bool {
	for _, s := range slos {
		if !(s.MS/1000 >= o.latency(s.Name, tokens)) {
			return false
		}
	}
	return true
}

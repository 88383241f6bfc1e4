package serving

import (
	"lathe/bench/frame"
	"lathe/bench/stat"
)

// SGLangMetrics is the result of SGLang's calculate_metrics. Its percentiles
// are 90, 95 and 99.
type SGLangMetrics struct {
	Completed                          int
	TotalInput, TotalText, TotalVision int64
	TotalOutput                        int64
	TotalOutputRetokenized             Count // nothing without a tokenizer
	RequestThroughput, InputThroughput float64
	OutputThroughput                   float64
	OutputThroughputRetokenized        *float64
	TotalThroughput                    float64
	TotalThroughputRetokenized         *float64
	TTFT, TPOT, ITL, E2E               Stats
	Concurrency                        float64
	MaxOutputTokensPerS                float64
	MaxConcurrentRequests              int
	SplitByTokens                      bool // ITL samples are gaps split over encoded text
}

func sglangPercentiles() []float64 { return []float64{90, 95, 99} }

// sglangPool is what calculate_metrics collects before it divides.
type sglangPool struct {
	m                 *SGLangMetrics
	lens              []Count
	ttfts, tpots, e2e []float64
	retokenised       []float64
	split             bool
	retokens          int64
}

// sglangMetrics fills r as SGLang's aggregation does.
func sglangMetrics(r *Result, opt Options, sw Switches) {
	p := &sglangPool{m: &SGLangMetrics{}, lens: make([]Count, len(r.Requests))}
	p.split = opt.AcceptLength > 0 && (r.Semantics.Backend == "sglang-oai" || r.Semantics.Backend == "sglang-oai-chat")
	if p.split && opt.Count == nil {
		p.split = false
		r.Warnings = append(r.Warnings, "no tokenizer: gaps are not split over the tokens of a chunk, as SGLang would at this accept length")
	}
	for i := range r.Requests {
		p.lens[i] = counted(0)
		if o := &r.Requests[i]; o.Success {
			if r.Err = p.add(i, o, opt); r.Err != "" {
				return
			}
		}
	}
	duration := seconds(r.DurationNS)
	switch {
	case duration == 0:
		r.Err = divisionError
		return
	case p.m.Completed == 0:
		r.Err = indexError
		return
	}
	p.finish(r, opt, duration)
	r.SGLang, r.OutputLens = p.m, p.lens
	if opt.CacheReport {
		r.Cache, r.CacheErr = cacheReport(r.Requests, new(frame.Doc))
	}
	if len(opt.Goodput) == 0 || !sw.SGLangGoodput {
		return
	}
	slos, class := sglangSLOs(opt.Goodput)
	if r.GoodputErr = class; class == "" {
		r.Goodput = sglangGoodput(slos, r.Requests, p.lens, duration)
	}
}

// add takes one successful request; the class of an exception, or "".
func (p *sglangPool) add(i int, o *Outcome, opt Options) string {
	m := p.m
	if opt.Count != nil {
		o.counts = opt.Count(o.Text)
		p.retokens += int64(o.counts)
	}
	if !o.Output.Valid {
		return typeError
	}
	n := o.Output.N
	p.lens[i] = o.Output
	m.Completed++
	m.TotalOutput += n
	if !opt.MultiTurn {
		m.TotalInput += int64(o.RowPrompt)
		m.TotalText += int64(o.RowText)
		m.TotalVision += int64(o.RowVision)
	}
	if n > 1 {
		p.tpots = append(p.tpots, o.latency("tpot", n))
	}
	p.ttfts, p.e2e = append(p.ttfts, o.TTFT), append(p.e2e, o.Latency)
	if !p.split {
		return ""
	}
	for k, chunk := range o.Chunks() {
		tokens := opt.Count(chunk)
		if tokens == 0 {
			return divisionError
		}
		each := o.ITL[k] / float64(tokens)
		for range tokens {
			p.retokenised = append(p.retokenised, each)
		}
	}
	return ""
}

func (p *sglangPool) finish(r *Result, opt Options, duration float64) {
	m := p.m
	m.RequestThroughput = float64(m.Completed) / duration
	m.InputThroughput = float64(m.TotalInput) / duration
	m.OutputThroughput = float64(m.TotalOutput) / duration
	m.TotalThroughput = float64(m.TotalInput+m.TotalOutput) / duration
	if opt.Count != nil {
		output, total := float64(p.retokens)/duration, float64(m.TotalInput+p.retokens)/duration
		m.TotalOutputRetokenized = Count{p.retokens, true}
		m.OutputThroughputRetokenized, m.TotalThroughputRetokenized = &output, &total
	}
	itl := one(p.retokenised)
	if !p.split {
		itl = pool(r.Requests)
	}
	all := sglangPercentiles()
	m.TTFT, m.TPOT, m.ITL, m.E2E = statsOf(one(p.ttfts), all), statsOf(one(p.tpots), all), statsOf(itl, all), statsOf(one(p.e2e), all)
	m.Concurrency = stat.Sum(p.e2e) / duration
	m.MaxOutputTokensPerS, m.MaxConcurrentRequests = peaks(r.Requests)
	m.SplitByTokens = p.split
}

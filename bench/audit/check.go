package audit

import (
	"fmt"

	"lathe/bench/serving"
)

// View is one reading of a run that the checks are made on: the only one of a
// result file, or one of several of a capture.
type View struct {
	Label     string // semantics of a capture's reading, "" for a file
	Harness   Harness
	Backend   string
	Wire      serving.Wire
	WireKnown bool
	Split     bool // ITL samples are gaps split over re-encoded text
	Sample    string
	Requests  []Request // nil without details
	Detailed  bool
	Completed *int
	Failed    *int
	Asked     *int // requests asked for
	Output    *int64
	// RequestedLen is the output length that every request asked for.
	RequestedLen *int
	Retokens     *int64
	Recounted    bool // Retokens was counted here
	Encoded      bool // Output too, at least in part
	Acceptance   *float64
	MeanITL      *float64 // ms
	MeanTPOT     *float64
	MeanTTFT     *float64
	MeanE2EL     *float64
}

// Outcome is one check of one view, in figures and in words.
type Outcome struct {
	Check   int // 1, 2, 3
	Title   string
	Reading string // the view's label
	N       int    // requests that it rests on
	Doubt   bool   // a figure of the file is not what its name says, or cannot be checked
	NotMade bool   // the file does not hold what the check needs
	Values  []Value
	Words   []string // sentences
}

// Value is a figure of an outcome.
type Value struct {
	Name  string
	Value float64
	Unit  string // ms, tokens, requests, "" for a ratio
}

// Report is what the checks say of a file.
type Report struct {
	File     *File
	Facts    []Fact
	Outcomes []Outcome
}

// Check makes the three checks of a result file.
func Check(f *File) (*Report, error) {
	if f.Kind != Serving {
		return nil, fmt.Errorf("audit %s: the checks are of requests to a server, and this is a %s", f.Name, f.Form)
	}
	return report(f, []View{f.view()}), nil
}

// CheckReadings makes the three checks of a capture, on each of its readings;
// count counts the tokens of a text, nil where nothing does.
func CheckReadings(f *File, results []*serving.Result, count serving.Counter) *Report {
	var views []View
	for _, r := range results {
		if r.Err == "" {
			v := viewOf(f, r)
			v.recount(r, count)
			views = append(views, v)
		} else {
			f.warn(fmt.Sprintf("%s: the harness ends in %s instead of a result%s", r.Semantics, r.Err, whyNoResult(r)))
		}
	}
	return report(f, views)
}

// whyNoResult says why a harness ends in an exception, where the requests show it.
func whyNoResult(r *serving.Result) string {
	for i := range r.Requests {
		if r.Requests[i].Success {
			return ""
		}
	}
	if len(r.Requests) == 0 {
		return ""
	}
	return ", as it does where no request succeeds: here each fails by its rules, the first in " + r.Requests[0].ErrorClass
}

func report(f *File, views []View) *Report {
	r := &Report{File: f, Facts: Facts(f)}
	for _, check := range []func(*View) Outcome{samplesAndTokens, generatedAndRetokenised, askedAndSucceeded} {
		for i := range views {
			o := check(&views[i])
			o.Reading = views[i].Label
			r.Outcomes = append(r.Outcomes, o)
		}
	}
	return r
}

func (f *File) view() View {
	s := at(f)
	v := View{Harness: f.Harness, Backend: f.Backend, Wire: f.Wire, WireKnown: f.WireKnown, Split: splitsGaps(s), Requests: f.Requests, Detailed: f.Detailed,
		Completed: f.Counts.Completed, Asked: f.Load.Requests, Output: f.Counts.Output, Retokens: f.Counts.Retokenised, Recounted: f.RetokensByTexts,
		Acceptance: f.Work.AcceptLength, RequestedLen: f.Work.OutputLen}
	if n, ok := f.failed(); ok {
		v.Failed = &n
	}
	for figure, to := range map[Figure]**float64{ITL: &v.MeanITL, TPOT: &v.MeanTPOT, TTFT: &v.MeanTTFT, E2EL: &v.MeanE2EL} {
		if x, ok := f.stat(figure, "mean"); ok {
			*to = &x
		}
	}
	if v.Sample = doesIn("C3", f); f.Harness == AIPerf {
		v.Sample = "a gap between chunks (its inter_chunk_latency)"
	}
	return v
}

// doesIn is what a file does in a row, "" where it is not told.
func doesIn(id string, f *File) string {
	for _, r := range rows() {
		if r.id == id {
			return r.stanceOf(f).does
		}
	}
	return ""
}

// viewOf is a reading of a capture.
func viewOf(f *File, r *serving.Result) View {
	v := View{Label: r.Semantics.String(), Harness: Lathe, Backend: r.Semantics.Backend, Wire: r.Semantics.Wire, WireKnown: true, Detailed: true, Asked: f.Load.Requests}
	v.RequestedLen = f.Work.OutputLen
	if v.Asked == nil {
		n := *f.Counts.Completed + *f.Counts.Failed
		v.Asked = &n
	}
	mean := func(s serving.Stats) *float64 { return &s.Mean }
	switch {
	case r.VLLM != nil:
		m := r.VLLM
		v.Harness = VLLM
		v.Completed, v.Failed, v.Output = &m.Completed, &m.Failed, &m.TotalOutput
		v.MeanITL, v.MeanTPOT, v.MeanTTFT, v.MeanE2EL = mean(m.ITL), mean(m.TPOT), mean(m.TTFT), mean(m.E2EL)
	case r.SGLang != nil:
		m := r.SGLang
		v.Harness, v.Split = SGLang, m.SplitByTokens
		failed := len(r.Requests) - m.Completed
		v.Completed, v.Failed, v.Output = &m.Completed, &failed, &m.TotalOutput
		if m.TotalOutputRetokenized.Valid {
			v.Retokens = &m.TotalOutputRetokenized.N
		}
		v.MeanITL, v.MeanTPOT, v.MeanTTFT, v.MeanE2EL = mean(m.ITL), mean(m.TPOT), mean(m.TTFT), mean(m.E2E)
	case r.ExactM != nil:
		v.exact(r)
		return v
	}
	v.Sample = doesIn("C3", &File{Harness: v.Harness, Wire: v.Wire, WireKnown: true, Versions: []serving.Version{r.Version}})
	for i := range r.Requests {
		v.Requests = append(v.Requests, requestOf(&r.Requests[i], r, i))
	}
	return v
}

// recount encodes the texts of a reading again, where its harness does not.
func (v *View) recount(r *serving.Result, count serving.Counter) {
	if count == nil || v.Retokens != nil {
		return
	}
	n := int64(0)
	for i := range r.Requests {
		if o := &r.Requests[i]; o.Success {
			n += int64(count(o.Text))
			v.Encoded = v.Encoded || !o.Output.Valid || o.Output.N == 0
		}
	}
	for i := range r.Exact {
		if x := &r.Exact[i]; x.Success {
			n += int64(count(x.Text))
			v.Encoded = v.Encoded || x.OutputSource == "retokenized"
		}
	}
	v.Retokens, v.Recounted = &n, true
}

func requestOf(o *serving.Outcome, r *serving.Result, i int) Request {
	q := Request{OK: o.Success, TTFT: o.TTFT, Latency: o.Latency, Tokens: -1, Events: len(o.ITL), Error: o.ErrorClass}
	if o.ErrorText != "" {
		q.Error += ": " + clip(o.ErrorText, 200)
	}
	if i < len(r.OutputLens) {
		q.Output = r.OutputLens[i].N
	}
	for _, g := range o.ITL {
		q.GapSum += g
	}
	return q
}

// exact fills a view from the exact reading; its ITL is by token where the
// server told the tokens of each frame, else by frame.
func (v *View) exact(r *serving.Result) {
	m := r.ExactM
	v.Completed, v.Failed, v.Output = &m.Completed, &m.Failed, &m.TotalOutput
	stat := func(s *serving.ExactStats) *float64 {
		if s == nil {
			return nil
		}
		return &s.Mean
	}
	v.MeanITL, v.MeanTPOT, v.MeanTTFT, v.MeanE2EL, v.Sample = stat(m.FrameGap), stat(m.TPOT), stat(m.TTFT), stat(m.E2EL), "a gap between frames with something generated"
	for i := range r.Exact {
		x := &r.Exact[i]
		q := Request{OK: x.Success, Output: x.Output.N, Tokens: -1, Events: len(x.Gaps), Latency: -1, Error: x.ErrorClass}
		if x.ErrorText != "" {
			q.Error += ": " + clip(x.ErrorText, 200)
		}
		for _, g := range x.Gaps {
			q.GapSum += float64(g) / 1e9
		}
		if x.TTFTNS != nil && x.LastNS != nil {
			q.TTFT, q.Latency = float64(*x.TTFTNS)/1e9, float64(*x.LastNS)/1e9
		}
		v.Requests = append(v.Requests, q)
	}
}

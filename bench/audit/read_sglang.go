package audit

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"lathe/bench/frame"
	"lathe/bench/serving"
)

func isSGLang(v frame.Value) bool {
	return !v.Get("backend").Is(frame.Missing) && !v.Get("completed").Is(frame.Missing) && !v.Get("dataset_name").Is(frame.Missing) && !v.Get("total_throughput").Is(frame.Missing)
}

// readSGLang reads a line of SGLang's serving benchmark, of its Python or its
// Rust client.
func readSGLang(v frame.Value, o Options) (*File, error) {
	d := &fields{v: v}
	f := &File{Form: "SGLang result line as its Python client writes it", Kind: Serving, Harness: SGLang, Versions: serving.Versions(), Stats: d.statistics()}
	if !v.Get("protocol").Is(frame.Missing) {
		f.Form, f.Harness = "SGLang result line as its Rust client writes it", SGLangRust
		f.Versions = sglangVersions(func(sw serving.Switches) bool { return sw.RustClient })
	}
	f.Backend = d.text("backend")
	if s, err := serving.ParseSemantics("sglang:" + f.Backend); err == nil {
		f.Wire, f.WireKnown = s.Wire, true
	}
	d.need("completed")
	f.Counts = Counts{Completed: asInt(d.count("completed")), Input: d.count("total_input_tokens"), Output: d.count("total_output_tokens"),
		Retokenised: d.count("total_output_tokens_retokenized"), Duration: d.seconds("duration")}
	f.Work.Dataset, f.Work.RangeRatio = d.text("dataset_name"), d.number("random_range_ratio")
	if r := f.Work.RangeRatio; strings.HasPrefix(f.Work.Dataset, "random") && r != nil && *r == 1 { // otherwise flags without effect, or upper bounds
		f.Work.InputLen, f.Work.OutputLen = asInt(d.count("random_input_len")), asInt(d.count("random_output_len"))
	}
	f.Work.TokenizerKnown = true
	if x := d.number("accept_length"); x != nil && *x > 0 {
		f.Work.AcceptLength = x
	}
	f.sglangLoad(d)
	f.sglangServer(v.Get("server_info"))
	f.Other = []string{string(InputRate), string(Concurrency)}
	if f.Counts.Retokenised != nil {
		f.Other = append(f.Other, string(Retokens))
	}
	if slos := v.Get("goodput_slos_ms"); slos.Is(frame.Object) {
		f.Work.GoodputAsked, f.Work.ReportedSLOs = true, slos.Raw()
		f.fits(func(sw serving.Switches) bool { return sw.SGLangGoodput })
	}
	if d.err != nil {
		return nil, d.err
	}
	f.MultiTurn = *f.Counts.Completed > 0 && f.Counts.Input != nil && *f.Counts.Input == 0
	if err := f.details(v, o); err != nil {
		return nil, err
	}
	if s := f.Counts.InputSum; s != nil && f.Counts.Input != nil && *s != *f.Counts.Input && !f.MultiTurn {
		f.fits(func(sw serving.Switches) bool { return sw.ServerInputLen })
	}
	return f, nil
}

// sglangVersions are the versions whose switches pass.
func sglangVersions(pass func(serving.Switches) bool) []serving.Version {
	var fit []serving.Version
	for _, v := range serving.Versions() {
		if sw, _ := serving.SwitchesOf(v); pass(sw) {
			fit = append(fit, v)
		}
	}
	return fit
}

// fits narrows the versions; evidence against all of them is left out.
func (f *File) fits(pass func(serving.Switches) bool) {
	var fit []serving.Version
	for _, v := range f.Versions {
		if sw, _ := serving.SwitchesOf(v); pass(sw) {
			fit = append(fit, v)
		}
	}
	if len(fit) > 0 {
		f.Versions = fit
	}
}

func (f *File) sglangLoad(d *fields) {
	l := &f.Load
	if rate := d.v.Get("request_rate"); rate.Is(frame.String) && rate.Text() == "trace" {
		l.TraceRate = true
	} else {
		l.Rate = d.number("request_rate")
	}
	if c := d.v.Get("max_concurrency"); !c.Is(frame.Missing) {
		l.Concurrency.Known = true
		if n := d.count("max_concurrency"); n != nil {
			l.Concurrency.N = int(*n)
		}
	}
	l.Trace = f.Work.Dataset == "mooncake"
	switch {
	case l.Rate != nil && math.IsInf(*l.Rate, 1):
		l.Arrival = "all at once"
	case l.Rate != nil:
		l.Arrival = "poisson"
	}
}

// sglangServer reads what the server said of itself.
func (f *File) sglangServer(info frame.Value) {
	if decode := info.Get("decode"); decode.Is(frame.Array) {
		info = decode.First()
	}
	f.Work.ServerVersion = info.Get("version").Text()
	for _, key := range []string{"served_model_name", "model_path"} {
		if m := info.Get(key).Text(); m != "" {
			f.Work.Model = m
			return
		}
	}
}

// named takes what the name of a file tells: SGLang puts the number of prompts
// into the names that it makes up.
func (f *File) named(name string) {
	if f.Harness != SGLang && f.Harness != SGLangRust || f.Load.Requests != nil {
		return
	}
	m := regexp.MustCompile(`^` + regexp.QuoteMeta(f.Backend) + `_[01][0-9][0-3][0-9]_([0-9]{1,9})_.+\.jsonl$`).FindStringSubmatch(name)
	if m == nil || f.Entries > 1 {
		return
	}
	if n, err := strconv.Atoi(m[1]); err == nil {
		f.Load.Requests = &n
		f.warn(fmt.Sprintf("%d prompts by the name of the file: the line itself does not tell", n))
	}
}

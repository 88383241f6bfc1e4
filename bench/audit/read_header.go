package audit

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"lathe/bench/frame"
	"lathe/bench/serving"
)

// fromHeader takes what a capture's header says: its workload, and the options
// of the command that made it, which stand in groups.
func (f *File) fromHeader() {
	w := &f.run.Workload
	if f.Work.Model = w.Model; f.run.Build.Version != "" {
		f.Release = "lathe " + f.run.Build.Version
	}
	if f.Work.Dataset = w.Dataset; f.run.WorkloadSHA256 != "" {
		seed := int64(w.Seed)
		f.Load.Seed = &seed
	}
	var d frame.Doc
	text := f.run.Options
	if !json.Valid(text) || d.Parse(text) != nil {
		return
	}
	o := options{d.Root()}
	switch h := o.get("harness").Text(); h {
	case string(serving.VLLM), string(serving.SGLang):
		f.Acts = Harness(h)
	}
	f.ActsBackend = o.get("server", "backend").Text()
	f.headerLoad(o)
	f.headerFlags(o)
}

// options are the options of a run, by the names of their flags; those that
// stand in no group are found too.
type options struct{ root frame.Value }

// get is the option at the end of a path, Missing where there is none.
func (o options) get(path ...string) frame.Value {
	v := o.root
	for _, key := range path {
		v = v.Get(key)
	}
	if v.Is(frame.Missing) {
		return o.root.Get(path[len(path)-1])
	}
	return v
}

func (o options) count(path ...string) *int {
	n, ok := whole(o.get(path...))
	if !ok {
		return nil
	}
	i := int(n)
	return &i
}

func (f *File) headerLoad(o options) {
	l := &f.Load
	l.Rate, l.Burstiness = rateOf(o.get("traffic", "request_rate")), rateOf(o.get("traffic", "burstiness"))
	if v := o.get("traffic", "max_concurrency"); !v.Is(frame.Missing) {
		l.Concurrency.Known = true
		if n := o.count("traffic", "max_concurrency"); n != nil {
			l.Concurrency.N = *n
		}
	}
	l.Requests, l.Warmups = o.count("dataset", "num_prompts"), o.count("around", "warmups")
	if s := o.get("traffic", "ramp_up_strategy").Text(); s != "" {
		l.Ramp = s + " from " + o.get("traffic", "ramp_up_start_rps").Raw() + " to " + o.get("traffic", "ramp_up_end_rps").Raw() + " req/s"
	}
	if rate, ok := o.get("traffic", "probe_request_rate").Float(); ok && rate > 0 {
		sw, _ := serving.SwitchesOf(serving.Version(o.get("harness_version").Text()))
		l.Probes, l.Sharing = true, sw.ProbeShared
	}
	l.Arrival = o.get("traffic", "arrival").Text()
	l.Closed = l.Arrival == "closed"
	if name := o.get("dataset", "name").Text(); name != "" {
		if f.Work.Dataset == "" {
			f.Work.Dataset = name
		}
		l.Trace = name == "timed_trace" && o.get("traffic", "self_timed").Truthy()
	}
	if n, ok := o.get("dataset", "seed").Int(); ok {
		l.Seed = &n
	}
}

func (f *File) headerFlags(o options) {
	x := &f.Flags
	flag := func(path ...string) *bool {
		v := o.get(path...)
		if f.Acts == "" && v.Is(frame.Missing) {
			return nil
		}
		b := v.Truthy()
		return &b
	}
	text := func(path ...string) *string {
		v := o.get(path...)
		if f.Acts == "" && v.Is(frame.Missing) {
			return nil
		}
		s := v.Text()
		if v.Is(frame.Array) {
			var all []string
			for item := range v.All() {
				all = append(all, item.Text())
			}
			s = strings.Join(all, " ")
		}
		s = clip(s, 200)
		return &s
	}
	x.IgnoreEOS, x.Flush, x.Profile = flag("used", "ignore_eos"), flag("around", "flush_cache"), flag("around", "profile")
	x.ExtraBody, x.LoRA = text("body", "extra_body"), text("body", "lora_modules")
	if p := text("server", "proxy"); p != nil && *p != "env" { // what the environment named stands in another line
		x.Proxy = p
	}
	if u := o.get("used", "base_url").Text(); u != "" {
		x.Server = &u
	}
	x.Temperature = f.headerTemperature(o)
	if n := o.count("server", "ready_check_timeout_sec"); n != nil && f.Acts != "" {
		ask := "no prompt is sent"
		if f.Acts == VLLM && *n > 0 {
			ask = "the first prompt is sent in full"
		}
		x.Ask = &ask
	}
}

// headerTemperature is what was sent.
func (f *File) headerTemperature(o options) *string {
	t, given := o.get("body", "temperature").Float()
	says := ""
	switch {
	case f.Acts == SGLang && f.WireKnown && f.Wire != serving.Native:
		says = "0.0, whatever the flag"
	case given:
		says = number(t)
	case f.Acts == VLLM:
		says = "not sent: the server's own"
	default:
		return nil
	}
	return &says
}

// rateOf reads a rate that may be written as text.
func rateOf(v frame.Value) *float64 {
	x, ok := v.Float()
	if v.Is(frame.String) {
		var err error
		x, err = strconv.ParseFloat(v.Text(), 64)
		ok = err == nil
	}
	if !ok || math.IsNaN(x) {
		return nil
	}
	return &x
}

package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"

	"lathe/bench"
	"lathe/bench/load"
	"lathe/bench/workload"
)

// serveCommand is what a capture of requests names as its command.
const serveCommand = "bench serve"

// runBenchServe does the command: the chosen harness's way to the first request, the requests, their
// capture, and what the capture says.
func runBenchServe(ctx context.Context, app *application, o benchServeOptions) error {
	if o.Server.DisableProgress {
		app.term.setProgress(progressNever)
	}
	if o.Server.SelfCheck && !app.dryRun {
		base, stop, err := startPaced(ctx)
		if err != nil {
			return usageError("", "%w", err)
		}
		defer stop()
		o.Server.BaseURL = base
	}
	if o.Result.CacheReport && !strings.HasPrefix(o.Server.Backend, "sglang") {
		app.term.warn("--cache-report: --backend %s: only the servers of the sglang backends say what it reports", o.Server.Backend)
	}
	keys := app.credentials(o.Harness, o.Server.Proxy)
	o.Used.BaseURL = strings.TrimRight(o.baseURL(), "/")
	opt := o.loadOptions(keys)
	side, err := o.newSideCalls(opt, keys)
	if err != nil {
		return err
	}
	defer side.close()
	if !app.dryRun && o.Harness != harnessVLLM {
		if err := side.waitForModels(ctx, o.Server.ReadySeconds, app.term.say); err != nil {
			return err
		}
	}
	if err := o.resolveNames(ctx, app, side); err != nil {
		return err
	}
	tok, err := openTokens(o.Used.Tokenizer)
	if err != nil {
		return err
	}
	defer tok.close()
	o.Used.Tokenizer = tok.name
	r := &servedRun{app: app, o: &o, tok: tok, side: side, out: app.term.out}
	if o.Result.Repeat > 1 && !app.dryRun {
		return r.repeatServe(ctx, opt, keys)
	}
	return r.once(ctx, opt, keys)
}

// prepare draws the prompts and their arrivals and forms the first request.
func (r *servedRun) prepare(ctx context.Context, keys credentials) (traffic, error) {
	o := r.o
	prefix := o.Body.RequestIDPrefix
	if prefix == "" && o.Harness != harnessSGLang {
		prefix = "bench-" + hex.EncodeToString(randomBytes(4)) + "-"
	}
	o.chooseSalt(func() uint64 { return binary.LittleEndian.Uint64(randomBytes(8)) })
	var err error
	if r.drawn, err = o.drawDataset(r.tok, prefix); err != nil {
		return traffic{}, err
	}
	set := r.drawn.set
	if len(set.Requests) == 0 {
		return traffic{}, usageError("", "--dataset-name %s: no usable row in it", o.Dataset.Name)
	}
	if o.Harness == harnessVLLM && !r.app.dryRun && slices.Contains([]string{"random", "prefix_repetition"}, o.Dataset.Name) {
		if w := r.side.alignPrompts(ctx, o.Used.ModelID, set); w != "" {
			set.Warnings = append(set.Warnings, w)
		}
		if ctx.Err() != nil {
			return traffic{}, context.Cause(ctx)
		}
	}
	r.drawn.set = set
	o.Used.Unique = set.Unique()
	for _, w := range set.Warnings {
		r.app.term.warn("%s", w)
	}
	if r.calls, err = o.calls(r.drawn, keys); err != nil {
		return traffic{}, err
	}
	return o.traffic(r.drawn)
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// measure opens the capture and the client, sends, and reports from the capture.
func (r *servedRun) measure(ctx context.Context, opt load.Options, t traffic, keys credentials) error {
	o := r.o
	results, err := o.openResults()
	if err != nil {
		return err
	}
	defer results.discard()
	run, err := r.header(t, keys)
	if err != nil {
		return err
	}
	undo, warnings := load.Prepare(collectorLimit(), r.atOnce())
	defer undo()
	run.Warnings = append(run.Warnings, warnings...)
	if r.rec, err = r.app.startRecording(run, o.Result.Raw, false); err != nil {
		return err
	}
	path := r.rec.writer.Path()
	failed := r.send(ctx, opt, t)
	if failed != nil && !errors.Is(failed, errMeasured) {
		return r.abandon(failed)
	}
	reported := r.show(ctx, path, results)
	if o.Result.Format == "text" {
		fmt.Fprintf(r.out, "raw: %s\n", path)
	} else {
		r.app.term.say("raw: %s", path)
	}
	if cause, ok := interrupted(ctx); ok {
		return cause
	}
	return reported
}

// atOnce is how many connections the run may have open.
func (r *servedRun) atOnce() int {
	n := len(r.drawn.set.Requests)
	if c := r.o.concurrency(); c > 0 {
		return min(n, c)
	}
	return n
}

// errMeasured says that requests were sent and the capture is whole, whatever else happened.
var errMeasured = errors.New("measured")

// send carries the run out and closes the capture. errMeasured is the good end.
func (r *servedRun) send(ctx context.Context, opt load.Options, t traffic) error {
	client, err := load.NewClient(ctx, opt, r.rec.clock)
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return noSuccess("--base-url names the server", "%w", err)
	}
	if err != nil {
		return usageError("", "%w", err)
	}
	defer client.Close()
	r.client = client
	if err := r.before(ctx); err != nil {
		return err
	}
	plan, err := r.o.plan(r.calls, t)
	if err != nil {
		return err
	}
	plan.Capture, plan.Over = r.rec.writer, &r.over
	stop := r.showSending(plan.Count)
	res, err := client.Run(ctx, plan)
	stop()
	if err != nil && !res.Interrupted {
		return err
	}
	around := context.WithoutCancel(ctx)
	if !res.Interrupted {
		r.after(around)
	}
	return r.close(around, res, t, err)
}

// close writes what the client knows and the end of the capture.
func (r *servedRun) close(ctx context.Context, res load.Result, t traffic, cut error) error {
	o := r.o
	end := bench.End{Kind: bench.KindEnd, DurationNS: res.EndNS - res.StartNS, Reason: bench.EndCompleted}
	if o.Harness == harnessSGLang && !res.Interrupted {
		end.DurationNS = r.rec.clock.Now() - res.StartNS // its clock stops behind /server_info
	}
	if o.Harness != harnessSGLang && !res.Interrupted {
		r.noteMetrics(ctx)
	}
	if cut != nil {
		end.Reason = bench.EndInterrupted
	}
	if w := bench.WallStepWarning(r.rec.clock.WallStep()); w != "" {
		end.Warnings = append(end.Warnings, w)
	}
	address, _ := r.client.Address()
	line := bench.ClientRun{Kind: bench.KindClient, StartNS: res.StartNS, EndNS: res.EndNS, Planned: len(res.Sent), Unsent: res.Unsent,
		Exponential: t.exponential, Address: address, Proxy: r.client.Proxy(), Stalls: res.Stalls, CPUNS: res.CPUNS,
		Limits: orEmpty(res.ClientLimits), Warnings: orEmpty(res.Warnings), Connections: rawJSON(res.Connected), Schedule: rawJSON(res.Realised)}
	wrote := r.rec.writer.Write(line, end)
	if closed := r.rec.writer.Close(); wrote == nil {
		wrote = closed
	}
	if wrote != nil {
		return wrote
	}
	return errMeasured
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// rawJSON is v as it stands in the capture; these are structs that JSON can hold.
func rawJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// abandon closes the capture of a run that ended before a request counted, or whose file broke.
func (r *servedRun) abandon(why error) error {
	end := bench.End{Kind: bench.KindEnd, Reason: bench.EndFailed, Error: why.Error()}
	var signal *interruptError
	if errors.As(why, &signal) {
		end.Reason, end.Error = bench.EndInterrupted, ""
	}
	_ = r.rec.writer.Write(end)
	_ = r.rec.writer.Close()
	return why
}

// header is the capture's first line. What is secret in the flags is not in it.
func (r *servedRun) header(t traffic, keys credentials) (bench.Run, error) {
	o := *r.o
	o.Server.Headers = nil
	secrets := map[string]string{}
	for _, h := range r.o.Server.Headers {
		name, value, _ := strings.Cut(h, "=")
		o.Server.Headers = append(o.Server.Headers, name+"=***")
		if value != "" {
			secrets[h] = name + "=***"
		}
	}
	for _, u := range []*string{&o.Server.BaseURL, &o.Used.BaseURL, &o.Server.Proxy} {
		if clean := redactedURL(*u); clean != *u {
			secrets[*u], *u = clean, clean
		}
	}
	run, err := r.app.header(serveCommand, o, o.workload(r.drawn.set, t), nil)
	if err != nil {
		return bench.Run{}, err
	}
	run.Backend.Name = o.Server.Backend
	run.Environment = append(run.Environment, keys.used...)
	run.Warnings = append(run.Warnings, r.drawn.set.Warnings...)
	for i, arg := range run.Argv {
		for secret, shown := range secrets {
			arg = strings.ReplaceAll(arg, secret, shown)
		}
		run.Argv[i] = arg
	}
	return run, nil
}

// workload is what was asked of the server, by which two runs are compared.
func (o *benchServeOptions) workload(set workload.Set, t traffic) bench.Workload {
	w := bench.Workload{Kind: "serve", Model: o.Used.ModelID, Seed: uint64(o.Dataset.Seed), Arrival: o.arrivalText(t)}
	in, out := set.Lengths()
	w.InputLens, w.OutputLens = []int{in.Min, in.Max}, []int{out.Min, out.Max}
	w.Dataset = fmt.Sprintf("%s, %d requests, sha256 %s", o.Dataset.Name, len(set.Requests), rowsSHA256(set, o.Used.SaltSeed == 0))
	return w
}

// rowsSHA256 identifies rows by their lengths and, where no salt makes them new each time, their
// prompts.
func rowsSHA256(set workload.Set, prompts bool) string {
	h := sha256.New()
	for _, r := range set.DryRun() {
		if !prompts {
			r.PromptSHA256 = ""
		}
		fmt.Fprintln(h, r.PromptLen, r.OutputLen, r.PromptSHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (o *benchServeOptions) arrivalText(t traffic) string {
	c := "unlimited"
	if n := o.concurrency(); n > 0 {
		c = fmt.Sprint(n)
	}
	rate, _ := o.Traffic.RequestRate.MarshalJSON()
	law, probes := o.Harness, ""
	if o.Traffic.ProbeRate > 0 {
		probes = fmt.Sprintf(", probes at rate %v", o.Traffic.ProbeRate)
	}
	switch {
	case t.loop != nil:
		return fmt.Sprintf("closed loop of %s clients, think %v %s", c, o.Traffic.ThinkSeconds, o.Traffic.ThinkLaw)
	case o.Harness == harnessExact:
		law = o.Traffic.Arrival
	case o.Traffic.RampUp != "":
		law += fmt.Sprintf(" %s ramp %d to %d", o.Traffic.RampUp, *o.Traffic.RampStart, *o.Traffic.RampEnd)
	}
	return fmt.Sprintf("%s, rate %s, concurrency %s%s", law, strings.Trim(string(rate), `"`), c, probes)
}

// collectorLimit leaves the collector off until the process holds twice what the prompts take, at least
// 256 MiB.
func collectorLimit() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return max(256<<20, 2*int64(m.HeapAlloc)+128<<20)
}

func sortedClasses(all map[load.Class]int) []load.Class { return slices.Sorted(maps.Keys(all)) }

package main

import (
	"fmt"
	"math"
	"text/tabwriter"

	"lathe/bench/step"
)

// assumedBandwidth is what the plan's times are estimated with: nothing is measured under --dry-run,
// so the estimate names it. Bytes a second: two channels of desktop memory, or an H100's HBM3.
const (
	assumedCPUBandwidth  = 20e9
	assumedCUDABandwidth = 3.0e12
)

// assumedBandwidth is what estimates assume of a backend, in bytes a second.
func assumedBandwidth(backend string) float64 {
	if isBuiltin(backend) {
		return assumedCPUBandwidth
	}
	return assumedCUDABandwidth
}

// printPlan says what would be measured: points, bytes of a decode step, memory, estimated time.
// work counts the prefills and decode steps of a point.
func (app *application) printPlan(o engineOptions, m modelSource, points []step.Point, work func(step.Point) (prefills, decodes int)) error {
	cfg, kv := m.config, 2
	if o.KVCacheDtype == "f32" || o.Backend == "reference" {
		kv = 4
	}
	bandwidth := assumedBandwidth(o.Backend)
	if !isBuiltin(o.Backend) {
		o.MemFractionStatic = math.Inf(1) // a device's memory is not known here
	}
	weights := float64(cfg.WeightBytes(2))
	fmt.Fprintf(app.term.out, "model: %s (%s), %d parameters, weights %s\n", m.name, m.identity, cfg.Params(), sized(weights))
	fmt.Fprintf(app.term.out, "backend: %s, kv cache %d bytes an element, %d points; nothing is measured\n", o.Backend, kv, len(points))
	w := tabwriter.NewWriter(app.term.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "point\tbatch\tinput\toutput\tMB a step\tmemory GB\testimate s\t")
	var total float64
	var skipped []string
	for _, p := range points {
		if why := o.refuse(cfg, p, weights, kv); why != "" {
			fmt.Fprintf(w, "%d\t%d\t%d\t%d\t-\t-\t-\t\n", p.ID, p.Batch, p.InputLen, p.OutputLen)
			skipped = append(skipped, fmt.Sprintf("point %d will be skipped: %s", p.ID, why))
			continue
		}
		mid := cfg.StepBytes(p.Batch, p.InputLen+p.OutputLen/2, kv).Total()
		prefill := max(float64(cfg.PrefillBytes(p.Batch, p.InputLen, kv).Total()), float64(mid)) / bandwidth
		prefills, decodes := work(p)
		seconds := float64(prefills)*prefill + float64(decodes)*float64(mid)/bandwidth
		total += seconds
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%.1f\t%.2f\t%.2f\t\n", p.ID, p.Batch, p.InputLen, p.OutputLen, float64(mid)/1e6, (weights+o.pointBytes(cfg, p, kv))/1e9, seconds)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, line := range skipped {
		fmt.Fprintln(app.term.out, line)
	}
	fmt.Fprintf(app.term.out, "estimate: %.1f s if every step reads its bytes at %.0f GB/s (assumed, not measured); prefill arithmetic comes on top\n",
		total, bandwidth/1e9)
	return nil
}

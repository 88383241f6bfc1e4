package main

import (
	"fmt"
	"os"

	"lathe/bench/step"
	"lathe/engine"
	"lathe/engine/llama"
)

// fitsMemory refuses bytes that are over fraction of the memory limit. Where the limit is unknown
// nothing is refused here; the backend's own allocation then decides. Bytes are float64, because what
// a user may ask for overflows an int64.
func fitsMemory(need, fraction float64) error {
	limit, ok := thisMachine().memoryLimit()
	if !ok || need <= fraction*float64(limit) {
		return nil
	}
	return fmt.Errorf("%s needed, %s allowed (--mem-fraction-static %g of %s)", sized(need), sized(fraction*float64(limit)), fraction, sized(float64(limit)))
}

// sized prints bytes in the unit that fits.
func sized(n float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if n >= u.size {
			return fmt.Sprintf("%.4g %s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f B", n)
}

// refuse says why a point cannot be measured: too long for the model or for --max-model-len, or too
// large for the memory, weights being what they take. "" where it can. kvElem is the bytes of a KV
// element.
func (o *engineOptions) refuse(cfg llama.Config, p step.Point, weights float64, kvElem int) string {
	context := p.InputLen + p.OutputLen
	switch {
	case context > cfg.MaxPosition:
		return fmt.Sprintf("input %d + output %d is over the model's %d positions", p.InputLen, p.OutputLen, cfg.MaxPosition)
	case o.MaxModelLen > 0 && context > o.MaxModelLen:
		return fmt.Sprintf("%d tokens a sequence are over --max-model-len %d", context, o.MaxModelLen)
	}
	if err := fitsMemory(weights+o.pointBytes(cfg, p, kvElem), o.MemFractionStatic); err != nil {
		return "memory: " + err.Error()
	}
	return ""
}

// pointBytes is what a point takes beside the weights: KV pages, prompts, and a bound of the rows that
// are in flight (four activations of the widest kind and a row of logits, in float32).
func (o *engineOptions) pointBytes(cfg llama.Config, p step.Point, kvElem int) float64 {
	context := float64(p.InputLen + p.OutputLen)
	page := float64(o.PageSize)
	kv := float64(p.Batch) * (context + page) * float64(cfg.KVBytesPerToken(kvElem))
	rows := float64(max(o.ChunkedPrefillSize, engine.DefaultChunkRows, p.Batch))
	if o.ChunkedPrefillSize < 0 {
		rows = float64(p.Batch) * context
	}
	rows = min(rows, max(float64(p.Batch), float64(p.Batch)*context))
	widest := float64(max(cfg.FFN, cfg.Hidden, cfg.QHeads*cfg.HeadDim))
	return kv + 4*float64(p.Batch)*float64(p.InputLen) + 4*(4*widest*rows+float64(cfg.Vocab)*float64(p.Batch))
}

// peakMemory is the largest resident size of the process since resetPeakMemory, nil where the
// system does not tell.
func peakMemory() *uint64 {
	if n, ok := thisMachine().bytes("proc/self/status", "VmHWM"); ok {
		return &n
	}
	return nil
}

// resetPeakMemory starts the peak anew (proc(5), clear_refs 5). Where that fails the peak is the
// process's since its start, which is still an upper bound.
func resetPeakMemory() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

package llama

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// FuzzParseConfig: an error of a known class, or a config whose every number is
// inside its bounds and can be computed with.
func FuzzParseConfig(f *testing.F) {
	for _, pattern := range []string{"tiny*/config.json", "malformed/config-*/config.json", "malformed/valid/config.json"} {
		paths, err := filepath.Glob(filepath.Join(golden, pattern))
		if err != nil || len(paths) == 0 {
			f.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseConfig(data, "config.json")
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Path != "config.json" {
				t.Fatalf("%v is no *Error with a path", err)
			}
			switch e.Class {
			case ConfigJSON, ConfigValue, Unsupported:
			default:
				t.Fatalf("class %s", e.Class)
			}
			return
		}
		checkBounds(t, c)
	})
}

func checkBounds(t *testing.T, c Config) {
	for _, x := range [][2]int{{c.Vocab, MaxVocab}, {c.Hidden, MaxHidden}, {c.Layers, MaxLayers}, {c.QHeads, MaxHeads},
		{c.KVHeads, c.QHeads}, {c.HeadDim, MaxHeadDim}, {c.FFN, MaxFFN}, {c.MaxPosition, MaxPositions}, {c.QHeads * c.HeadDim, MaxHidden}} {
		if x[0] < 1 || x[0] > x[1] {
			t.Fatalf("out of bounds: %+v", c)
		}
	}
	if c.QHeads%c.KVHeads != 0 || c.HeadDim%2 != 0 || !(c.RMSEps > 0) || !(c.RopeTheta > 0) {
		t.Fatalf("inconsistent: %+v", c)
	}
	for _, f := range c.InvFreq() {
		if !(f >= 0 && f <= math.MaxFloat32) {
			t.Fatalf("inv_freq %g of %+v", f, c)
		}
	}
	if c.Params() <= 0 || c.StepBytes(1, 1, 2).Total() <= 0 || c.StepFLOPs(1, 1).Total() <= 0 {
		t.Fatalf("overflow: %+v", c)
	}
	for _, id := range append(append([]int{}, c.BOS...), c.EOS...) {
		if id < 0 || id >= c.Vocab {
			t.Fatalf("token %d of %d", id, c.Vocab)
		}
	}
}

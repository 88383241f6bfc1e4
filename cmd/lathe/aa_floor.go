package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/gate"
)

// aaKey is what a stored noise floor holds for: machine, path, model, point, and how it is measured.
type aaKey struct {
	CPU         string      `json:"cpu"`
	Cores       int         `json:"cores"`
	GPU         string      `json:"gpu"` // "" on a processor
	Driver      string      `json:"driver"`
	PowerLimitW int         `json:"power_limit_w"` // 0: unknown, or a processor
	Backend     string      `json:"backend"`
	Path        string      `json:"path"` // numeric path
	Threads     int         `json:"threads"`
	KV          string      `json:"kv_cache_dtype"`
	Model       string      `json:"model"`
	Shared      bool        `json:"shared_weights"` // one set of weights for both variants
	Phase       bench.Phase `json:"phase"`
	Batch       int         `json:"batch"`
	ContextLen  int         `json:"context_len"`
	Steps       int         `json:"steps"` // of a slot
	Warmup      int         `json:"warmup"`
	Blocks      int         `json:"blocks"`
	Looks       string      `json:"looks"`
}

// aaFloor is a stored calibration.
type aaFloor struct {
	Key         aaKey               `json:"key"`
	Calibration compare.Calibration `json:"calibration"`
	Date        string              `json:"date"`      // RFC 3339, UTC
	MadeFrom    []string            `json:"made_from"` // sha256 of the recordings
}

// aaKeyOf is the key of one side of a comparison on a host.
func aaKeyOf(host bench.Host, side compare.Variant, shared bool, plan compare.Plan, pt compare.Point) aaKey {
	k := aaKey{CPU: host.CPU, Cores: host.Cores, Backend: side.Backend.Name, Path: side.Backend.ISA, Threads: side.Backend.Threads,
		KV: side.Backend.KVDType, Model: plan.Model, Shared: shared, Phase: pt.Phase, Batch: pt.Batch, ContextLen: pt.ContextLen,
		Steps: plan.Steps, Warmup: plan.Warmup, Blocks: plan.Blocks, Looks: fmt.Sprint(plan.Looks)}
	if pt.Phase == bench.Prefill {
		k.Steps, k.Warmup = plan.PrefillReps, plan.PrefillWarmup
	}
	if !isBuiltin(k.Backend) && len(host.GPUs) > 0 {
		g := host.GPUs[0]
		k.GPU, k.Driver = g.Name, g.Driver
		if g.PowerLimitW != nil {
			k.PowerLimitW = *g.PowerLimitW
		}
	}
	return k
}

// calibrationDir is where calibrations are kept.
func (app *application) calibrationDir() (string, error) {
	dir, err := app.cacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "calibration"), nil
}

// storeFloor keeps a calibration for later runs, in the place of the one before.
func (app *application) storeFloor(c aaFloor) (string, error) {
	dir, err := app.calibrationDir()
	if err != nil {
		return "", err
	}
	name, err := json.Marshal(c.Key)
	if err != nil {
		return "", fmt.Errorf("store the calibration: %w", err)
	}
	data, err := json.MarshalIndent(c, "", "  ")
	path := filepath.Join(dir, fmt.Sprintf("aa-%x.json", sha256.Sum256(name))[:27]+".json")
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err == nil {
		err = writeWhole(path, append(data, '\n'))
	}
	if err != nil {
		return "", usageError(envCache+" names another cache", "store the calibration: %w", err)
	}
	return path, nil
}

// storedFloors are all that this cache holds. A file that cannot be read is left out with a warning.
func (app *application) storedFloors() []aaFloor {
	dir, err := app.calibrationDir()
	if err != nil {
		return nil
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			app.term.warn("stored calibrations: %v", err)
		}
		return nil
	}
	var out []aaFloor
	for _, n := range names {
		if !strings.HasPrefix(n.Name(), "aa-") || filepath.Ext(n.Name()) != ".json" {
			continue
		}
		path := filepath.Join(dir, n.Name())
		var c aaFloor
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		if err != nil || !(c.Calibration.FloorPercent >= 0) || c.Calibration.Schema != 1 {
			app.term.warn("%s: cannot be read as a calibration and is left out", path)
			continue
		}
		out = append(out, c)
	}
	return out
}

// calibrated gives the points of a plan the floors that are stored for both sides; the larger counts.
func (app *application) calibrated(plan *compare.Plan, host bench.Host, a, b compare.Variant, shared bool) {
	stored := app.storedFloors()
	find := func(k aaKey) (float64, bool) {
		i := slices.IndexFunc(stored, func(c aaFloor) bool { return c.Key == k })
		if i < 0 {
			return 0, false
		}
		return stored[i].Calibration.FloorPercent / 100, true
	}
	for i := range plan.Points {
		pt := &plan.Points[i]
		x, okA := find(aaKeyOf(host, a, shared, *plan, *pt))
		y, okB := find(aaKeyOf(host, b, shared, *plan, *pt))
		if okA && okB {
			floor := max(x, y)
			pt.AAFloor = &floor
		}
	}
}

// gateFloor is the largest noise floor that is stored for a key of golden bounds, as a ratio; false
// where none is.
func gateFloor(stored []aaFloor, k gate.Key) (floor float64, ok bool) {
	for _, c := range stored {
		device := c.Key.GPU
		if device == "" {
			device = c.Key.CPU
			if c.Key.Threads > 0 {
				device = fmt.Sprintf("%s, %d threads", device, c.Key.Threads)
			}
		}
		same := device == k.Device && c.Key.Model == k.Model && c.Key.Phase == k.Phase && c.Key.Batch == k.Batch && c.Key.ContextLen == k.ContextLen
		if same && (c.Key.GPU != "" || strings.TrimSpace(c.Key.Backend+" "+c.Key.Path) == k.Runtime) {
			floor, ok = max(floor, c.Calibration.FloorPercent/100), true
		}
	}
	return floor, ok
}

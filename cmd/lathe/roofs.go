package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lathe/bench/roofline"
	"lathe/engine/native"
)

// roofKey is what a measured ceiling holds for.
type roofKey struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Threads int    `json:"threads"`
	Path    string `json:"path"` // numeric path, whose instructions the compute loop is made of
}

// measuredRoofs is what calibrate --bandwidth --compute stores: every sample, and the roofs made of
// the fastest.
type measuredRoofs struct {
	Key        roofKey        `json:"key"`
	Roofs      roofline.Roofs `json:"roofs"`
	Date       string         `json:"date"` // RFC 3339, UTC
	ReadBytes  int64          `json:"read_bytes"`
	ReadNS     []int64        `json:"read_ns"`
	FLOPs      int64          `json:"flops"`
	MultiplyNS []int64        `json:"multiply_ns"`
}

// Sizes of the measurement of roofs.
const (
	roofSamples  = 15
	roofRound    = 20 * time.Millisecond // of one compute sample
	leastRead    = 256 << 20             // bytes of one read sample, all threads
	readOverLLC  = 4                     // and over the last-level cache by this factor
	roofMemShare = 0.25                  // of the memory limit, at most
)

// roofsFile is where the roofs of a key are kept.
func (app *application) roofsFile(k roofKey) (string, error) {
	dir, err := app.cacheDir()
	if err != nil {
		return "", err
	}
	name, err := json.Marshal(k)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "calibration", fmt.Sprintf("roofs-%x.json", sha256.Sum256(name))[:30]+".json"), nil
}

// storedRoofs are those of an earlier calibration; false where there is none.
func (app *application) storedRoofs(k roofKey) (measuredRoofs, bool) {
	path, err := app.roofsFile(k)
	if err != nil {
		return measuredRoofs{}, false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return measuredRoofs{}, false
	}
	var m measuredRoofs
	if err := json.Unmarshal(data, &m); err != nil || m.Key != k || m.Roofs.Bandwidth <= 0 || m.Roofs.Compute <= 0 {
		app.term.warn("%s: cannot be read as a calibration and is left out", path)
		return measuredRoofs{}, false
	}
	return m, true
}

// storeRoofs keeps a calibration for later runs.
func (app *application) storeRoofs(m measuredRoofs) (string, error) {
	path, err := app.roofsFile(m.Key)
	if err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = writeWhole(path, append(data, '\n'))
	}
	if err != nil {
		return "", usageError(envCache+" names another cache", "store the calibration: %w", err)
	}
	return path, nil
}

// writeWhole replaces a file in one step, so that a reader never sees half of it.
func writeWhole(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// roofKeyOf is the key of this machine with so many threads on a numeric path.
func roofKeyOf(threads int, path string) roofKey {
	h := thisMachine().host()
	return roofKey{CPU: h.CPU, Cores: h.Cores, Threads: threads, Path: path}
}

// measureRoofs measures this machine's ceilings: reading memory that no cache holds, and
// multiplying in registers, on all threads at once.
func measureRoofs(ctx context.Context, k roofKey) (measuredRoofs, error) {
	m := measuredRoofs{Key: k, Date: time.Now().UTC().Format(time.RFC3339)}
	llc, known := uint64(0), false
	if h := thisMachine().host(); h.LastLevelByte != nil {
		llc, known = *h.LastLevelByte, true
	}
	bytes := readSize(llc, k.Threads)
	if err := m.read(ctx, k.Threads, bytes); err != nil {
		return m, err
	}
	if err := m.multiply(ctx, k); err != nil {
		return m, err
	}
	m.Roofs = roofline.Roofs{Kind: roofline.Measured, Device: k.CPU, CacheBytes: llc,
		Compute:   1e9 * float64(m.FLOPs) / float64(slices.Min(m.MultiplyNS)),
		Bandwidth: 1e9 * float64(m.ReadBytes) / float64(slices.Min(m.ReadNS)),
		Source: fmt.Sprintf("best of %d on %d threads, %s: reads of %s, multiply-adds of path %s in registers",
			roofSamples, k.Threads, m.Date, sized(float64(m.ReadBytes)), k.Path)}
	if !known || float64(m.ReadBytes) < readOverLLC*float64(llc) {
		m.Roofs.Source += "; the reads are not over four times the last-level cache, or its size is unknown: the bandwidth may be a cache's"
	}
	return m, nil
}

// readSize is how many bytes a read sample takes: over the cache, within the memory, the same for
// every thread.
func readSize(llc uint64, threads int) int64 {
	n := max(float64(leastRead), readOverLLC*float64(llc))
	if limit, ok := thisMachine().memoryLimit(); ok {
		n = min(n, roofMemShare*float64(limit))
	}
	granule := int64(threads) * (1 << 20)
	return max(granule, int64(n)/granule*granule)
}

// read takes the samples of the bandwidth. Each thread touches its own share first.
func (m *measuredRoofs) read(ctx context.Context, threads int, bytes int64) error {
	share := int(bytes) / threads
	parts := make([][]byte, threads)
	team := newTeam(threads, func(part int) error {
		if parts[part] == nil {
			parts[part] = native.RoofBuffer(share)
			for i := 0; i < share; i += 64 {
				parts[part][i] = byte(i>>6) | 1
			}
		}
		_, err := native.ReadBytes(parts[part])
		return err
	})
	defer team.close()
	m.ReadBytes = int64(share) * int64(threads)
	var err error
	m.ReadNS, err = team.sample(ctx, roofSamples)
	return err
}

// multiply takes the samples of the compute roof.
func (m *measuredRoofs) multiply(ctx context.Context, k roofKey) error {
	rounds := 1000
	for start := time.Now(); ; start = time.Now() {
		flops, err := native.Multiply(k.Path, rounds)
		if err != nil {
			return err
		}
		m.FLOPs = flops * int64(k.Threads)
		if spent := time.Since(start); spent >= roofRound || rounds >= 1<<30 {
			break
		}
		rounds *= 2
	}
	team := newTeam(k.Threads, func(int) error {
		_, err := native.Multiply(k.Path, rounds)
		return err
	})
	defer team.close()
	var err error
	m.MultiplyNS, err = team.sample(ctx, roofSamples)
	return err
}

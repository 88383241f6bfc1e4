package roofline

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Kinds of roof.
const (
	Datasheet = "datasheet" // quoted; nothing can be faster
	Measured  = "measured"  // by `calibrate` on this machine; a better kernel may be faster
	Given     = "given"     // by the user
)

// Roofs are the ceilings of one device, for bf16 operands.
type Roofs struct {
	Kind      string  `json:"kind"`
	Device    string  `json:"device"`
	Compute   float64 `json:"flop_per_s"` // dense, at the boost clock; 0: unknown
	Bandwidth float64 `json:"byte_per_s"` // of the main memory; 0: unknown
	// Ceiling is Compute at the highest clock that the device can be set to,
	// which boards exceed their quoted boost clock by. 0: as Compute.
	Ceiling    float64 `json:"flop_per_s_ceiling,omitempty"`
	BoostMHz   float64 `json:"boost_mhz,omitempty"`              // that Compute is at
	CacheBytes uint64  `json:"last_level_cache_bytes,omitempty"` // 0: unknown
	Source     string  `json:"source"`
}

// AtClock is the roofs with the compute roof at a measured clock. The memory roof
// does not move: its clock stands still under a power cap.
func (r Roofs) AtClock(mhz float64) Roofs {
	if r.BoostMHz > 0 && mhz > 0 {
		r.Compute *= mhz / r.BoostMHz
		r.BoostMHz = mhz
	}
	return r
}

// Ridge is the arithmetic intensity in FLOP a byte above which compute is the
// limit; 0 where a roof is unknown.
func (r Roofs) Ridge() float64 {
	if r.Bandwidth <= 0 {
		return 0
	}
	return r.Compute / r.Bandwidth
}

// entry is one device of the table.
type entry struct {
	Names        []string `json:"names"` // as NVML gives them
	DenseTFLOPS  float64  `json:"dense_bf16_tflops"`
	SMs          int      `json:"sms"`
	FLOPPerClock int      `json:"flop_per_clock_per_sm"`
	BoostMHz     float64  `json:"boost_mhz"`
	MaxMHz       float64  `json:"max_mhz"` // 0: not known to differ
	TBPerSecond  float64  `json:"memory_tb_per_s"`
	CacheMB      float64  `json:"l2_mb"`
	MemoryGB     float64  `json:"memory_gb"`
	Source       string   `json:"source"`
}

//go:embed devices.json
var devices string

// table reads devices.json, which is checked by a test.
func table() ([]entry, error) {
	var list []entry
	if err := json.Unmarshal([]byte(devices), &list); err != nil {
		return nil, fmt.Errorf("read the table of devices: %w", err)
	}
	return list, nil
}

// Quoted is the datasheet of a device by the name that its driver gives it; false
// where the table has no such device. Names are compared whole: an H200 is no H200
// NVL.
func Quoted(name string) (Roofs, bool) {
	list, err := table()
	if err != nil {
		return Roofs{}, false
	}
	wanted := strings.TrimPrefix(strings.TrimSpace(name), "NVIDIA ")
	for _, e := range list {
		for _, n := range e.Names {
			if strings.EqualFold(n, wanted) {
				return e.roofs(name), true
			}
		}
	}
	return Roofs{}, false
}

func (e entry) roofs(name string) Roofs {
	r := Roofs{Kind: Datasheet, Device: name, Compute: e.DenseTFLOPS * 1e12, Bandwidth: e.TBPerSecond * 1e12,
		BoostMHz: e.BoostMHz, CacheBytes: uint64(e.CacheMB * 1e6), Source: e.Source}
	if e.MaxMHz > e.BoostMHz {
		r.Ceiling = r.Compute * e.MaxMHz / e.BoostMHz
	}
	return r
}

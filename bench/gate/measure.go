package gate

import (
	"encoding/json"
	"fmt"
	"strings"

	"lathe/bench"
	"lathe/bench/metric"
)

// Run is what one recording says, as far as bounds go.
type Run struct {
	Name         string // of the file
	SHA256       string
	StartedAt    string // RFC 3339
	Measurements []Measurement
	Warnings     []string
	// Refused is why the recording as a whole cannot be judged; "" where it can.
	Refused string
}

// Measurement is one key's median.
type Measurement struct {
	Key     Key
	ValueNS float64
	// Interval is the 95 % interval of the median within the run; nil: unknown.
	Interval *[2]float64
	N        int      // samples
	FloorNS  *float64 // least possible time; nil: unknown
	// Throttled is the share of the samples that were taken with the clock held
	// down, and Reasons names why.
	Throttled float64
	Reasons   string
	// Unmeasured is why there is no value; "" where there is one.
	Unmeasured string
}

// Measure reads the medians of a recording of the offline loops: of each point
// the prefill and the decode steps, on the device's own clock where it has one.
// floor gives the least possible time of a key by the datasheet; nil: unknown.
func Measure(f *bench.File, name string, floor func(Key) (ns float64, ok bool)) Run {
	r := Run{Name: name, SHA256: f.SHA256, StartedAt: f.Run.StartedAt, Warnings: f.Warnings}
	if failed := f.FailedChecks(); len(failed) > 0 {
		r.Refused = fmt.Sprintf("check %s failed: the numbers are wrong", strings.Join(failed, ", "))
	}
	if !f.Complete() {
		r.Warnings = append(r.Warnings[:len(r.Warnings):len(r.Warnings)], "the recording is incomplete: judged by the points that it finished")
	}
	environment := environmentOf(&f.Run)
	for _, p := range metric.Points(f) {
		if !p.Finished {
			continue
		}
		key := environment
		key.Batch, key.ContextLen = p.Batch, p.InputLen
		for _, phase := range []bench.Phase{bench.Prefill, bench.Decode} {
			if phase == bench.Decode && p.OutputLen < 2 {
				continue
			}
			m := measurement(key, phase, &p)
			m.Throttled, m.Reasons = throttled(f.Steps, p.Point.Point, phase)
			if floor != nil && m.Unmeasured == "" {
				if ns, ok := floor(m.Key); ok {
					m.FloorNS = &ns
				}
			}
			r.Measurements = append(r.Measurements, m)
		}
	}
	return r
}

func measurement(key Key, phase bench.Phase, p *metric.Point) Measurement {
	key.Phase = phase
	s := p.Prefill
	if phase == bench.Decode {
		key.Graph = p.Graph
		if p.OutputLen > 0 {
			n := p.OutputLen
			key.OutputLen = &n
		}
		s = p.Decode
		if p.Device.N > 0 && p.Device.Failed == 0 {
			s = p.Device
		}
	}
	m := Measurement{Key: key, N: s.N}
	switch {
	case p.Status != bench.StatusOK:
		m.Unmeasured = string(p.Status)
		if p.Reason != nil {
			m.Unmeasured += ": " + *p.Reason
		}
	case s.Median == nil || *s.Median <= 0:
		m.Unmeasured = "no sample"
	default:
		m.ValueNS = *s.Median
	}
	if s.Interval != nil {
		m.Interval = &[2]float64{s.Interval.Lo, s.Interval.Hi}
	}
	return m
}

// heldDown are the bits of NVML's event reasons that hold a clock down.
const heldDown = 0x4 | 0x8 | 0x20 | 0x40 | 0x80

// reasonNames names such bits as NVML does.
func reasonNames(bits uint64) string {
	var names []string
	for i, name := range []string{2: "SwPowerCap", 3: "HwSlowdown", 5: "SwThermalSlowdown", 6: "HwThermalSlowdown", 7: "HwPowerBrakeSlowdown"} {
		if name != "" && bits&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// throttled is the share of a point's recorded steps with the clock held down, and
// the names of the reasons.
func throttled(steps []bench.Step, point int, phase bench.Phase) (share float64, reasons string) {
	n, held := 0, 0
	var seen uint64
	for _, s := range steps {
		if s.Point != point || s.Phase != phase || s.Warmup || s.Variant != nil {
			continue
		}
		n++
		if s.ThrottleReasons != nil && *s.ThrottleReasons&heldDown != 0 {
			held++
			seen |= *s.ThrottleReasons
		}
	}
	return float64(held) / float64(max(1, n)), reasonNames(seen)
}

// environmentOf fills in the parts of a key that a whole recording shares. They
// are what a machine is, never what it reads at the moment.
func environmentOf(run *bench.Run) Key {
	k := Key{Model: run.Workload.Model}
	if run.Model != nil {
		k.DType = run.Model.DType
		if k.Model == "" {
			k.Model = run.Model.ID
		}
	}
	if kv := run.Backend.KVDType; kv != "" && kv != "bf16" {
		k.DType += " kv " + kv
	}
	device := struct {
		Index *int   `json:"index"`
		Name  string `json:"name"`
	}{}
	_ = json.Unmarshal(run.Backend.Device, &device) // a device that tells nothing is unknown
	if gpu := gpuOf(run, device.Index); gpu != nil && !onCPU(run.Backend.Name) {
		k.Device, k.PowerLimitW, k.MemoryClockMHz = gpu.Name, gpu.PowerLimitW, gpu.MemClockMHz
		k.Driver, _, _ = strings.Cut(gpu.Driver, ".")
		k.Runtime = runtimeOf(run.Backend.BuildInfo)
		return k
	}
	k.Device = run.Host.CPU
	if k.Device == "" {
		k.Device = device.Name
	}
	if run.Backend.Threads > 0 {
		k.Device = fmt.Sprintf("%s, %d threads", k.Device, run.Backend.Threads)
	}
	k.Runtime = strings.TrimSpace(run.Backend.Name + " " + run.Backend.ISA)
	return k
}

func onCPU(backend string) bool { return backend == "cpu" || backend == "reference" || backend == "" }

func gpuOf(run *bench.Run, index *int) *bench.GPU {
	for i := range run.Host.GPUs {
		if index == nil || run.Host.GPUs[i].Index == *index {
			return &run.Host.GPUs[i]
		}
	}
	return nil
}

// runtimeOf finds the CUDA runtime in a backend's build info.
func runtimeOf(info json.RawMessage) string {
	var keys map[string]any
	if json.Unmarshal(info, &keys) != nil {
		return ""
	}
	for _, name := range []string{"cuda_runtime", "cudart", "runtime", "cuda"} {
		if v, ok := keys[name]; ok {
			return fmt.Sprint(v)
		}
	}
	return ""
}

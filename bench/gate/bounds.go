package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"lathe/bench"
)

// Schema is the version of the bounds file. Readers refuse a higher one.
const Schema = 1

// Bounds is the bounds file.
type Bounds struct {
	Schema int     `json:"schema"`
	Bounds []Bound `json:"bounds"`
}

// Bound is what one key's median may be, in nanoseconds.
type Bound struct {
	Key      Key      `json:"key"`
	UpperNS  float64  `json:"upper_ns"` // above: a miss
	LowerNS  float64  `json:"lower_ns"` // below: improved so far that the bound is due for renewal
	MedianNS float64  `json:"median_ns"`
	N        int      `json:"n"`         // recordings it was made from
	MadeFrom []string `json:"made_from"` // their sha256
	Date     string   `json:"date"`
}

// Key says what a bound is about. The first five fields are the environment, the
// others the work.
type Key struct {
	Device         string      `json:"device"`
	PowerLimitW    *int        `json:"power_limit_w"`
	MemoryClockMHz *int        `json:"memory_clock_mhz"`
	Driver         string      `json:"driver"`  // its major version; empty on a CPU
	Runtime        string      `json:"runtime"` // CUDA runtime, or backend and instruction set
	Model          string      `json:"model"`
	DType          string      `json:"dtype"`
	Phase          bench.Phase `json:"phase"`
	Batch          int         `json:"batch"`
	ContextLen     int         `json:"context_len"` // prompt tokens
	// OutputLen is the length of the pass whose decode steps the median is of:
	// steps grow with it. A bound without it fits any.
	OutputLen *int   `json:"output_len,omitempty"`
	Graph     string `json:"graph"`
}

// String names the work of a key.
func (k Key) String() string {
	s := fmt.Sprintf("%s batch %d context %d", k.Phase, k.Batch, k.ContextLen)
	if k.OutputLen != nil {
		s += fmt.Sprintf(" output %d", *k.OutputLen)
	}
	if k.Graph != "" && k.Graph != "none" {
		s += " " + k.Graph
	}
	return s
}

// environment lists what differs in the machines of two keys.
func (k Key) environment(o Key) []string {
	var diff []string
	say := func(name, a, b string) {
		if a != b {
			diff = append(diff, fmt.Sprintf("%s is %s here, %s in the bounds", name, quoted(b), quoted(a)))
		}
	}
	say("device", k.Device, o.Device)
	say("power limit", number(k.PowerLimitW), number(o.PowerLimitW))
	say("memory clock", number(k.MemoryClockMHz), number(o.MemoryClockMHz))
	say("driver", k.Driver, o.Driver)
	say("runtime", k.Runtime, o.Runtime)
	return diff
}

// sameWork says whether a bound's key asks for what a measured key did.
func (k Key) sameWork(o Key) bool {
	if k.OutputLen != nil && (o.OutputLen == nil || *k.OutputLen != *o.OutputLen) {
		return false
	}
	return k.Model == o.Model && k.DType == o.DType && k.Phase == o.Phase &&
		k.Batch == o.Batch && k.ContextLen == o.ContextLen && k.Graph == o.Graph
}

// equal compares whole keys.
func (k Key) equal(o Key) bool {
	return k.sameWork(o) && o.sameWork(k) && len(k.environment(o)) == 0
}

func number(p *int) string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(*p)
}

func quoted(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// ReadBounds reads and validates a bounds file; name is used in errors. Unknown
// keys are refused, so that a misspelt one does not fall silent.
func ReadBounds(r io.Reader, name string) (Bounds, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errors.New("longer than 16 MiB")
	}
	if err != nil {
		return Bounds{}, fmt.Errorf("read bounds: %s: %w", name, err)
	}
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Bounds{}, fmt.Errorf("read bounds: %s: %w", name, err)
	}
	switch {
	case head.Schema == nil:
		return Bounds{}, fmt.Errorf("read bounds: %s: no schema in it: not a bounds file", name)
	case *head.Schema > Schema:
		return Bounds{}, fmt.Errorf("read bounds: %s: schema %d is newer than %d, the newest that this build reads", name, *head.Schema, Schema)
	}
	var b Bounds
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return Bounds{}, fmt.Errorf("read bounds: %s: %w", name, err)
	}
	if err := b.Validate(); err != nil {
		return Bounds{}, fmt.Errorf("read bounds: %s: %w", name, err)
	}
	return b, nil
}

// maxFile is the longest bounds file that is read, in bytes.
const maxFile = 16 << 20

// Validate checks every bound, and that no two are about the same key.
func (b Bounds) Validate() error {
	if b.Schema != Schema {
		return fmt.Errorf("schema %d: want %d", b.Schema, Schema)
	}
	for i, x := range b.Bounds {
		if err := x.validate(); err != nil {
			return fmt.Errorf("bound %d (%s): %w", i, x.Key, err)
		}
		for j := range i {
			if b.Bounds[j].Key.equal(x.Key) {
				return fmt.Errorf("bounds %d and %d are about the same key (%s)", j, i, x.Key)
			}
		}
	}
	return nil
}

func (x Bound) validate() error {
	switch k := x.Key; {
	case k.Device == "" || k.Model == "":
		return errors.New("the key names no device or no model")
	case k.Phase != bench.Prefill && k.Phase != bench.Decode:
		return fmt.Errorf("phase %q is neither prefill nor decode", k.Phase)
	case k.Batch < 1 || k.ContextLen < 1:
		return fmt.Errorf("batch %d, context %d: want at least 1", k.Batch, k.ContextLen)
	}
	if !(x.LowerNS >= 0 && x.LowerNS <= x.MedianNS && x.MedianNS > 0 && x.MedianNS <= x.UpperNS) || math.IsInf(x.UpperNS, 0) {
		return fmt.Errorf("lower %g, median %g, upper %g ns: want them ascending and above 0", x.LowerNS, x.MedianNS, x.UpperNS)
	}
	if x.N < 1 {
		return fmt.Errorf("n %d: want at least 1", x.N)
	}
	return nil
}

// Write writes a bounds file, its bounds in a fixed order, so that a change shows
// as one.
func (b Bounds) Write(w io.Writer) error {
	b.Bounds = slices.Clone(b.Bounds)
	slices.SortStableFunc(b.Bounds, func(x, y Bound) int { return strings.Compare(x.Key.order(), y.Key.order()) })
	if err := b.Validate(); err != nil {
		return fmt.Errorf("write bounds: %w", err)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(b); err != nil {
		return fmt.Errorf("write bounds: %w", err)
	}
	return nil
}

// order sorts keys by machine, model, phase and sizes.
func (k Key) order() string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s\x00%s\x00%s\x00%s\x00%08d\x00%08d\x00%s\x00%s", k.Device, number(k.PowerLimitW),
		number(k.MemoryClockMHz), k.Driver, k.Runtime, k.Model, k.DType, k.Phase, k.Batch, k.ContextLen, number(k.OutputLen), k.Graph)
}

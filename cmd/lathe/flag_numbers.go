package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// unbounded is a number that may be infinite, such as a request rate. In JSON the infinity is the
// text "inf".
type unbounded float64

// MarshalJSON writes "inf" for +Inf.
func (u unbounded) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(u), 1) {
		return []byte(`"inf"`), nil
	}
	return json.Marshal(float64(u))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (u *unbounded) UnmarshalJSON(data []byte) error {
	if string(data) == `"inf"` {
		*u = unbounded(math.Inf(1))
		return nil
	}
	return json.Unmarshal(data, (*float64)(u))
}

// realNumber is a float of at least min (above it where open); inf is taken where infinite says so.
type realNumber struct {
	set            func(float64)
	get            func() float64
	min            float64
	open, infinite bool
}

func realVar(fs *pflag.FlagSet, to *float64, name string, def, min float64, usage string) {
	*to = def
	fs.Var(&realNumber{set: func(v float64) { *to = v }, get: func() float64 { return *to }, min: min}, name, usage)
}

func unboundedVar(fs *pflag.FlagSet, to *unbounded, name string, def float64, usage string) {
	*to = unbounded(def)
	fs.Var(&realNumber{set: func(v float64) { *to = unbounded(v) }, get: func() float64 { return float64(*to) }, open: true, infinite: true}, name, usage)
}

// optionalRealVar leaves *to nil where the flag is not given.
func optionalRealVar(fs *pflag.FlagSet, to **float64, name string, min float64, usage string) {
	get := func() float64 {
		if *to == nil {
			return math.NaN()
		}
		return **to
	}
	fs.Var(&realNumber{set: func(v float64) { *to = &v }, get: get, min: min}, name, usage)
}

func (v *realNumber) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return fmt.Errorf("not a number")
	}
	switch {
	case math.IsInf(f, 0) && !(v.infinite && f > 0):
		return fmt.Errorf("must be finite")
	case v.open && f <= v.min:
		return fmt.Errorf("must be above %v", v.min)
	case f < v.min:
		return fmt.Errorf("must be at least %v", v.min)
	}
	v.set(f)
	return nil
}

func (v *realNumber) String() string {
	if v.get == nil {
		return "0"
	}
	switch f := v.get(); {
	case math.IsNaN(f):
		return ""
	case math.IsInf(f, 1):
		return "inf"
	default:
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
}
func (v *realNumber) Type() string { return "float" }

// positiveRealVar is a finite number above 0.
func positiveRealVar(fs *pflag.FlagSet, to *float64, name string, def float64, usage string) {
	*to = def
	fs.Var(&realNumber{set: func(v float64) { *to = v }, get: func() float64 { return *to }, open: true}, name, usage)
}

// optionalWhole is a wholeNumber that is nil where the flag is not given.
type optionalWhole struct {
	to  **int
	min int
}

func optionalWholeVar(fs *pflag.FlagSet, to **int, name string, min int, usage string) {
	fs.Var(&optionalWhole{to, min}, name, usage)
}

func (v *optionalWhole) Set(s string) error {
	n := 0
	if err := (&wholeNumber{&n, v.min}).Set(s); err != nil {
		return err
	}
	*v.to = &n
	return nil
}

func (v *optionalWhole) String() string {
	if v.to == nil || *v.to == nil {
		return ""
	}
	return strconv.Itoa(**v.to)
}
func (v *optionalWhole) Type() string { return "int" }

// span is a duration: with a unit as Go writes it (2s, 150ms), or a bare number of seconds.
type span struct{ to *time.Duration }

func spanVar(fs *pflag.FlagSet, to *time.Duration, name string, def time.Duration, usage string) {
	*to = def
	fs.Var(&span{to}, name, usage)
}

func (v *span) Set(s string) error {
	d, err := time.ParseDuration(s)
	if seconds, failed := strconv.ParseFloat(s, 64); failed == nil && math.Abs(seconds) < 1e9 {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return fmt.Errorf("must be a time such as 2s or 150ms")
	}
	*v.to = d
	return nil
}

func (v *span) String() string {
	if v.to == nil {
		return "0s"
	}
	return v.to.String()
}
func (v *span) Type() string { return "duration" }

// optionalText is nil where the flag is not given.
type optionalText struct{ to **string }

func optionalTextVar(fs *pflag.FlagSet, to **string, name, usage string) {
	fs.Var(&optionalText{to}, name, usage)
}

func (v *optionalText) Set(s string) error {
	*v.to = &s
	return nil
}

func (v *optionalText) String() string {
	if v.to == nil || *v.to == nil {
		return ""
	}
	return **v.to
}
func (v *optionalText) Type() string { return "string" }

// optionalSwitch is a boolean that is nil where the flag is not given.
type optionalSwitch struct{ to **bool }

func optionalSwitchVar(fs *pflag.FlagSet, to **bool, name, usage string) {
	fs.Var(&optionalSwitch{to}, name, usage)
}

func (v *optionalSwitch) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return err
	}
	*v.to = &b
	return nil
}

func (v *optionalSwitch) String() string {
	if v.to == nil || *v.to == nil {
		return ""
	}
	return strconv.FormatBool(**v.to)
}
func (v *optionalSwitch) Type() string { return "bool" }

package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// The kinds of value that a flag of ours takes. Each says in its error what it wanted, and nothing
// of how Go parses.

// kinded lets a flag's value tell the argv pass how many tokens it takes.
type kinded interface{ flagKind() flagKind }

// kindOf is what the argv pass must know of a pflag flag.
func kindOf(f *pflag.Flag) flagKind {
	if k, ok := f.Value.(kinded); ok {
		return k.flagKind()
	}
	if f.Value.Type() == "bool" {
		return switchFlag
	}
	return valueFlag
}

// wholeNumber is an int of at least min. K, M and G (1024), k, m and g (1000) may follow it, as in
// vLLM's --max-model-len.
type wholeNumber struct {
	to  *int
	min int
}

func wholeVar(fs *pflag.FlagSet, to *int, name string, def, min int, usage string) {
	*to = def
	fs.Var(&wholeNumber{to, min}, name, usage)
}

func (v *wholeNumber) Set(s string) error {
	n, err := parseWhole(s)
	if err != nil {
		return err
	}
	if n < v.min {
		return fmt.Errorf("must be at least %d", v.min)
	}
	*v.to = n
	return nil
}

func (v *wholeNumber) String() string {
	if v.to == nil {
		return "0"
	}
	return strconv.Itoa(*v.to)
}
func (v *wholeNumber) Type() string { return "int" }

func parseWhole(s string) (int, error) {
	digits, scale := s, 1
	if n := len(s); n > 1 {
		scales := map[byte]int{'k': 1e3, 'm': 1e6, 'g': 1e9, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}
		if by, ok := scales[s[n-1]]; ok {
			digits, scale = s[:n-1], by
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		if number, ok := err.(*strconv.NumError); ok && number.Err == strconv.ErrRange {
			return 0, fmt.Errorf("too large")
		}
		return 0, fmt.Errorf("not a whole number")
	}
	if n*scale/scale != n {
		return 0, fmt.Errorf("too large")
	}
	return n * scale, nil
}

// wholeNumbers is a list of them.
type wholeNumbers struct {
	to  *[]int
	min int
	set bool
}

func wholesVar(fs *pflag.FlagSet, to *[]int, name string, def []int, min int, usage string) {
	*to = def
	fs.Var(&wholeNumbers{to: to, min: min}, name, usage)
}

func (v *wholeNumbers) Set(s string) error {
	var n int
	if err := (&wholeNumber{&n, v.min}).Set(s); err != nil {
		return err
	}
	if !v.set {
		*v.to, v.set = nil, true
	}
	*v.to = append(*v.to, n)
	return nil
}

func (v *wholeNumbers) String() string {
	if v.to == nil {
		return ""
	}
	var words []string
	for _, n := range *v.to {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, " ")
}
func (v *wholeNumbers) Type() string       { return "ints" }
func (v *wholeNumbers) flagKind() flagKind { return listFlag }

// words is a list of strings; commas separate where the flag is a listFlag.
type words struct {
	to   *[]string
	kind flagKind
	set  bool
}

func wordsVar(fs *pflag.FlagSet, to *[]string, kind flagKind, name, usage string) {
	fs.Var(&words{to: to, kind: kind}, name, usage)
}

func (v *words) Set(s string) error {
	if !v.set {
		*v.to, v.set = nil, true
	}
	*v.to = append(*v.to, s)
	return nil
}

func (v *words) String() string {
	if v.to == nil {
		return ""
	}
	return strings.Join(*v.to, " ")
}
func (v *words) Type() string       { return "strings" }
func (v *words) flagKind() flagKind { return v.kind }

// choice is one of a few words; accepts maps other spellings to them.
type choice struct {
	to      *string
	choices []string
	accepts map[string]string
}

func choiceVar(fs *pflag.FlagSet, to *string, name, def string, choices []string, usage string) *choice {
	*to = def
	v := &choice{to: to, choices: choices}
	fs.Var(v, name, usage+" ("+strings.Join(choices, "|")+")")
	return v
}

func (v *choice) Set(s string) error {
	if known, ok := v.accepts[s]; ok {
		s = known
	}
	for _, c := range v.choices {
		if s == c {
			*v.to = s
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", strings.Join(v.choices, ", "))
}

func (v *choice) String() string {
	if v.to == nil {
		return ""
	}
	return *v.to
}
func (v *choice) Type() string { return "string" }

// fraction is a float in (0, 1].
type fraction struct{ to *float64 }

func fractionVar(fs *pflag.FlagSet, to *float64, name string, def float64, usage string) {
	*to = def
	fs.Var(&fraction{to}, name, usage)
}

func (v *fraction) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0 && f <= 1) {
		return fmt.Errorf("must be a number above 0 and at most 1")
	}
	*v.to = f
	return nil
}

func (v *fraction) String() string {
	if v.to == nil {
		return "0"
	}
	return strconv.FormatFloat(*v.to, 'g', -1, 64)
}
func (v *fraction) Type() string { return "float" }

// positive is a number above 0; 0 where the flag was not given.
type positive struct{ to *float64 }

func positiveVar(fs *pflag.FlagSet, to *float64, name, usage string) {
	fs.Var(&positive{to}, name, usage)
}

func (v *positive) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) || math.IsInf(f, 0) {
		return fmt.Errorf("must be a number above 0")
	}
	*v.to = f
	return nil
}

func (v *positive) String() string {
	if v.to == nil || *v.to == 0 {
		return ""
	}
	return strconv.FormatFloat(*v.to, 'g', -1, 64)
}
func (v *positive) Type() string { return "float" }

package serving

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// SLO is one objective: a metric's name and the milliseconds that it may take.
type SLO struct {
	Name string // ttft, tpot, e2el
	MS   float64
}

// parseSLOs splits NAME:VALUE pairs; a name given twice keeps its place and
// takes the last value. ok is false where a pair is not one.
func parseSLOs(pairs []string) (slos []SLO, ok bool) {
	for _, pair := range pairs {
		name, value, found := strings.Cut(pair, ":")
		ms, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if !found || err != nil && !math.IsInf(ms, 0) {
			return nil, false
		}
		if i := slices.IndexFunc(slos, func(s SLO) bool { return s.Name == name }); i >= 0 {
			slos[i].MS = ms
			continue
		}
		slos = append(slos, SLO{name, ms})
	}
	return slos, true
}

func knownSLO(name string) bool { return name == "ttft" || name == "tpot" || name == "e2el" }

// vllmSLOs is vLLM's check of the arguments: the class of the exception that
// refuses them, or "".
func vllmSLOs(pairs []string) ([]SLO, string) {
	slos, ok := parseSLOs(pairs)
	if !ok {
		return nil, argumentTypeError
	}
	for _, s := range slos {
		if !knownSLO(s.Name) || s.MS < 0 {
			return nil, valueError
		}
	}
	return slos, ""
}

// sglangSLOs is SGLang's: finite and above 0.
func sglangSLOs(pairs []string) ([]SLO, string) {
	slos, ok := parseSLOs(pairs)
	if !ok {
		return nil, argumentTypeError
	}
	for _, s := range slos {
		if !knownSLO(s.Name) || !(s.MS > 0) || math.IsInf(s.MS, 0) {
			return nil, argumentTypeError
		}
	}
	return slos, ""
}

// latency is what an SLO looks at, in seconds; tpot is 0 for one token or none.
func (o *Outcome) latency(name string, tokens int64) float64 {
	switch name {
	case "ttft":
		return o.TTFT
	case "tpot":
		if tokens > 1 {
			return (o.Latency - o.TTFT) / float64(tokens-1)
		}
		return 0
	}
	return o.Latency
}

// SGLangGoodput is what SGLang says of its objectives since November 2026.
type SGLangGoodput struct {
	SLOs              []SLO
	RequestGoodput    float64   // good requests a second
	Attainment        float64   // good requests of all, failed ones included
	AttainmentByIndex []float64 // likewise for each of SLOs
}

// sglangGoodput compares milliseconds, where vLLM compares seconds: exact ties
// can fall differently. There must be a request, and a duration.
func sglangGoodput(slos []SLO, outcomes []Outcome, lens []Count, duration float64) *SGLangGoodput {
	g := &SGLangGoodput{SLOs: slos, AttainmentByIndex: make([]float64, len(slos))}
	good, by := 0, make([]int, len(slos))
	for i := range outcomes {
		o := &outcomes[i]
		if !o.Success {
			continue
		}
		all := true
		for k, s := range slos {
			met := o.latency(s.Name, lens[i].N)*1000 <= s.MS
			if met {
				by[k]++
			}
			all = all && met
		}
		if all {
			good++
		}
	}
	n := float64(len(outcomes))
	g.RequestGoodput, g.Attainment = float64(good)/duration, float64(good)/n
	for k := range by {
		g.AttainmentByIndex[k] = float64(by[k]) / n
	}
	return g
}

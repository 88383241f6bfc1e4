package engine

import "lathe/engine/native"

// stepInfo is what the device said of one step, over all of its submits: a prefill
// in several chunks is one step.
type stepInfo struct {
	submits  int // waited for, of the step that runs
	deviceNS int64
	graph    native.GraphMode
	opNS     [native.Ops]int64
}

// newStepInfo knows of no step.
func newStepInfo() stepInfo {
	s := stepInfo{deviceNS: -1}
	for i := range s.opNS {
		s.opNS[i] = -1
	}
	return s
}

// start begins a step. What the last one said stays until the first add.
func (s *stepInfo) start() { s.submits = 0 }

// add takes one more submit of the step: times add up, and are unknown (-1) once
// one of them is; the step was captured if every submit was. An operator's time is
// unknown only where no submit measured it: not every submit runs every operator.
func (s *stepInfo) add(i *native.StepInfo) {
	ns, graph := max(i.DeviceNS, -1), i.Graph
	if s.submits > 0 {
		graph = min(s.graph, graph)
		if s.deviceNS < 0 || ns < 0 {
			ns = -1
		} else {
			ns += s.deviceNS
		}
	}
	for op, t := range i.OpNS {
		if s.submits > 0 && s.opNS[op] >= 0 {
			t = s.opNS[op] + max(t, 0)
		}
		s.opNS[op] = max(t, -1)
	}
	s.submits++
	s.deviceNS, s.graph = ns, graph
}

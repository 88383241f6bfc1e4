package engine

import "lathe/engine/native"

// stepInfo is what the device said of one step, over all of its submits: a prefill
// in several chunks is one step.
type stepInfo struct {
	submits  int // waited for, of the step that runs
	deviceNS int64
	graph    native.GraphMode
}

// start begins a step. What the last one said stays until the first add.
func (s *stepInfo) start() { s.submits = 0 }

// add takes one more submit of the step: times add up, and are unknown (-1) once
// one of them is; the step was captured if every submit was.
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
	s.submits++
	s.deviceNS, s.graph = ns, graph
}

package audit

import (
	"slices"

	"lathe/bench/compare"
)

// question says what a kind of file times.
func question(k Kind) string {
	switch k {
	case Serving:
		return "requests to a server, as a client sees them: queueing, network and scheduling are in its times"
	case Offline:
		return "an engine in the process: no queue, no network"
	}
	return "launches of a kernel: no engine"
}

// offline compares files that are not both of requests.
func (c *Comparison) offline() {
	a, b := c.A, c.B
	c.Comparable = true
	differ := func(id, topic, x, y, keeps string) {
		c.Comparable = false
		c.Rows = append(c.Rows, Finding{ID: id, Topic: topic, Effect: Moves, A: x, B: y, Moves: []Move{{Everything, eitherWay}}, Keeps: keeps})
	}
	switch {
	case a.Kind != b.Kind:
		differ("W0", "what is timed", question(a.Kind), question(b.Kind), "nothing: they answer different questions")
	case a.Harness != b.Harness:
		differ("W0", "what is timed", string(a.Harness)+": "+a.trait("timed"), string(b.Harness)+": "+b.trait("timed"), "nothing, unless the definitions are shown to be one")
	case a.raw != nil && b.raw != nil:
		refused, noted := compare.Unlike(a.raw, b.raw)
		for _, what := range refused {
			c.Comparable = false
			c.Rows = append(c.Rows, Finding{ID: "W3", Topic: "run", Effect: Moves, A: what, Moves: []Move{{Everything, eitherWay}}, Keeps: "nothing"})
		}
		for _, what := range noted {
			c.RuledOut = append(c.RuledOut, Remark{ID: "W3", Topic: "run", Why: what + ": said, but no reason by itself"})
		}
	default:
		c.byTraits(differ)
	}
}

// byTraits compares what two files of one offline harness say of their runs.
func (c *Comparison) byTraits(differ func(id, topic, x, y, keeps string)) {
	for _, t := range c.A.Traits {
		other := c.B.trait(t.Name)
		switch {
		case t.Value == other:
		case other == "":
			c.NotTold = append(c.NotTold, Remark{ID: "W3", Topic: t.Name, Why: "A, " + t.Value + "; B does not say"})
		case t.Refuses:
			differ("W3", t.Name, t.Value, other, "nothing")
		default:
			c.RuledOut = append(c.RuledOut, Remark{ID: "W3", Topic: t.Name, Why: t.Value + " in A, " + other + " in B: said, but no reason by itself"})
		}
	}
	for _, t := range c.B.Traits {
		if c.A.trait(t.Name) == "" {
			c.NotTold = append(c.NotTold, Remark{ID: "W3", Topic: t.Name, Why: "A does not say; B, " + t.Value})
		}
	}
}

func (f *File) trait(name string) string {
	if i := slices.IndexFunc(f.Traits, func(t Trait) bool { return t.Name == name }); i >= 0 {
		return f.Traits[i].Value
	}
	return ""
}

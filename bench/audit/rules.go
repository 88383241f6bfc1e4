package audit

import (
	"lathe/bench/serving"
)

// side is one file under one state of its harness, as a rule asks of it.
type side struct {
	*File
	sw serving.Switches
}

// rule is who does what in a row.
type rule struct {
	is    func(s side) bool
	does  string
	class string // rules of one class differ on rare streams only
	// reads says for a figure whether the rule reads higher (above 0) or lower
	// (below 0) than the plain one; more is further. A figure without an entry is
	// plain.
	reads map[Figure]int
}

// stance is what a file does in a row: a rule, or why it is not told.
type stance struct {
	rule
	unknown string
}

// row is one row of the incomparability tables.
type row struct {
	id, topic string
	moves     []Figure
	keeps     string // what can still be compared where only this row differs

	// reading says that the row is about what is made of the bytes on the wire,
	// which a capture leaves open.
	reading bool
	// captures says that a row about readings is a question between two captures
	// too, though both are read alike.
	captures bool
	// arises says whether the row is a question at all between two files; nil is
	// always.
	arises func(a, b side) bool
	// rules are tried in order; state, where it is set, stands in their place.
	rules []rule
	state func(s side) stance
	// rare is the condition on which two stances lead to other figures, "" where
	// they usually do.
	rare func(a, b stance) string
	// ruledOut says by what the files show that no figure moved; "" where they do
	// not.
	ruledOut func(a, b side) string
	// shown says by what the files show that a rare difference did move figures.
	shown func(a, b side) string
	// directed overrides the direction that reads gives.
	directed func(a, b side) map[Figure]int
	// equal compares two stances that are told by more than their words; unknown is
	// what the files leave open though nothing differs.
	equal func(a, b side) (same bool, unknown string)
	// list lists the figures of a one-sided row.
	list func(a, b side) []Move
	// oneSided says that the row is about a figure that one of the files lacks.
	oneSided bool
	// never is why the row moves no number.
	never string
}

// stanceOf finds what a file does under every state of its harness that it fits.
func (r *row) stanceOf(f *File) stance {
	var first stance
	versions := f.Versions
	if len(versions) == 0 {
		versions = []serving.Version{serving.Latest}
	}
	for i, v := range versions {
		sw, _ := serving.SwitchesOf(v)
		s := r.stanceAt(side{f, sw})
		switch {
		case s.unknown != "":
			return s
		case i == 0:
			first = s
		case s.does != first.does:
			return stance{unknown: "its release is not told, and they differ: " + first.does + ", or " + s.does}
		}
	}
	return first
}

func (r *row) stanceAt(s side) stance {
	if r.state != nil {
		return r.state(s)
	}
	for _, x := range r.rules {
		if x.is == nil || x.is(s) {
			return stance{rule: x}
		}
	}
	return stance{unknown: "the tables do not say what " + string(s.Harness) + " does"}
}

func told(does string, reads ...map[Figure]int) stance {
	st := stance{rule: rule{does: does}}
	if len(reads) > 0 {
		st.reads = reads[0]
	}
	return st
}

func untold(why string) stance { return stance{unknown: why} }

// of matches harnesses.
func of(all ...Harness) func(side) bool {
	return func(s side) bool {
		for _, h := range all {
			if s.Harness == h {
				return true
			}
		}
		return false
	}
}

// acts matches the harnesses whose ways of loading and sending a file has: its
// own, or those that a capture was made with.
func acts(all ...Harness) func(side) bool {
	is := of(all...)
	return func(s side) bool {
		if s.Acts != "" {
			return is(side{File: &File{Harness: s.Acts}})
		}
		return is(s)
	}
}

// loads says that a file was loaded as one of the four clients does.
func loads(s side) bool { return acts(VLLM, VLLMRust, SGLang, SGLangRust)(s) }

// on matches harnesses on one endpoint.
func on(w serving.Wire, all ...Harness) func(side) bool {
	who := of(all...)
	return func(s side) bool { return s.WireKnown && s.Wire == w && who(s) }
}

// where narrows a match.
func where(is func(side) bool, also func(side) bool) func(side) bool {
	return func(s side) bool { return is(s) && also(s) }
}

func up(figures ...Figure) map[Figure]int { return shift(1, figures) }

func down(figures ...Figure) map[Figure]int { return shift(-1, figures) }

func shift(by int, figures []Figure) map[Figure]int {
	m := map[Figure]int{}
	for _, f := range figures {
		m[f] = by
	}
	return m
}

// join puts shifts together.
func join(all ...map[Figure]int) map[Figure]int {
	m := map[Figure]int{}
	for _, one := range all {
		for f, by := range one {
			m[f] = by
		}
	}
	return m
}

// usually is the rarity of rows that nearly always move figures between classes.
func byClass(condition string) func(a, b stance) string {
	return func(a, b stance) string {
		if a.class == b.class && a.class != "" {
			return condition
		}
		return ""
	}
}

func always(condition string) func(a, b stance) string {
	return func(stance, stance) string { return condition }
}

// harnessed says that a file is of one of the four clients that the tables are
// about.
func harnessed(s side) bool { return of(VLLM, VLLMRust, SGLang, SGLangRust)(s) }

func bothLoad(a, b side) bool { return loads(a) && loads(b) }

// actsBackend is the backend that decides what the client asks the server.
func (f *File) actsBackend() string {
	if f.Acts != "" {
		return f.ActsBackend
	}
	return f.Backend
}

func bothHarnessed(a, b side) bool { return harnessed(a) && harnessed(b) }

// finite says that requests were sent at a rate.
func finite(s side) bool {
	r := s.Load.Rate
	return r != nil && *r > 0 && *r < 1e300 && s.Load.Ramp == ""
}

func bothFinite(a, b side) bool { return finite(a) && finite(b) }

func bothChat(a, b side) bool {
	return a.WireKnown && b.WireKnown && a.Wire == serving.Chat && b.Wire == serving.Chat
}

func native(s side) bool { return s.WireKnown && s.Wire == serving.Native }

// openAI says that SGLang's client spoke one of OpenAI's endpoints.
func openAI(s side) bool { return s.WireKnown && s.Wire != serving.Native }

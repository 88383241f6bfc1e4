package audit

import (
	"fmt"
	"strings"
)

// Fact is one thing that a file tells, or does not.
type Fact struct {
	Name, Value string
	Told        bool
}

// unknownValue stands for what a file does not tell.
const unknownValue = "not told"

// Facts lists what a file tells of its run: what the file says itself, and what
// follows from whose program wrote it.
func Facts(f *File) []Fact {
	var all []Fact
	add := func(name, value string) {
		if value == "" {
			all = append(all, Fact{name, unknownValue, false})
			return
		}
		all = append(all, Fact{name, value, true})
	}
	add("kind", f.Form)
	add("release", f.release())
	if f.Kind != Serving {
		for _, t := range f.Traits {
			add(t.Name, t.Value)
		}
		return all
	}
	add("backend", f.backend())
	add("model", f.Work.Model)
	add("data set, lengths", dataset(at(f)).does)
	for _, x := range []struct{ name, id string }{
		{"request rate", "A2"}, {"gaps", "A3"}, {"requests at a time", "A12"}, {"seed", "A14"}, {"connections", "B1"}, {"unit of parsing", "C1"},
		{"clock starts at", "B10"}, {"TTFT at", "C2"}, {"ITL sample", "C3"}, {"E2EL to", "C7"}, {"output tokens", "D1"}, {"input tokens", "D6"},
		{"percentiles", "E1"}, {"failures", "E11"}, {"duration", "E14"}, {"warm-up", "G2"}, {"cache flush", "G3"}, {"prefix cache", "G5"},
		{"ignore_eos", "G6"}, {"temperature", "G7"}} {
		all = append(all, f.fact(x.name, x.id))
	}
	return all
}

// fact is a file's stance in a row.
func (f *File) fact(name, id string) Fact {
	switch {
	case id == "B10" && (harnessed(at(f)) || f.Harness == Lathe):
		return Fact{name, "the send, before encoding and connecting", true}
	case id == "A3" && !finite(at(f)):
		return Fact{name, unknownValue, false}
	}
	for _, r := range rows() {
		if r.id != id {
			continue
		}
		if r.never != "" {
			break
		}
		st := r.stanceOf(f)
		if st.unknown == "" && st.does != "" {
			return Fact{name, st.does, true}
		}
		if st.unknown != "" && !strings.HasPrefix(st.unknown, "the tables") {
			return Fact{name, st.unknown, false}
		}
	}
	return Fact{name, unknownValue, false}
}

func (f *File) release() string {
	var parts []string
	for _, v := range f.Versions {
		parts = append(parts, string(v))
	}
	fits := ""
	if len(parts) > 0 {
		fits = "fits " + strings.Join(parts, " and ")
	}
	switch {
	case f.Release != "" && fits != "":
		return f.Release + ", " + fits
	case f.Release != "":
		return f.Release
	}
	return fits
}

func (f *File) backend() string {
	if f.Backend == "" {
		return ""
	}
	if !f.WireKnown {
		return f.Backend
	}
	return fmt.Sprintf("%s (%s)", f.Backend, wireName(f))
}

func wireName(f *File) string {
	return []string{"completions", "chat", "native generate", "responses"}[f.Wire]
}

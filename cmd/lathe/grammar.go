package main

import (
	"fmt"
	"sort"
	"strings"
)

// grammar is what one command knows about names: its own flags and their aliases, the flags of the
// Python harness that it stands in for, and the engine flags of the other harness.
//
// A prefix is looked up among the flags of the harness script first (one_batch's documentation says
// --batch, which SGLang's --batch-notify-size has since made ambiguous), then in the whole harness,
// and last among ours: so no flag of ours makes a prefix ambiguous that is unique in Python.
type grammar struct {
	command string               // as printed: "lathe bench one-batch"
	own     map[string]*flagDecl // flags of ours and of the harness, by exact name
	names   []string             // keys of own, sorted
	other   map[string]*flagDecl // exact names of the other harness's engine flags
}

func newGrammar(command string) *grammar {
	return &grammar{command: command, own: map[string]*flagDecl{}, other: map[string]*flagDecl{}}
}

// add declares a name; the first declaration of a name wins, later ones may mark it as the
// harness's.
func (g *grammar) add(d *flagDecl) {
	if known, ok := g.own[d.name]; ok {
		known.rank = max(known.rank, d.rank)
		if known.entry == nil {
			known.entry = d.entry
		}
		return
	}
	g.own[d.name] = d
	at := sort.SearchStrings(g.names, d.name)
	g.names = append(g.names, "")
	copy(g.names[at+1:], g.names[at:])
	g.names[at] = d.name
}

func (g *grammar) addOther(d *flagDecl) {
	if _, ok := g.other[d.name]; !ok {
		g.other[d.name] = d
	}
}

// resolve finds the flag that a written name (no "=value") stands for. negated is true for --no-X.
func (g *grammar) resolve(written string) (d *flagDecl, negated bool, err error) {
	name := strings.ReplaceAll(written, "_", "-")
	if d, err := g.lookup(name); d != nil || err != nil {
		return d, false, err
	}
	if positive, ok := strings.CutPrefix(name, "--no-"); ok {
		d, err := g.lookup("--" + positive)
		if err != nil {
			return nil, false, err
		}
		if d != nil && d.kind != switchFlag {
			return nil, false, usageError("", "%s: %s takes a value and cannot be negated", written, d.name)
		}
		if d != nil {
			return d, true, nil
		}
	}
	return nil, false, g.unknown(written, name)
}

// lookup returns nil, nil for a name that nobody has.
func (g *grammar) lookup(name string) (*flagDecl, error) {
	if d, ok := g.own[name]; ok {
		return d, nil
	}
	long := strings.HasPrefix(name, "--") && len(name) > 2
	var found [scriptFlag + 1][]*flagDecl
	if long {
		found = g.withPrefix(name)
	}
	script, harness := found[scriptFlag], append(found[scriptFlag], found[engineFlag]...)
	all := append(harness, found[onlyOurs]...)
	switch {
	case len(script) == 1:
		return script[0], nil
	case len(harness) == 1:
		return harness[0], nil
	case g.other[name] != nil:
		return g.other[name], nil
	case len(all) == 1:
		return all[0], nil
	case len(all) > 1:
		return nil, usageError("", "%s: ambiguous: %s", name, candidates(all))
	}
	// vLLM's dotted keys: --compilation-config.mode 3
	if base, _, dotted := strings.Cut(name, "."); dotted && long {
		if d := g.exact(base); d != nil && d.entry != nil && d.target == "" {
			return d, nil
		}
	}
	return nil, nil
}

func (g *grammar) exact(name string) *flagDecl {
	if d, ok := g.own[name]; ok {
		return d
	}
	return g.other[name]
}

// withPrefix returns the flags that start with prefix, by rank. Two names of one flag count once.
func (g *grammar) withPrefix(prefix string) (found [scriptFlag + 1][]*flagDecl) {
	seen := map[any]bool{}
	for i := sort.SearchStrings(g.names, prefix); i < len(g.names) && strings.HasPrefix(g.names[i], prefix); i++ {
		d := g.own[g.names[i]]
		if seen[d.identity()] {
			continue
		}
		seen[d.identity()] = true
		found[d.rank] = append(found[d.rank], d)
	}
	return found
}

// identity is equal for two names of one flag.
func (d *flagDecl) identity() any {
	if d.target != "" {
		return d.target
	}
	return d.entry
}

// candidates names the first few.
func candidates(ds []*flagDecl) string {
	names := make([]string, 0, len(ds))
	for _, d := range ds {
		names = append(names, d.name)
	}
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// unknown is the error for a name that nobody has, with the nearest name that would be accepted.
func (g *grammar) unknown(written, name string) error {
	var ours, theirs []string
	for _, n := range g.names {
		switch d := g.own[n]; {
		case d.target != "":
			ours = append(ours, n)
		case d.entry == nil || d.entry.disposition != refused:
			theirs = append(theirs, n)
		}
	}
	hint := g.command + " --help lists the flags"
	if now := renamed(name); g.own[now] != nil && strings.HasPrefix(g.command, "lathe bench serve") {
		hint = "its name is now " + now
	} else if near, ok := nearest(name, ours); ok {
		hint = "did you mean " + near + "?"
	} else if near, ok := nearest(name, theirs); ok {
		hint = "did you mean " + near + "?"
	}
	return usageError(hint, "unknown flag: %s: %s has no such flag", written, g.command)
}

// renamed is today's name of a flag that vLLM's client had, "" for none: many published command lines
// are older than the states that --harness-version names.
func renamed(name string) string {
	switch name {
	case "--endpoint-type":
		return "--backend"
	case "--custom-skip-chat-template":
		return "--skip-chat-template"
	}
	return ""
}

package main

import (
	"slices"
	"strconv"
	"strings"
)

// The argv pass. It runs before pflag and turns the habits of the Python harnesses into what pflag
// reads: every flag becomes --name=value, one a value, under our own name. It is a pure function of
// the arguments and of the grammar that the command declares.
//
//   - A list flag takes the tokens up to the next one that starts with "-" and is no number; commas
//     and repeating the flag extend the list too.
//   - A unique prefix stands for its flag, "_" for "-", --no-X for --X=false.
//   - Positionals stand before the flags or after "--".

// flagKind says what a flag takes from the command line.
type flagKind int

const (
	switchFlag   flagKind = iota // nothing, or =true / =false
	valueFlag                    // one value
	listFlag                     // values up to the next flag, split at commas
	repeatFlag                   // values up to the next flag, commas kept
	optionalFlag                 // one value or nothing
)

// flagRank orders the names that a prefix is looked up in.
type flagRank int

const (
	onlyOurs   flagRank = iota // no Python harness has it
	engineFlag                 // an engine or server flag of the Python harness
	scriptFlag                 // a flag of the harness script itself, such as one_batch's --batch-size
)

// flagDecl is one name that a flag may be written as.
type flagDecl struct {
	name   string       // with its dashes
	kind   flagKind     // as the harness or we declare it
	target string       // our flag that it stands for, with its dashes; "" where there is none
	entry  *foreignFlag // row of the harnesses' table; nil for a flag that only we have
	rank   flagRank     // whose name it is
}

// flagUse is one occurrence after the pass.
type flagUse struct {
	written string // as the user wrote the name
	decl    *flagDecl
	values  []string
}

// parsedArgs is the command line of one command, understood.
type parsedArgs struct {
	positionals []string
	flags       []flagUse // flags of ours, in order
	foreign     []flagUse // harness flags that are no flag of ours, in order
	dashDash    bool
	rest        []string // after "--"
}

// args is the command line in the form that pflag takes: positionals, --name=value, "--", rest.
func (p parsedArgs) args() []string {
	out := append([]string{}, p.positionals...)
	for _, use := range p.flags {
		for _, v := range use.values {
			out = append(out, use.decl.target+"="+v)
		}
	}
	if p.dashDash {
		out = append(append(out, "--"), p.rest...)
	}
	return out
}

// last is the value that counts of one of our flags, unset where it is not given.
func (p parsedArgs) last(target, unset string) string {
	for _, use := range p.flags {
		if use.decl.target == target && len(use.values) > 0 {
			unset = use.values[len(use.values)-1]
		}
	}
	return unset
}

// runsKernel says whether the command will run a file of the user's as an operator.
func (p parsedArgs) runsKernel() bool {
	if p.last("--help", "false") != "false" || p.last("--dry-run", "false") != "false" {
		return false
	}
	for _, use := range p.flags {
		if !slices.Contains([]string{"--kernel", "--a-kernel", "--b-kernel"}, use.decl.target) {
			continue
		}
		for _, v := range use.values {
			if _, file, ok := strings.Cut(v, "="); ok && file != "" && file != builtinKernel {
				return true
			}
		}
	}
	return false
}

// normaliseArgs reads the arguments that follow the command's words.
func normaliseArgs(args []string, g *grammar) (parsedArgs, error) {
	var p parsedArgs
	var last flagUse
	i := 0
	for i < len(args) && !startsFlag(args[i]) {
		if len(args[i]) > 1 && args[i][0] == '-' { // a number: pflag would take it for letters
			return p, usageError("a positional that starts with a dash stands after --", "unexpected argument: %q: there are no one-letter flags", args[i])
		}
		p.positionals = append(p.positionals, args[i])
		i++
	}
	for i < len(args) {
		token := args[i]
		if token == "--" {
			p.dashDash, p.rest = true, append([]string{}, args[i+1:]...)
			break
		}
		if !startsFlag(token) {
			return p, strayArgument(token, last)
		}
		use, used, err := readFlag(args[i:], g)
		if err != nil {
			return p, err
		}
		last = use
		if use.decl.target != "" {
			p.flags = append(p.flags, use)
		} else {
			p.foreign = append(p.foreign, use)
		}
		i += used
	}
	return p, nil
}

// strayArgument explains a value too many, which a list flag of another command would have taken.
func strayArgument(token string, before flagUse) error {
	hint := "positionals stand before the flags or after --"
	switch before.decl.kind {
	case switchFlag:
		hint = before.decl.name + " takes no value; " + hint
	case valueFlag:
		hint = before.decl.name + " takes one value; " + hint
	}
	return usageError(hint, "unexpected argument: %q", token)
}

// readFlag reads the flag at args[0] with its values; used counts the tokens it took.
func readFlag(args []string, g *grammar) (use flagUse, used int, err error) {
	written, inline, hasInline := strings.Cut(args[0], "=")
	decl, negated, err := g.resolve(written)
	if err != nil {
		return flagUse{}, 0, err
	}
	use = flagUse{written: written, decl: decl}
	if negated {
		if hasInline {
			return flagUse{}, 0, usageError("", "%s: a negated flag takes no value: got %q", written, inline)
		}
		use.values = []string{"false"}
		return use, 1, nil
	}
	if hasInline {
		use.values = split(inline, decl.kind)
		return use, 1, nil
	}
	switch decl.kind {
	case switchFlag:
		use.values, used = []string{"true"}, 1
	case valueFlag, optionalFlag:
		use.values, used = oneValue(args, decl.kind)
	default:
		use.values, used = listValues(args, decl.kind)
	}
	if use.values == nil {
		return flagUse{}, 0, missingValue(written, decl, args)
	}
	return use, used, nil
}

// missingValue names the flag, and the way to pass a value that looks like a flag.
func missingValue(written string, decl *flagDecl, args []string) error {
	hint := ""
	if len(args) > 1 && args[1] != "--" {
		hint = "a value that starts with a dash is written " + decl.name + "=" + args[1]
	}
	return usageError(hint, "%s: needs a value", written)
}

func oneValue(args []string, kind flagKind) (values []string, used int) {
	if len(args) > 1 && !startsFlag(args[1]) {
		return []string{args[1]}, 2
	}
	if kind == optionalFlag {
		return []string{"true"}, 1
	}
	return nil, 0
}

func listValues(args []string, kind flagKind) (values []string, used int) {
	used = 1
	for used < len(args) && !startsFlag(args[used]) {
		values = append(values, split(args[used], kind)...)
		used++
	}
	return values, used
}

// split cuts a list token at its commas. An empty element is kept, so that the flag's own check
// names it.
func split(token string, kind flagKind) []string {
	if kind != listFlag || !strings.Contains(token, ",") {
		return []string{token}
	}
	return strings.Split(strings.TrimSuffix(token, ","), ",")
}

// startsFlag reports whether a token ends a value list: it starts with "-" and is no number. A lone
// "-" is a value (standard input).
func startsFlag(token string) bool {
	if len(token) < 2 || token[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(token, 64)
	return err != nil && !isRangeError(err)
}

func isRangeError(err error) bool {
	number, ok := err.(*strconv.NumError)
	return ok && number.Err == strconv.ErrRange
}

package tokenizer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// In Jinja, ~ joins texts, and None becomes "None" while an undefined variable becomes nothing. The library has one nil
// for both and writes nothing. So before parsing, every operand of ~ gets a filter that tells the two apart, with what
// it needs to look the operand up again:
//
//	none ~ x           none|lathe_concat ~ x|lathe_concat('x')
//	a.b['c'] ~ f(x)    a.b['c']|lathe_concat(a.b, 'c') ~ f(x)|lathe_concat
const concatFilter = "lathe_concat"

// concatText is the filter. Without arguments a nil is None; with one it is the variable of that name, with two the
// item of a container, and what does not exist is undefined.
func concatText(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if in.IsError() || !in.IsNil() {
		return in
	}
	defined := true
	switch args := params.Args; len(args) {
	case 1:
		defined = e.Environment.Context.Has(args[0].String())
	case 2:
		_, item := args[0].GetItem(args[1].Interface())
		_, attribute := args[0].GetAttribute(args[1].String())
		defined = item || attribute
	}
	if defined {
		return exec.AsValue("None")
	}
	return exec.AsValue("")
}

// insertion is text to put into the source at a place.
type insertion struct {
	at   int
	text string
}

// markConcat rewrites source as described above.
func markConcat(source string, settings *config.Config) (string, error) {
	if !strings.Contains(source, "~") {
		return source, nil
	}
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n") // as the lexer does: offsets stay
	list, err := lex(source, settings)
	if err != nil {
		return "", err
	}
	var marks []insertion
	for i, t := range list {
		if t.Type != tokens.Tilde {
			continue
		}
		marks = append(marks, mark(source, list, operandStart(list, i-1), i))
		end := operandEnd(list, i+1)
		if end < len(list) && list[end].Type != tokens.Tilde { // the next ~ marks it as its left operand
			marks = append(marks, mark(source, list, i+1, end))
		}
	}
	slices.SortStableFunc(marks, func(a, b insertion) int { return a.at - b.at })
	var out strings.Builder
	at := 0
	for _, m := range marks {
		out.WriteString(source[at:m.at])
		out.WriteString(m.text)
		at = m.at
	}
	out.WriteString(source[at:])
	return out.String(), nil
}

// lex is the tokens of source without white space.
func lex(source string, settings *config.Config) (list []*tokens.Token, err error) {
	defer recovered(&err)
	stream := tokens.LexAll(source, settings)
	for ; !stream.End(); stream.Next() {
		t := stream.Current()
		if t.Type == tokens.Error {
			return nil, errors.New(t.Val)
		}
		if t.Type == tokens.EOF {
			break
		}
		if t.Type != tokens.Whitespace {
			list = append(list, t)
		}
	}
	return list, nil
}

// mark makes the filter for the operand list[from:to], to be inserted right behind it.
func mark(source string, list []*tokens.Token, from, to int) insertion {
	last := list[max(from, to-1)]
	m := insertion{at: tokenEnd(source, last), text: "|" + concatFilter}
	if to <= from {
		return insertion{at: m.at} // no operand: the parser will say so
	}
	text := func(i, j int) string { return source[list[i].Pos:tokenEnd(source, list[j-1])] }
	switch key := lastAccess(list, from, to); {
	case to == from+1 && last.Type == tokens.Name && !isNone(last.Val):
		m.text += fmt.Sprintf("(%q)", last.Val)
	case key > from && list[key].Type == tokens.Dot:
		m.text += fmt.Sprintf("(%s, %q)", text(from, key), last.Val)
	case key > from:
		m.text += fmt.Sprintf("(%s, %s)", text(from, key), text(key+1, to-1))
	}
	return m
}

// tokenEnd is where t ends in source. The value of a string token is not its spelling: it ends at the first quote of its
// kind that no backslash precedes.
func tokenEnd(source string, t *tokens.Token) int {
	if t.Type != tokens.String {
		return t.Pos + len(t.Val)
	}
	for i := t.Pos + 1; i < len(source); i++ {
		if source[i] == source[t.Pos] && source[i-1] != '\\' {
			return i + 1
		}
	}
	return len(source)
}

func isNone(name string) bool { return name == "none" || name == "None" }

// lastAccess finds the "." or "[" of the last access of list[from:to], if all of it is a chain of accesses that begins
// with a name; else -1.
func lastAccess(list []*tokens.Token, from, to int) int {
	if list[from].Type != tokens.Name {
		return -1
	}
	last := -1
	for i := from + 1; i < to; {
		switch list[i].Type {
		case tokens.Dot:
			if i+1 >= to || list[i+1].Type != tokens.Name {
				return -1
			}
			last, i = i, i+2
		case tokens.LeftBracket:
			end, slice := i+1, false
			for depth := 1; end < to && depth > 0; end++ {
				depth += nesting(list[end].Type)
				slice = slice || depth == 1 && list[end].Type == tokens.Colon
			}
			if slice || end == i+2 {
				return -1
			}
			last, i = i, end
		default:
			return -1
		}
	}
	return last
}

func nesting(t tokens.Type) int {
	switch t {
	case tokens.LeftBrace, tokens.LeftBracket, tokens.LeftParenthesis:
		return 1
	case tokens.RightBrace, tokens.RightBracket, tokens.RightParenthesis:
		return -1
	}
	return 0
}

// operandStart goes left from i, the last token of an operand, to its first.
func operandStart(list []*tokens.Token, i int) int {
	depth := 0
	for ; i >= 0; i-- {
		if depth -= nesting(list[i].Type); depth < 0 || depth == 0 && nesting(list[i].Type) == 0 && bounds(list[i]) {
			break
		}
	}
	return i + 1
}

// operandEnd goes right from i, the first token of an operand, to the first behind it.
func operandEnd(list []*tokens.Token, i int) int {
	depth := 0
	for ; i < len(list); i++ {
		if depth += nesting(list[i].Type); depth < 0 || depth == 0 && bounds(list[i]) {
			break
		}
	}
	return i
}

// bounds reports whether t ends an operand of ~: all that binds more loosely, and the arithmetic that binds more
// tightly, whose result is never None.
func bounds(t *tokens.Token) bool {
	switch t.Type {
	case tokens.Dot, tokens.Pipe, tokens.String, tokens.Integer, tokens.Float,
		tokens.RightBrace, tokens.RightBracket, tokens.RightParenthesis:
		return false
	case tokens.Name:
		return slices.Contains([]string{"if", "else", "elif", "and", "or", "not", "in", "is", "set", "for", "do", "print", "recursive"}, t.Val)
	}
	return true
}

package operator

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed template
var templates embed.FS

// Template is a starting file for an operator, a name of List: plain C that compiles with the command
// in its head and passes the check. include takes the place of the folder of lathe/operator.h there.
func Template(op, include string) (string, error) {
	name := symbolOf(op)
	file := name
	switch name {
	case "o_add", "down_add":
		file = "residual_add"
	}
	text, err := templates.ReadFile("template/" + file + ".c.in")
	if err != nil {
		return "", fmt.Errorf("template of operator %q: no such operator: there are %s", op, strings.Join(Names(), ", "))
	}
	out := string(text)
	for _, part := range []string{"convert", "norm"} {
		body, err := templates.ReadFile("template/" + part + ".c.in")
		if err != nil {
			return "", fmt.Errorf("template of operator %q: %w", op, err)
		}
		out = strings.ReplaceAll(out, "@"+part+"\n", string(body))
	}
	out = strings.ReplaceAll(out, "@op", name)
	if op != name { // a role
		out = strings.ReplaceAll(out, "kernel check "+name, "kernel check "+op)
	}
	return strings.ReplaceAll(out, "INCLUDE", include), nil
}

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// At package level stand only values that nobody can change, or that nobody does: error sentinels,
// compiled regular expressions, embedded files, arrays of constants, the linker's version, and "_",
// which asserts something at compile time. A slice or a map is none of these whatever is done with
// it, since whoever is handed it can write to it: a function returns it instead. Nothing assigns to
// the others, takes their address or slices them.

// packageState lists what breaks that rule in the files of one package.
func packageState(set *token.FileSet, files []*ast.File) []string {
	var bad []string
	vars := map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.ValueSpec)
				for i, name := range spec.Names {
					vars[name.Name] = true
					if name.Name != "_" && !constantLike(name.Name, spec, i, embeds(g.Doc)) {
						bad = append(bad, fmt.Sprintf("%s: var %s: pass it, or make it a constant or a function", set.Position(name.Pos()), name.Name))
					}
				}
			}
		}
	}
	for _, f := range files {
		scope := names{vars, f.Scope}
		ast.Inspect(f, func(n ast.Node) bool {
			for _, target := range written(n) {
				if name := scope.root(target); name != "" {
					bad = append(bad, fmt.Sprintf("%s: %s is written to", set.Position(target.Pos()), name))
				}
			}
			return true
		})
	}
	return bad
}

// embeds says whether a declaration has files embedded.
func embeds(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// constantLike says whether a variable is of the kinds that may stand at package level.
func constantLike(name string, spec *ast.ValueSpec, i int, embedded bool) bool {
	if spec.Type != nil && len(spec.Values) == 0 {
		id, isName := spec.Type.(*ast.Ident)
		return embedded && (nameOf(spec.Type) == "embed.FS" || isName && id.Name == "string")
	}
	if spec.Type != nil || len(spec.Values) != len(spec.Names) {
		return false
	}
	switch v := spec.Values[i].(type) {
	case *ast.CallExpr:
		return slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile"}, nameOf(v.Fun))
	case *ast.CompositeLit:
		a, ok := v.Type.(*ast.ArrayType)
		if !ok || a.Len == nil {
			return false
		}
		element, ok := a.Elt.(*ast.Ident)
		return ok && slices.Contains([]string{"string", "int", "int32", "int64", "uint32", "uint64", "float64", "byte", "rune", "bool"}, element.Name)
	case *ast.BasicLit:
		return name == "version" // -X of the linker sets a variable only
	}
	return false
}

func nameOf(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if id, ok := s.X.(*ast.Ident); ok {
		return id.Name + "." + s.Sel.Name
	}
	return ""
}

// written lists the expressions that a statement writes to, or lets others write to.
func written(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value} // nil is part of nothing
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.SliceExpr:
		return lent(n.X)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return lent(n.X)
		}
	}
	return nil
}

// lent is e, unless it is of another package: os.Args[1:] is that package's business.
func lent(e ast.Expr) []ast.Expr {
	if nameOf(e) != "" {
		return nil
	}
	return []ast.Expr{e}
}

// names are what an identifier of one file may mean.
type names struct {
	vars map[string]bool // of the package
	file *ast.Scope
}

// root names the package's variable that an expression is part of, or the one of another package;
// "" for a local of whatever name.
func (n names) root(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return n.root(x.X)
	case *ast.IndexExpr:
		return n.root(x.X)
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok && id.Obj == nil && !n.vars[id.Name] {
			return nameOf(x)
		}
		return n.root(x.X)
	case *ast.Ident:
		if n.vars[x.Name] && x.Name != "_" && (x.Obj == nil || n.file.Lookup(x.Name) == x.Obj) {
			return x.Name
		}
	}
	return ""
}

func TestPackageStateCatches(t *testing.T) {
	for _, c := range []struct {
		source string
		ok     bool
	}{
		{`var ErrX = errors.New("x")`, true},
		{`var ErrX = errors.New("x"); func f() { ErrX = nil }`, false},
		{`var ErrX = errors.New("x"); func f() { ErrX := 1; ErrX = 2; _ = ErrX }`, true},
		{`var x = regexp.MustCompile("x")`, true},
		{`var _ I = T{}`, true},
		{"//go:embed a\nvar files embed.FS", true},
		{"//go:embed a\nvar page string", true},
		{"//go:embed a\nvar page []byte", false},
		{`var files embed.FS`, false},
		{`var page string`, false},
		{`var version = "devel"`, true},
		{`var other = "devel"`, false},
		{`var n int`, false},
		{`var n = 1`, false},
		{`var words = []string{"a"}`, false},
		{`var words = map[string]int{"a": 1}`, false},
		{`var words = [...]string{"a"}`, true},
		{`var words = [...]string{"a"}; func f() { words[0] = "b" }`, false},
		{`var words = [...]string{"a"}; func f() []string { return words[:] }`, false},
		{`var words = [...]string{"a"}; func f() *string { return &words[0] }`, false},
		{`var counts = [...]int{1}; func f() { counts[0]++ }`, false},
		{`var words = [...][]string{{"a"}}`, false},
		{`var pool sync.Pool`, false},
		{`var client = &http.Client{}`, false},
		{`func f() { os.Args = nil }`, false},
		{`func f() { http.DefaultClient.Timeout = 1 }`, false},
		{`func f() []string { return os.Args[1:] }`, true},
		{`func f(s T) { s.Field = 1; for s.Field = range 3 {} }`, true},
	} {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, "x.go", "package p\n"+c.source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if bad := packageState(set, []*ast.File{f}); (len(bad) == 0) != c.ok {
			t.Errorf("%s: %q", c.source, bad)
		}
	}
}

func TestNoPackageVariables(t *testing.T) {
	root := repoRoot(t)
	folders := map[string][]string{}
	for _, f := range tracked(t, root, ".go") {
		if !strings.HasSuffix(f, "_test.go") {
			folders[filepath.Dir(f)] = append(folders[filepath.Dir(f)], f)
		}
	}
	for _, names := range folders {
		set := token.NewFileSet()
		var files []*ast.File
		for _, name := range names {
			f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		for _, v := range packageState(set, files) {
			t.Error(rel(root, v))
		}
	}
}

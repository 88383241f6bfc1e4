package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module       = "lathe"
	maxFileLines = 400
	maxFuncLines = 60
)

// repoRoot is the folder of go.mod above this test.
func repoRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// importTable reads "Who may import whom" of ARCHITECTURE.md: package -> what
// it may import. "everything" is the single entry "*".
func importTable(doc string) map[string][]string {
	table := map[string][]string{}
	row := regexp.MustCompile(`^\| ([a-z0-9_/, -]+) \| (.+) \|$`)
	in := false
	for line := range strings.SplitSeq(doc, "\n") {
		if strings.HasPrefix(line, "## ") {
			in = line == "## Who may import whom"
		}
		m := row.FindStringSubmatch(line)
		if !in || m == nil || m[1] == "package" {
			continue
		}
		var may []string
		switch {
		case strings.HasPrefix(m[2], "everything"):
			may = []string{"*"}
		case m[2] != "nothing":
			may = splitComma(m[2])
		}
		for _, p := range splitComma(m[1]) {
			table[p] = may
		}
	}
	return table
}

func splitComma(s string) []string {
	var out []string
	for f := range strings.SplitSeq(s, ",") {
		out = append(out, strings.TrimSpace(f))
	}
	return out
}

type listed struct {
	ImportPath string
	Dir        string
	Imports    []string
	GoFiles    []string
	CgoFiles   []string
}

// goList lists our packages under the given build tags.
func goList(t *testing.T, root, tags string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles,CgoFiles", "-tags", tags, "./...")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for dec.More() {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// violations lists the import edges that the table does not allow.
func violations(table map[string][]string, pkgs []listed) []string {
	var bad []string
	for _, p := range pkgs {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		may, known := table[name]
		if !known {
			bad = append(bad, name+" is not in the table")
			continue
		}
		for _, imp := range p.Imports {
			dep, ours := strings.CutPrefix(imp, module+"/")
			if ours && !slices.Contains(may, "*") && !slices.Contains(may, dep) {
				bad = append(bad, name+" imports "+dep)
			}
			if dep == "cmd/lathe" {
				bad = append(bad, name+" imports cmd/lathe")
			}
			if imp == "C" && !slices.Contains([]string{"engine/native", "engine/tokenizer"}, name) {
				bad = append(bad, name+` imports "C"`)
			}
		}
	}
	return bad
}

func TestImportTable(t *testing.T) {
	root := repoRoot(t)
	doc, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := importTable(string(doc))
	if len(table) < 25 {
		t.Fatalf("read %d packages from ARCHITECTURE.md, expected the whole table", len(table))
	}
	for _, tags := range []string{"", "notokenizer", "cuda"} {
		for _, v := range violations(table, goList(t, root, tags)) {
			t.Errorf("tags %q: %s: change the code, or the table of ARCHITECTURE.md with the reason", tags, v)
		}
	}
}

func TestImportTableCatchesViolations(t *testing.T) {
	table := importTable("## Who may import whom\n| package | may import (ours) |\n|---|---|\n| engine/native, bench | nothing |\n| engine | engine/native |\n")
	got := violations(table, []listed{
		{ImportPath: "lathe/engine", Imports: []string{"lathe/engine/native", "fmt"}},
		{ImportPath: "lathe/bench", Imports: []string{"lathe/engine", "C"}},
		{ImportPath: "lathe/new"},
	})
	want := []string{"bench imports engine", `bench imports "C"`, "new is not in the table"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// tracked lists the source files under the root that git would keep.
func tracked(t *testing.T, root string, exts ...string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "bin", "build", "testdata", "lib", "prefix"}, d.Name()) {
			return filepath.SkipDir
		}
		if slices.Contains(exts, filepath.Ext(path)) {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFileLength(t *testing.T) {
	root := repoRoot(t)
	for _, f := range tracked(t, root, ".go", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".py", ".sh") {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(data), "\n"); n > maxFileLines {
			t.Errorf("%s has %d lines, over %d: split it by what it does", rel(root, f), n, maxFileLines)
		}
	}
}

func TestFunctionLength(t *testing.T) {
	root := repoRoot(t)
	for _, f := range tracked(t, root, ".go") {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, f, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1; n > maxFuncLines {
				t.Errorf("%s: %s has %d lines, over %d", rel(root, f), fn.Name.Name, n, maxFuncLines)
			}
		}
	}
}

func rel(root, path string) string {
	if r, err := filepath.Rel(root, path); err == nil {
		return r
	}
	return path
}

func TestForbiddenPackageNames(t *testing.T) {
	bad := []string{"utils", "util", "common", "helpers", "helper", "base", "core", "types", "manager", "managers", "factory"}
	for _, p := range goList(t, repoRoot(t), "") {
		if name := p.ImportPath[strings.LastIndex(p.ImportPath, "/")+1:]; slices.Contains(bad, name) {
			t.Errorf("package %s: name the thing that it owns", p.ImportPath)
		}
	}
}

// TestNoPackageState keeps init functions and environment reads where the
// architecture allows them: nowhere, and cmd.
func TestNoPackageState(t *testing.T) {
	root := repoRoot(t)
	for _, f := range tracked(t, root, ".go") {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, f, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		inCmd := strings.HasPrefix(rel(root, f), "cmd"+string(filepath.Separator))
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: func init", rel(root, f))
				}
			case *ast.SelectorExpr:
				id, ok := n.X.(*ast.Ident)
				if ok && id.Name == "os" && (n.Sel.Name == "Getenv" || n.Sel.Name == "LookupEnv" || n.Sel.Name == "Environ") && !inCmd {
					t.Errorf("%s: os.%s outside cmd: take the value as an argument", rel(root, f), n.Sel.Name)
				}
			}
			return true
		})
	}
}

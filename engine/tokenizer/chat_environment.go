package tokenizer

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

const templateName = "chat template"

// onlyTemplate is a loader that knows one source: a chat template can include nothing, above all no file.
type onlyTemplate string

func (s onlyTemplate) Read(path string) (io.Reader, error) {
	if path != templateName {
		return nil, fmt.Errorf("a chat template cannot load %q", path)
	}
	return strings.NewReader(string(s)), nil
}

func (s onlyTemplate) Resolve(path string) (string, error) { return path, nil }

func (s onlyTemplate) Inherit(string) (loaders.Loader, error) { return s, nil }

// environment is Jinja as transformers sets it up: the library's built-ins, with tojson as Python writes it, dicts
// that keep their order, and the generation block.
func environment() *exec.Environment {
	filters := exec.NewFilterSet(map[string]exec.FilterFunction{}).Update(builtins.Filters).Update(dictFilters())
	blocks := exec.NewControlStructureSet(map[string]parser.ControlStructureParser{}).Update(builtins.ControlStructures).
		Update(exec.NewControlStructureSet(map[string]parser.ControlStructureParser{"generation": parseGeneration}))
	methods := builtins.Methods
	methods.Dict, methods.Str = dictMethods(), textMethods()
	return &exec.Environment{
		Context:           exec.EmptyContext().Update(builtins.GlobalFunctions).Update(builtins.GlobalVariables),
		Filters:           filters,
		Tests:             builtins.Tests,
		ControlStructures: blocks,
		Methods:           methods,
	}
}

// raisedText remembers what a template raised: the engine turns errors into text on their way up.
type raisedText struct {
	mu      sync.Mutex
	message string
	set     bool
}

func (r *raisedText) raise(args *exec.VarArgs) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.set {
		r.message, r.set = args.First().String(), true
	}
	return nil, errors.New(r.message)
}

func (r *raisedText) get() (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.message, r.set
}

// generation is transformers' block around the assistant's words: in a prompt it shows its body.
type generation struct {
	at   *tokens.Token
	body *nodes.Wrapper
}

func (g *generation) Position() *tokens.Token { return g.at }
func (g *generation) String() string          { return "generation" }

func (g *generation) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	return r.ExecuteWrapper(g.body)
}

func parseGeneration(p, args *parser.Parser) (nodes.ControlStructure, error) {
	g := &generation{at: p.Current()}
	if !args.End() {
		return nil, args.Error("generation takes no arguments", args.Current())
	}
	body, end, err := p.WrapUntil("endgeneration")
	if err != nil {
		return nil, err
	}
	if !end.End() {
		return nil, end.Error("endgeneration takes no arguments", end.Current())
	}
	g.body = body
	return g, nil
}

package tokenizer

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// dictFilters are the filters that the library lacks or does otherwise than Python: it has no order of keys.
func dictFilters() *exec.FilterSet {
	return exec.NewFilterSet(map[string]exec.FilterFunction{
		"tojson":     toJSON,
		concatFilter: concatText,
		"items": func(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
			switch {
			case in.IsError():
				return in
			case !in.IsNil() && !in.IsDict():
				return exec.AsValue(errors.New("items needs a mapping"))
			}
			return exec.AsValue(pairs(in))
		},
		"dictsort": dictSort,
	})
}

// dictSort is dictsort(case_sensitive=false, by="key", reverse=false).
func dictSort(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	if !in.IsDict() {
		return exec.AsValue(errors.New("dictsort needs a mapping"))
	}
	arg := func(i int, name string) *exec.Value {
		if i < len(params.Args) {
			return params.Args[i]
		}
		return params.GetKeywordArgument(name, nil)
	}
	caseSensitive, by, reverse := arg(0, "case_sensitive").IsTrue(), 0, arg(2, "reverse").IsTrue()
	if arg(1, "by").String() == "value" {
		by = 1
	}
	list := pairs(in)
	slices.SortStableFunc(list, func(x, y any) int {
		a, b := x.([]any)[by].(*exec.Value), y.([]any)[by].(*exec.Value)
		order := 0
		switch {
		case a.IsNumber() && b.IsNumber():
			order = cmp.Compare(a.Float(), b.Float())
		case caseSensitive:
			order = strings.Compare(a.String(), b.String())
		default:
			order = strings.Compare(strings.ToLower(a.String()), strings.ToLower(b.String()))
		}
		if reverse {
			return -order
		}
		return order
	})
	return exec.AsValue(list)
}

// pairs lists [key, value] of a dict in its order.
func pairs(dict *exec.Value) []any {
	return eachPair(dict, func(k, v *exec.Value) any { return []any{k, v} })
}

func eachPair(dict *exec.Value, pick func(key, value *exec.Value) any) []any {
	list := []any{}
	for _, key := range dict.Keys() {
		value, _ := dict.GetItem(key.Interface())
		list = append(list, pick(key, value))
	}
	return list
}

// dictMethods are the library's, save those that lose the order of the keys.
func dictMethods() *exec.MethodSet[map[string]any] {
	methods := map[string]exec.Method[map[string]any]{
		"keys": func(_ map[string]any, self *exec.Value, _ *exec.VarArgs) (any, error) {
			return eachPair(self, func(k, _ *exec.Value) any { return k }), nil
		},
		"values": func(_ map[string]any, self *exec.Value, _ *exec.VarArgs) (any, error) {
			return eachPair(self, func(_, v *exec.Value) any { return v }), nil
		},
		"items": func(_ map[string]any, self *exec.Value, _ *exec.VarArgs) (any, error) { return pairs(self), nil },
		"get": func(_ map[string]any, self *exec.Value, args *exec.VarArgs) (any, error) {
			if len(args.Args) < 1 || len(args.Args) > 2 {
				return nil, exec.ErrInvalidCall(errors.New("get() takes 1 or 2 arguments"))
			}
			if v, ok := self.GetItem(args.Args[0].Interface()); ok {
				return v.Interface(), nil
			}
			if len(args.Args) == 2 {
				return args.Args[1].Interface(), nil
			}
			return nil, nil
		},
	}
	for _, name := range []string{"pop", "setdefault", "update", "copy", "clear"} {
		if method, ok := builtins.Methods.Dict.Get(name); ok {
			methods[name] = method
		}
	}
	return exec.NewMethodSet(methods)
}

// textMethods are the library's, save those that insist on arguments which Python lets one leave out.
func textMethods() *exec.MethodSet[string] {
	methods := map[string]exec.Method[string]{
		"split": splitText, "replace": replaceText,
		"strip":  stripText(strings.TrimFunc, strings.Trim),
		"lstrip": stripText(strings.TrimLeftFunc, strings.TrimLeft),
		"rstrip": stripText(strings.TrimRightFunc, strings.TrimRight),
	}
	for _, name := range strings.Fields(`capitalize capwords casefold center count encode endswith expandtabs find format
		isalnum isalpha isascii isdecimal isdigit islower isnumeric isprintable isspace istitle isupper join ljust lower
		partition removeprefix removesuffix rfind rjust rpartition rsplit splitlines startswith swapcase title upper zfill`) {
		if method, ok := builtins.Methods.Str.Get(name); ok {
			methods[name] = method
		}
	}
	return exec.NewMethodSet(methods)
}

// named puts arguments in order, those given by name after those given by place; nil for one left out.
func named(args *exec.VarArgs, names ...string) []*exec.Value {
	list := make([]*exec.Value, len(names))
	for i, name := range names {
		list[i] = args.KwArgs[name]
		if i < len(args.Args) {
			list[i] = args.Args[i]
		}
	}
	return list
}

// stripText is strip() with blank for white space, strip(set) with cut.
func stripText(blank func(string, func(rune) bool) string, cut func(string, string) string) exec.Method[string] {
	return func(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
		if set := named(args, "chars")[0]; set != nil && !set.IsNil() {
			return cut(self, set.String()), nil
		}
		return blank(self, unicode.IsSpace), nil
	}
}

func replaceText(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
	list := named(args, "old", "new", "count")
	if list[0] == nil || list[1] == nil {
		return nil, exec.ErrInvalidCall(errors.New("replace() takes 2 or 3 arguments"))
	}
	count := -1
	if list[2] != nil {
		count = list[2].Integer()
	}
	return strings.Replace(self, list[0].String(), list[1].String(), count), nil
}

func splitText(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
	list := named(args, "sep", "maxsplit")
	limit := -1
	if list[1] != nil && list[1].Integer() >= 0 {
		limit = list[1].Integer() + 1
	}
	if list[0] != nil && !list[0].IsNil() {
		if list[0].String() == "" {
			return nil, exec.ErrInvalidCall(errors.New("split() by an empty separator"))
		}
		return strings.SplitN(self, list[0].String(), limit), nil
	}
	parts := []string{}
	for rest := strings.TrimLeftFunc(self, unicode.IsSpace); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		end := strings.IndexFunc(rest, unicode.IsSpace)
		if len(parts)+1 == limit || end < 0 {
			end = len(rest)
		}
		parts = append(parts, rest[:end])
		rest = rest[end:]
	}
	return parts, nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/step"
	"lathe/engine/native"
	"lathe/engine/operator"
)

// kernelFlag is one OP=FILE.
type kernelFlag struct{ op, file string }

// builtinKernel is what stands for our own operator in OP=FILE.
const builtinKernel = "builtin"

// kernelFlags reads --kernel, and what a variant has beside it; each operator is replaced once.
func (o *engineOptions) kernelFlags() ([]kernelFlag, error) {
	var list []kernelFlag
	seen := map[native.Op]string{}
	for i, k := range o.Kernels {
		flag := o.kernelFlag(i)
		op, file, ok := strings.Cut(k, "=")
		if !ok || op == "" || file == "" {
			return nil, usageError("", "%s: %s: must be OP=FILE", flag, k)
		}
		ops := native.ReplacedBy(op)
		if len(ops) == 0 {
			return nil, usageError("lathe kernel list shows them", "%s: %s: there is no operator %s to replace", flag, k, op)
		}
		for _, one := range ops {
			if before, ok := seen[one]; ok {
				return nil, usageError("", "%s: %s: %s is replaced already, by %s", flag, k, one, before)
			}
			seen[one] = k
		}
		if ext := filepath.Ext(file); file != builtinKernel && (ext == ".cubin" || ext == ".ptx") {
			return nil, usageError("", "%s: %s: this version checks and runs shared libraries only", flag, k)
		}
		list = append(list, kernelFlag{op, file})
	}
	if len(list) > 0 && o.Backend == "reference" {
		return nil, usageError("--backend cpu", "%s: %s: the reference has no operators to replace", o.kernelFlag(0), o.Kernels[0])
	}
	return list, nil
}

// kernelFlag is the flag that brought the i-th of Kernels.
func (o *engineOptions) kernelFlag(i int) string {
	if o.ownFlag != "" && i >= o.shared {
		return o.ownFlag
	}
	return "--kernel"
}

// kernels are the operators that a model runs with in the place of its own.
type kernels struct {
	facts     []compare.Kernel
	overrides []native.Override  // one a fact; none where one is refused
	checks    []operator.Verdict // of the files
	refused   string             // why one of them must not be run; "" where all may
}

// openKernels checks each file in a process of its own and opens those that pass. What fails is not
// opened here. known keeps the verdicts, so that a file is checked once a command.
func (app *application) openKernels(ctx context.Context, o engineOptions, m modelSource, known map[kernelFlag]operator.Verdict) (kernels, error) {
	var k kernels
	list, err := o.kernelFlags()
	if err != nil {
		return k, err
	}
	for _, flag := range list {
		if flag.file == builtinKernel {
			k.facts = append(k.facts, compare.Kernel{Op: flag.op, File: builtinKernel})
			continue
		}
		v, ok := known[flag]
		if !ok {
			app.term.say("checking %s=%s", flag.op, flag.file)
			if v, err = app.checkKernel(ctx, operator.Options{Op: flag.op, File: flag.file, ISA: o.CPUISA, Model: o.checkedShape(m)}); err != nil {
				return k, err
			}
			known[flag] = v
		}
		k.checks = append(k.checks, v)
		k.facts = append(k.facts, compare.Kernel{Op: flag.op, File: flag.file, SHA256: v.SHA256})
		if !v.OK && k.refused == "" {
			k.refused = fmt.Sprintf("kernel %s=%s: %s", flag.op, flag.file, v.Reason())
		}
	}
	if k.refused != "" {
		return k, nil
	}
	return k, k.open(list)
}

// checkedShape is the decode step that a kernel must be right in beside the edge cases: two sequences
// that end within a page.
func (o *engineOptions) checkedShape(m modelSource) *operator.Shape {
	s := stepShape(m, 2, max(1, min(2*o.PageSize+1, m.config.MaxPosition)), o.PageSize, o.KVCacheDtype, o.CPUISA)
	return &s
}

// open opens the libraries in this process; they are the files that were checked.
func (k *kernels) open(list []kernelFlag) error {
	opened := map[string]*native.Library{}
	for i, flag := range list {
		if flag.file == builtinKernel {
			k.overrides = append(k.overrides, native.Override{Kind: native.OverrideBuiltin, Op: flag.op})
			continue
		}
		lib := opened[flag.file]
		if lib == nil {
			var err error
			if lib, err = native.OpenLibrary(flag.file); err != nil {
				return usageError("", "%w", err)
			}
			opened[flag.file] = lib
		}
		if lib.SHA256() != k.facts[i].SHA256 {
			return usageError("", "kernel %s=%s: the file changed between its check and its use", flag.op, flag.file)
		}
		override, err := lib.Override(flag.op)
		if err != nil {
			return usageError("", "%w", err)
		}
		k.overrides = append(k.overrides, override)
	}
	return nil
}

// replace puts kernels into a loaded model, and tries the smallest engine with them.
func (l *loadedModel) replace(k kernels) error {
	if l.kernels = k; len(k.overrides) == 0 {
		return nil
	}
	return l.tryEngine()
}

// findings are the checks of the files, as records of a run.
func (k kernels) findings(variant string) ([]bench.Check, error) {
	var out []bench.Check
	for _, v := range k.checks {
		detail, err := json.Marshal(v)
		f := compare.Finding{Name: "kernel " + v.Op, Point: -1, When: compare.Before, OK: v.OK, Detail: detail}
		if !v.OK {
			f.Reason = strings.TrimSpace(variant + " " + v.File + ": " + v.Reason())
		}
		data, err2 := json.Marshal(f)
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("record the check of kernel %s: %w", v.File, err)
		}
		out = append(out, bench.Check{Kind: bench.KindCheck, Name: compare.CheckFind, OK: v.OK, Detail: data})
	}
	return out, nil
}

// recordKernels writes a line for each kernel that was checked.
func (l *loadedModel) recordKernels(r step.Recorder) error {
	checks, err := l.kernels.findings("")
	if err != nil {
		return err
	}
	for _, c := range checks {
		c.Name = "kernel"
		if err := r.Write(c); err != nil {
			return err
		}
	}
	return nil
}

// only keeps the kernels of some flags OP=FILE.
func (k kernels) only(flags []string) kernels {
	var out kernels
	for i, f := range k.facts {
		if slices.Contains(flags, f.Op+"="+f.File) {
			out.facts, out.overrides = append(out.facts, f), append(out.overrides, k.overrides[i])
		}
	}
	return out
}

// needsTesting says whether any operator is a user's.
func (k kernels) needsTesting() bool {
	return slices.ContainsFunc(k.facts, func(f compare.Kernel) bool { return f.File != builtinKernel })
}

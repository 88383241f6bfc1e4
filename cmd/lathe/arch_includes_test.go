package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inclusion is one #include of a C or C++ file, or of a cgo comment.
type inclusion struct {
	from string // path below the root
	file string // as written
	own  bool   // in quotes
}

var includeLine = regexp.MustCompile(`^(?://)?\s*#\s*include\s+(["<])([^">]+)[">]`)

// inclusions reads those of one source.
func inclusions(name, text string) []inclusion {
	var out []inclusion
	for line := range strings.SplitSeq(text, "\n") {
		if m := includeLine.FindStringSubmatch(line); m != nil {
			out = append(out, inclusion{name, m[2], m[1] == `"`})
		}
	}
	return out
}

// target is the path that a quoted include means: beside the file, or under engine/native, which
// those who include the public headers have in their search path. "" where there is no such file.
func (i inclusion) target(exists func(string) bool) string {
	for _, dir := range []string{path.Dir(i.from), "engine/native"} {
		if to := path.Join(dir, i.file); exists(to) {
			return to
		}
	}
	return ""
}

// refused says why the include must not be; "" where it may.
func (i inclusion) refused(exists func(string) bool) string {
	if public := i.from == "engine/native/backend.h" || i.from == "engine/native/operator.h"; public && (i.own || i.file != "stdint.h") {
		return "a public header includes <stdint.h> alone"
	}
	if !i.own {
		return ""
	}
	if i.file == "lathe/operator.h" && (strings.HasPrefix(i.from, "docs/") || strings.Contains(i.from, "/testdata/")) {
		return "" // a user's kernel includes the installed header
	}
	to := i.target(exists)
	if to == "" {
		return "no such file"
	}
	for _, rule := range []struct {
		from string // folder
		may  []string
	}{
		{"engine/native/plugin", []string{"engine/native"}},
		{"engine/native/test", []string{"engine/native", "engine/native/test"}},
		{"engine/native/measure", []string{"engine/native", "engine/native/measure", "engine/native/test"}},
		{"engine/native", []string{"engine/native"}},
		{"kernels", []string{"kernels", "kernels/emu", "kernels/test"}},
		{"cuda", []string{"cuda", "cuda/device", "kernels/launch.h", "engine/native/backend.h"}},
		{"third_party", nil},
	} {
		if !strings.HasPrefix(i.from, rule.from+"/") {
			continue
		}
		switch {
		case i.from == "kernels/params.h" && to == "engine/native/operator.h":
		case path.Dir(to) == path.Dir(i.from):
		case slices.Contains(rule.may, path.Dir(to)), slices.Contains(rule.may, to):
		default:
			return rule.from + " must not know " + to
		}
		return ""
	}
	return "its folder has no rule"
}

func TestIncludes(t *testing.T) {
	root := repoRoot(t)
	exists := func(name string) bool {
		info, err := os.Stat(filepath.Join(root, name))
		return err == nil && !info.IsDir()
	}
	n := 0
	for _, f := range tracked(t, root, ".go", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h") {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range inclusions(filepath.ToSlash(rel(root, f)), string(data)) {
			if strings.HasSuffix(i.from, "_test.go") {
				continue
			}
			n++
			if why := i.refused(exists); why != "" {
				t.Errorf("%s includes %q: %s: change the code, or the lines on C++ of ARCHITECTURE.md with the reason", i.from, i.file, why)
			}
		}
	}
	if n < 100 {
		t.Errorf("saw %d includes, expected those of engine/native", n)
	}
}

func TestIncludesCatchesViolations(t *testing.T) {
	files := []string{"engine/native/backend.h", "engine/native/operator.h", "engine/native/cpu_kv.h", "engine/native/test/check.h",
		"kernels/params.h", "kernels/launch.h", "cuda/session.h"}
	exists := func(name string) bool { return slices.Contains(files, name) }
	for _, c := range []struct {
		from, line string
		ok         bool
	}{
		{"engine/native/cpu_kv.h", `#include "backend.h"`, true},
		{"engine/native/cpu_kv.h", `# include <vector>`, true},
		{"engine/native/backend.go", `// #include "backend.h"`, true},
		{"engine/native/backend.h", `#include <stdint.h>`, true},
		{"engine/native/backend.h", `#include <stddef.h>`, false},
		{"engine/native/operator.h", `#include "backend.h"`, false},
		{"docs/examples/mine.c", `#include "lathe/operator.h"`, true},
		{"docs/examples/mine.c", `#include "lathe/backend.h"`, false},
		{"engine/native/cpu_step.cc", `#include "lathe/operator.h"`, false},
		{"engine/native/cpu_step.cc", `#include "test/check.h"`, false},
		{"engine/native/cpu_step.cc", `#include "../../cuda/session.h"`, false},
		{"engine/native/cpu_step.cc", `#include "missing.h"`, false},
		{"engine/native/plugin/cpu_plugin.cc", `#include "../backend.h"`, true},
		{"engine/native/plugin/cpu_plugin.cc", `#include "../test/check.h"`, false},
		{"engine/native/test/step_test.cc", `#include "check.h"`, true},
		{"engine/native/test/step_test.cc", `#include "../../../kernels/params.h"`, false},
		{"kernels/params.h", `#include "../engine/native/operator.h"`, true},
		{"kernels/attn.cu", `#include "params.h"`, true},
		{"kernels/attn.cu", `#include "../engine/native/operator.h"`, false},
		{"cuda/session.cc", `#include "../kernels/launch.h"`, true},
		{"cuda/session.cc", `#include "../kernels/params.h"`, false},
		{"cuda/session.cc", `#include "../engine/native/cpu_kv.h"`, false},
		{"bench/x.c", `#include "../engine/native/backend.h"`, false},
	} {
		got := inclusions(c.from, c.line)
		if len(got) != 1 {
			t.Fatalf("%s: read as %v", c.line, got)
		}
		if why := got[0].refused(exists); (why == "") != c.ok {
			t.Errorf("%s: %s: %q", c.from, c.line, why)
		}
	}
}

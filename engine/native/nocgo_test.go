//go:build !cgo

package native_test

import (
	"errors"
	"strings"
	"testing"

	"lathe/engine/native"
)

// TestNoCgo: every constructor says that this build has no engine, and what works.
func TestNoCgo(t *testing.T) {
	_, cpu := native.CPU()
	_, ref := native.Reference()
	_, plugin := native.Open("any.so")
	for name, err := range map[string]error{"cpu": cpu, "reference": ref, "plug-in": plugin} {
		if !errors.Is(err, native.ErrNoCgo) || !strings.Contains(err.Error(), "without cgo") || !strings.Contains(err.Error(), "report and model info work") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

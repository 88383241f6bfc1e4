package native_test

import (
	"errors"
	"fmt"
	"testing"

	"lathe/engine/native"
)

func TestErrorKinds(t *testing.T) {
	kinds := map[native.Status]error{native.StatusInvalid: native.ErrInvalid, native.StatusUnsupported: native.ErrUnsupported,
		native.StatusMemory: native.ErrMemory, native.StatusState: native.ErrState, native.StatusNonFinite: native.ErrNonFinite}
	for s := native.StatusOK; s <= native.StatusInternal+1; s++ {
		err := fmt.Errorf("step 3: %w", &native.Error{Code: s, Op: "wait", Message: "why"})
		for k, kind := range kinds {
			if errors.Is(err, kind) != (k == s) {
				t.Errorf("%v is %v: %v", s, kind, k != s)
			}
		}
		if err.Error() != "step 3: wait: why" {
			t.Errorf("text %q", err)
		}
	}
	if got := (&native.Error{Code: native.StatusDevice, Op: "wait"}).Error(); got != "wait: device failure" {
		t.Errorf("without a message: %q", got)
	}
	if got := native.Status(42).String(); got != "status 42" {
		t.Error(got)
	}
}

func TestNames(t *testing.T) {
	if native.F32.Bytes() != 4 || native.BF16.Bytes() != 2 || native.F16.String() != "f16" || native.DType(9).Bytes() != 0 {
		t.Error("element types")
	}
	if native.GraphNone.String() != "none" || native.GraphEager.String() != "eager" || native.GraphMode(7).String() != "unknown" {
		t.Error("graph modes")
	}
}

func TestUnder(t *testing.T) {
	inner := &native.Error{Code: native.StatusMemory, Op: "open session", Message: "kv pool needs 8 bytes"}
	err := native.Under("open engine for 2 sequences", inner)
	if err.Error() != "open engine for 2 sequences: kv pool needs 8 bytes" || !errors.Is(err, native.ErrMemory) || inner.Op != "open session" {
		t.Errorf("%v (from %v)", err, inner)
	}
	cause := errors.New("why")
	if err := native.Under("load", cause); err.Error() != "load: why" || !errors.Is(err, cause) {
		t.Error(err)
	}
	err = native.Under("load", native.ErrNoCgo)
	if !errors.Is(err, native.ErrNoCgo) {
		t.Error(err)
	}
}

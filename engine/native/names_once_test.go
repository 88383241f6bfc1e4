//go:build cgo

package native_test

import (
	"testing"

	"lathe/engine/native"
)

// TestErrorsNameOnce: what either backend says stands behind the name of the call
// without a second subject.
func TestErrorsNameOnce(t *testing.T) {
	cpu, err := native.CPU()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*native.Backend{reference(t), cpu} {
		t.Run(b.Name(), func(t *testing.T) {
			tiny := newTiny(smallDesc(), 1)
			bad := smallDesc()
			bad.Layers = 0
			_, err := b.NewModel(bad)
			refused(t, err, native.ErrInvalid, "create model: layers is 0")
			empty := tiny.create(t, b)
			refused(t, empty.Ready(), native.ErrState, "finish model: embed_tokens.weight was not given")
			refused(t, empty.SeedTensor(native.RoleQ, 1, 61, 40, 0, 1), native.ErrInvalid,
				"seed tensor: layer 1 q_proj.weight: shape is [61, 40]")
			_, err = empty.NewSession(options(16, 1))
			refused(t, err, native.ErrState, "open session: the model is not ready")
			_, err = b.DeviceInfo(3)
			refused(t, err, native.ErrInvalid, "device info: device 3")

			m := tiny.open(t, b)
			o := options(16, -1)
			_, err = m.NewSession(o)
			refused(t, err, native.ErrInvalid, "open session: threads is -1")
			o = options(16, 1)
			o.ISA = "avx9"
			_, err = m.NewSession(o)
			refused(t, err, native.ErrUnsupported, `"avx9"`)
			s := open(t, m, options(16, 1))
			refused(t, s.Logits(0, 1, make([]float32, tiny.desc.Vocab)), native.ErrState, "logits: no finished step")
			refused(t, s.Residual(0, nil), native.ErrState, "residual: no finished step")
			one := []int32{1}
			refused(t, s.CopyPages(native.PagesWithin, one, []int32{64}, nil), native.ErrInvalid, "copy pages: to[0] is 64")
			next := batch(options(16, 1), chunk{0, 0, []int32{3, 4}})
			if err := s.Submit(next); err != nil {
				t.Fatal(err)
			}
			refused(t, s.Submit(next), native.ErrState, "submit: the last step was not waited for")
			refused(t, s.Wait(one, nil), native.ErrInvalid, "wait: room for 1 tokens")
		})
	}
}

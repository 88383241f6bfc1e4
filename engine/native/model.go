//go:build cgo

package native

// #include "table.h"
import "C"

import (
	"sync"
	"unsafe"
)

// Model holds one set of weights where the backend keeps them. It may be used
// from several goroutines; sessions share it.
type Model struct {
	backend *Backend
	desc    ModelDesc

	mu       sync.RWMutex // guards handle against Close
	handle   *C.lathe_model
	sessions int
	closing  bool
}

// NewModel makes a model without weights.
func (b *Backend) NewModel(d ModelDesc) (*Model, error) {
	const op = "create model"
	c := C.lathe_model_desc{struct_size: C.sizeof_lathe_model_desc, tied: flag(d.Tied),
		attention_bias: flag(d.AttentionBias), mlp_bias: flag(d.MLPBias), rms_eps: C.float(d.RMSEps),
		rope_scale: C.float(d.RopeScale)}
	if d.RopeScale == 0 {
		c.rope_scale = 1
	}
	for _, f := range []struct {
		name  string
		value int
		to    *C.int32_t
	}{
		{"vocab", d.Vocab, &c.vocab}, {"hidden", d.Hidden, &c.hidden}, {"layers", d.Layers, &c.layers},
		{"q_heads", d.QHeads, &c.q_heads}, {"kv_heads", d.KVHeads, &c.kv_heads},
		{"head_dim", d.HeadDim, &c.head_dim}, {"ffn", d.FFN, &c.ffn},
		{"max_position", d.MaxPosition, &c.max_position},
	} {
		var err error
		if *f.to, err = toInt32(op, f.name, f.value); err != nil {
			return nil, err
		}
	}
	if len(d.InvFreq) != d.HeadDim/2 {
		return nil, invalid(op, "inv_freq has %d values, head_dim %d needs %d", len(d.InvFreq), d.HeadDim, d.HeadDim/2)
	}
	var msg [errCap]byte
	m := &Model{backend: b, desc: d}
	m.desc.InvFreq = nil // the backend has its copy
	rc := C.lathe_go_model_create(b.table, &c, (*C.float)(unsafe.SliceData(d.InvFreq)), &m.handle,
		(*C.char)(unsafe.Pointer(&msg[0])), errCap)
	if err := failure(rc, op, msg[:]); err != nil {
		return nil, err
	}
	return m, nil
}

// SetTensor gives one tensor: rows x cols values of dt, row-major, copied before
// the return. layer is -1 for RoleEmbed, RoleNormFinal and RoleHead; a vector has
// one row.
func (m *Model) SetTensor(role Role, layer int, dt DType, rows, cols int, data []byte) error {
	const op = "set tensor"
	if dt.Bytes() == 0 {
		return invalid(op, "dtype %d does not exist", int32(dt))
	}
	if rows < 1 || cols < 1 {
		return invalid(op, "shape is [%d, %d], must be at least [1, 1]", rows, cols)
	}
	if len(data)%dt.Bytes() != 0 || len(data)/dt.Bytes()/rows != cols || len(data)/dt.Bytes()%rows != 0 {
		return invalid(op, "role %d has %d bytes, [%d, %d] of %s needs %d for each of its values", int32(role),
			len(data), rows, cols, dt, dt.Bytes())
	}
	return m.setTensor(op, role, layer, dt, rows, cols, unsafe.Pointer(unsafe.SliceData(data)), 0, 0)
}

// SeedTensor fills one tensor by the seeded generator of backend.h, where the
// backend keeps it. std 0 makes every value 1, which is what norms start from.
func (m *Model) SeedTensor(role Role, layer, rows, cols int, seed uint64, std float32) error {
	return m.setTensor("seed tensor", role, layer, BF16, rows, cols, nil, seed, std)
}

func (m *Model) setTensor(op string, role Role, layer int, dt DType, rows, cols int, data unsafe.Pointer,
	seed uint64, std float32) error {
	l, err := toInt32(op, "layer", layer)
	if err != nil {
		return err
	}
	r, err := toInt32(op, "rows", rows)
	if err != nil {
		return err
	}
	c, err := toInt32(op, "cols", cols)
	if err != nil {
		return err
	}
	return m.with(op, func(h *C.lathe_model, msg *C.char) C.int32_t {
		return C.lathe_go_set_tensor(m.backend.table, h, C.int32_t(role), l, C.int32_t(dt), r, c, data,
			C.uint64_t(seed), C.float(std), msg, errCap)
	})
}

// Ready says that every tensor was given. Sessions may open afterwards.
func (m *Model) Ready() error {
	return m.with("finish model", func(h *C.lathe_model, msg *C.char) C.int32_t {
		return C.lathe_go_model_ready(m.backend.table, h, msg, errCap)
	})
}

// WeightBytes is what the weights take now, packing and padding included.
func (m *Model) WeightBytes() (uint64, error) {
	out := C.lathe_model_memory{struct_size: C.sizeof_lathe_model_memory}
	err := m.with("model memory", func(h *C.lathe_model, msg *C.char) C.int32_t {
		return C.lathe_go_model_memory(m.backend.table, h, &out, msg, errCap)
	})
	return uint64(out.weight_bytes), err
}

// Close frees the weights, once the last session is closed too.
func (m *Model) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closing = true
	m.freeIfUnused()
}

// with runs one call on the open model.
func (m *Model) with(op string, call func(h *C.lathe_model, msg *C.char) C.int32_t) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closing || m.handle == nil {
		return &Error{Code: StatusState, Op: op, Message: "the model is closed"}
	}
	var msg [errCap]byte
	return failure(call(m.handle, (*C.char)(unsafe.Pointer(&msg[0]))), op, msg[:])
}

func (m *Model) freeIfUnused() {
	if m.closing && m.sessions == 0 && m.handle != nil {
		C.lathe_go_model_close(m.backend.table, m.handle)
		m.handle = nil
	}
}

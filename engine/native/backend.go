//go:build cgo

package native

// #cgo CFLAGS: -std=c11 -O2 -fvisibility=hidden -Wall -Wextra
// #cgo CXXFLAGS: -std=c++17 -O3 -fvisibility=hidden -Wall -Wextra -pthread
// #cgo LDFLAGS: -lm -lpthread
// #cgo linux LDFLAGS: -ldl
// #include "operator.h"
// #include "table.h"
import "C"

import (
	"encoding/json"
	"strings"
	"unsafe"
)

// The numbers of native.go and errors.go are backend.h's: a difference is an index
// out of range, which does not compile.
var _ = [1]struct{}{}[(C.LATHE_ROLES-Roles)|(C.LATHE_DOWN_BIAS-RoleDownBias)|(C.LATHE_HEAD-RoleHead)|
	(C.LATHE_NORM_FINAL-RoleNormFinal)|(C.LATHE_Q_BIAS-RoleQBias)]
var _ = [1]struct{}{}[(C.LATHE_F32-F32)|(C.LATHE_F16-F16)|(C.LATHE_BF16-BF16)]
var _ = [1]struct{}{}[(C.LATHE_E_INVALID-StatusInvalid)|(C.LATHE_E_UNSUPPORTED-StatusUnsupported)|
	(C.LATHE_E_MEMORY-StatusMemory)|(C.LATHE_E_STATE-StatusState)|(C.LATHE_E_NON_FINITE-StatusNonFinite)|
	(C.LATHE_E_INTERNAL-StatusInternal)]
var _ = [1]struct{}{}[(C.LATHE_GRAPH_CAPTURED-GraphCaptured)|(C.LATHE_GRAPH_EAGER-GraphEager)]
var _ = [1]struct{}{}[(C.LATHE_PAGES_OUT-PagesOut)|(C.LATHE_PAGES_IN-PagesIn)]
var _ = [1]struct{}{}[(C.LATHE_CACHE_COLD-CacheCold)|(C.LATHE_CACHE_WARM-CacheWarm)|(C.LATHE_CACHE_STREAM-CacheStream)]
var _ = [1]struct{}{}[(C.LATHE_KEEP_RESIDUAL-KeepResidual)|(C.LATHE_TIME_OPERATORS-TimeOperators)]
var _ = [1]struct{}{}[C.LATHE_OPS-len(StepInfo{}.OpNS)]
var _ = [1]struct{}{}[(C.LATHE_OP_ATTN_PREFILL-OpAttnPrefill)|(C.LATHE_OP_NORM_QKV_ROPE_APPEND-OpNormQKVRopeAppend)|
	(C.LATHE_OP_GEMM_HEAD-OpGemmHead)|(C.LATHE_OPS-Ops)]

// errCap is the room given to a backend's message.
const errCap = 512

// Backend is a table of native functions: one of the binary's own, or a plug-in's.
// Backends are never unloaded.
type Backend struct {
	table  *C.lathe_backend
	path   string
	sha256 string
}

// CPU returns the fast CPU backend of this binary.
func CPU() (*Backend, error) {
	return builtin(C.lathe_cpu_backend(), "cpu")
}

// Reference returns the plain float32 backend of this binary, the oracle of the
// others.
func Reference() (*Backend, error) {
	return builtin(C.lathe_reference_backend(), "reference")
}

func builtin(table *C.lathe_backend, name string) (*Backend, error) {
	if table == nil {
		return nil, &Error{Code: StatusUnsupported, Op: "backend " + name, Message: "not part of this build"}
	}
	if err := checkTable(table, "backend "+name); err != nil {
		return nil, err
	}
	return &Backend{table: table}, nil
}

// checkTable refuses a table of another ABI before anything else of it is read.
func checkTable(t *C.lathe_backend, op string) error {
	if t.abi != C.LATHE_ABI {
		return invalid(op, "built for ABI %d, this lathe speaks %d; rebuild it with this lathe's backend.h",
			uint32(t.abi), uint32(C.LATHE_ABI))
	}
	if t.struct_size != C.sizeof_lathe_backend {
		return invalid(op, "its table has %d bytes, this lathe's has %d; rebuild it with this lathe's backend.h",
			uint32(t.struct_size), int(C.sizeof_lathe_backend))
	}
	if entry := C.lathe_go_null_entry(t); entry != nil {
		return invalid(op, "entry %s of its table is NULL", C.GoString(entry))
	}
	return nil
}

// Name is the backend's own name: "cpu", "reference", "cuda".
func (b *Backend) Name() string { return C.GoString(b.table.name) }

// BuildInfo is one JSON object: compiler, flags, architectures.
func (b *Backend) BuildInfo() string { return C.GoString(b.table.build_info) }

// Path is the plug-in's file as it was opened, "" for a backend of this binary.
func (b *Backend) Path() string { return b.path }

// SHA256 is the hex digest of the plug-in's file, "" for a backend of this binary.
func (b *Backend) SHA256() string { return b.sha256 }

// DeviceInfo returns the device's facts as one JSON object; dev -1 is the default
// device.
func (b *Backend) DeviceInfo(dev int) (json.RawMessage, error) {
	const op = "device info"
	d, err := toInt32(op, "device", dev)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 64<<10)
	var msg [errCap]byte
	rc := C.lathe_go_device_info(b.table, d, (*C.char)(unsafe.Pointer(&out[0])), C.int32_t(len(out)),
		(*C.char)(unsafe.Pointer(&msg[0])), errCap)
	if err := failure(rc, op, msg[:]); err != nil {
		return nil, err
	}
	facts := json.RawMessage(text(out))
	if !json.Valid(facts) {
		return nil, &Error{Code: StatusInternal, Op: op, Message: "the backend's answer is not JSON"}
	}
	return facts, nil
}

// failure turns a status and a message buffer into an error, nil for LATHE_OK.
func failure(rc C.int32_t, op string, msg []byte) error {
	if rc == C.LATHE_OK {
		return nil
	}
	return &Error{Code: Status(rc), Op: op, Message: unrepeated(op, text(msg))}
}

// unrepeated is a backend's message without the subject that the op before it names
// already: "session: pages is 0" and "session options have 8 bytes" after "open
// session", "wait: room for 1 tokens" after "wait".
func unrepeated(op, message string) string {
	if rest, ok := strings.CutPrefix(message, op+": "); ok {
		return rest
	}
	for _, subject, ok := strings.Cut(op, " "); ok; _, subject, ok = strings.Cut(subject, " ") {
		if rest, ok := strings.CutPrefix(message, subject); ok {
			for _, end := range []string{": ", " "} {
				if rest, ok := strings.CutPrefix(rest, end); ok {
					return rest
				}
			}
		}
	}
	return message
}

// text is the bytes before the first NUL.
func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// toInt32 narrows a count for the border, refusing what does not fit.
func toInt32(op, name string, v int) (C.int32_t, error) {
	if int64(v) != int64(int32(v)) {
		return 0, invalid(op, "%s is %d, which is not a 32-bit number", name, v)
	}
	return C.int32_t(v), nil
}

func flag(on bool) C.int32_t {
	if on {
		return 1
	}
	return 0
}

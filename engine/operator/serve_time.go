//go:build unix

package operator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"lathe/engine/native"
)

// reserve takes memory of the process's own, in huge pages where the system gives them, as weights and
// pages of the engine lie.
func (s *server) reserve(r request) (answer, error) {
	if s.own != nil {
		return answer{}, errors.New("reserve: there is memory already")
	}
	b, err := unix.Mmap(-1, 0, r.Bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return answer{}, fmt.Errorf("reserve %d bytes: %w", r.Bytes, err)
	}
	adviseHuge(b)
	s.own = b
	return answer{Base: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))}, nil
}

// store copies bytes of the arena into the reserved memory, Count times Stride apart, and writes each
// copy's number into it: no two copies hold the same inputs.
func (s *server) store(r request) (answer, error) {
	last := r.To + (r.Count-1)*r.Stride + r.Bytes
	if r.Count < 1 || r.From < 0 || r.To < 0 || r.Bytes < 0 || r.From+r.Bytes > len(s.memory) || last > len(s.own) {
		return answer{}, fmt.Errorf("store %d times %d bytes: out of memory's bounds", r.Count, r.Bytes)
	}
	for i := range r.Count {
		to := s.own[r.To+i*r.Stride:][:r.Bytes]
		copy(to, s.memory[r.From:])
		for _, at := range r.Marks {
			const nearOne = 0x3F80 // 1 as a bfloat16; the low bits count
			binary.NativeEndian.PutUint16(to[at:], uint16(nearOne+i&0x3F))
		}
	}
	return answer{}, nil
}

// walk reads every cache line of a part of the reserved memory. The answer is of no use but that it
// cannot be left out.
func (s *server) walk(r request) (answer, error) {
	if r.From < 0 || r.Bytes < 0 || r.From+r.Bytes > len(s.own) {
		return answer{}, fmt.Errorf("walk %d bytes from %d: not in memory", r.Bytes, r.From)
	}
	part, sum := s.own[r.From:][:r.Bytes], int64(0)
	for i := 0; i+8 <= len(part); i += alignment {
		sum += int64(binary.NativeEndian.Uint64(part[i:]))
	}
	return answer{Value: sum}, nil
}

// time calls the operator, or ours, over copies.
func (s *server) time(r request) (answer, error) {
	threads, err := s.pool(r.Parts)
	if err != nil {
		return answer{}, err
	}
	c := native.OperatorCall{Function: s.op.Function, Flags: native.CtxDeterministic}
	if r.Ours {
		c.Function = s.ours.Function
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(s.own)))
	if r.Workspace[1] > 0 {
		c.Workspace, c.WorkspaceBytes = base+uintptr(r.Workspace[0]), uint64(r.Workspace[1])
	}
	args := make([]uintptr, len(r.Calls))
	for i, at := range r.Calls {
		if at < 0 || at >= len(s.own) {
			return answer{}, fmt.Errorf("time: arguments at %d: not in memory", at)
		}
		args[i] = base + uintptr(at)
	}
	ns, code := threads.Time(c, args, r.Batch)
	return answer{NS: ns, Value: int64(code)}, nil
}

// pool is the threads of that many parts.
func (s *server) pool(parts int) (*native.OperatorThreads, error) {
	if s.threads[parts] == nil {
		t, err := native.OpenOperatorThreads(parts)
		if err != nil {
			return nil, err
		}
		s.threads[parts] = t
	}
	return s.threads[parts], nil
}

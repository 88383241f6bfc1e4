package operator

import (
	"encoding/binary"
	"math"

	"lathe/engine/native"
)

// i32 is the element type of tables, lengths, positions and tokens. It is no dtype of operator.h,
// where such fields are int32_t by declaration.
const i32 native.DType = -1

// width is the size of an element in bytes.
func width(d native.DType) int {
	if d == i32 {
		return 4
	}
	return d.Bytes()
}

// bf16Bits rounds to bfloat16: nearest, ties to even, a NaN stays one.
func bf16Bits(v float32) uint16 {
	u := math.Float32bits(v)
	if v != v {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7FFF + u>>16&1) >> 16)
}

// put stores v as element i of b and returns what is stored.
func put(d native.DType, b []byte, i int, v float64) float64 {
	switch d {
	case native.F32:
		f := float32(v)
		binary.NativeEndian.PutUint32(b[4*i:], math.Float32bits(f))
		return float64(f)
	case native.BF16:
		h := bf16Bits(float32(v))
		binary.NativeEndian.PutUint16(b[2*i:], h)
		return float64(math.Float32frombits(uint32(h) << 16))
	case i32:
		binary.NativeEndian.PutUint32(b[4*i:], uint32(int32(v)))
		return float64(int32(v))
	}
	panic("operator: no such element type")
}

// get is element i of b.
func get(d native.DType, b []byte, i int) float64 {
	switch d {
	case native.F32:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b[4*i:])))
	case native.BF16:
		return float64(math.Float32frombits(uint32(binary.NativeEndian.Uint16(b[2*i:])) << 16))
	case i32:
		return float64(int32(binary.NativeEndian.Uint32(b[4*i:])))
	}
	panic("operator: no such element type")
}

// pattern is what memory is filled with that nobody may count on. Each has its own bits, so that what
// is left of it can be recognised.
type pattern int

const (
	gap     pattern = iota // between rows, in unused pages, past the end: a NaN
	poisonA                // outputs before a call: a NaN
	poisonB                // outputs before another call: a finite number
)

// bits of a pattern for 4-byte and 2-byte elements. Table entries in a gap are set by the cases, to a
// page that is all gap.
func (p pattern) bits(d native.DType) uint32 {
	switch {
	case d == i32:
		return [...]uint32{0x7FFFFF01, 0xFB5D2D0F, 0x034FB5E3}[p]
	case width(d) == 2:
		return [...]uint32{0x7FEA, 0x7FD5, 0xC6A5}[p]
	}
	return [...]uint32{0x7FE6A6A6, 0x7FD5B5B5, 0xC6A5C5C5}[p]
}

// fill writes the pattern over n elements from at.
func (p pattern) fill(d native.DType, b []byte, at, n int) {
	bits := p.bits(d)
	for i := at; i < at+n; i++ {
		if width(d) == 2 {
			binary.NativeEndian.PutUint16(b[2*i:], uint16(bits))
		} else {
			binary.NativeEndian.PutUint32(b[4*i:], bits)
		}
	}
}

// holds says whether element i of b still has the pattern's bits.
func (p pattern) holds(d native.DType, b []byte, i int) bool {
	if width(d) == 2 {
		return uint32(binary.NativeEndian.Uint16(b[2*i:])) == p.bits(d)
	}
	return binary.NativeEndian.Uint32(b[4*i:]) == p.bits(d)
}

// stream is a counter-based random stream: values are addressed, not drawn, so that a row's inputs do
// not depend on the rows around it. The mixing is splitmix64's.
type stream uint64

const golden = 0x9E3779B97F4A7C15

func mix(x uint64) uint64 {
	x += golden
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// streamOf is the stream of a seed and of what it is for.
func streamOf(seed uint64, what string, ids ...uint64) stream {
	k := mix(seed)
	for _, c := range []byte(what) {
		k = mix(k ^ uint64(c))
	}
	for _, id := range ids {
		k = mix(k ^ id)
	}
	return stream(k)
}

// bits is word i of the stream.
func (s stream) bits(i int) uint64 { return mix(uint64(s) + uint64(i)*golden) }

// normal is value i, with mean 0 and variance 1: the centred sum of four 16-bit quarters (Irwin-Hall
// of order 4, no value beyond 3.5).
func (s stream) normal(i int) float64 {
	r := s.bits(i)
	sum := int(r&0xFFFF) + int(r>>16&0xFFFF) + int(r>>32&0xFFFF) + int(r>>48) - 131070
	return float64(sum) / 37837.2227
}

// order is a permutation of 0 .. n-1.
func (s stream) order(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := int(s.bits(i) % uint64(i+1))
		p[i], p[j] = p[j], p[i]
	}
	return p
}

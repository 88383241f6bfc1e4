//go:build cgo

package native_test

import "math"

// The seeded generator again, from the words of backend.h.

func splitmix64(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
	x = (x ^ (x >> 27)) * 0x94D049BB133111EB
	return x ^ (x >> 31)
}

func roundBF16(f float32) float32 {
	u := math.Float32bits(f)
	u += 0x7FFF + (u >> 16 & 1)
	return math.Float32frombits(u &^ 0xFFFF)
}

// seeded returns values 0 .. n-1 of a tensor, row-major.
func seeded(seed uint64, role, layer int32, n int, std float32) []float32 {
	key := splitmix64(seed ^ uint64(uint32(role))<<32 ^ uint64(uint32(layer+1)))
	out := make([]float32, n)
	for i := range out {
		if std == 0 {
			out[i] = 1
			continue
		}
		r := splitmix64(key + uint64(i)*0x9E3779B97F4A7C15)
		sum := int32(r&0xFFFF) + int32(r>>16&0xFFFF) + int32(r>>32&0xFFFF) + int32(r>>48) - 131070
		out[i] = roundBF16(float32(sum) * (std * float32(1.0/float32(37837.2227))))
	}
	return out
}

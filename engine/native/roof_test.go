//go:build cgo

package native

import (
	"encoding/binary"
	"encoding/json"
	"testing"
)

// The digest is the sum of all 64-bit words: a line that was left out changes it.
func TestReadBytesReadsEverything(t *testing.T) {
	for _, n := range []int{RoofLine, 3 * RoofLine, 1 << 16} {
		data := RoofBuffer(n)
		var want uint64
		for i := range data {
			data[i] = byte(i*7 + i>>8)
		}
		for i := 0; i < n; i += 8 {
			want += binary.LittleEndian.Uint64(data[i:])
		}
		if got, err := ReadBytes(data); err != nil || got != want {
			t.Errorf("%d bytes: digest %d, error %v, want %d", n, got, err, want)
		}
	}
	for _, bad := range [][]byte{nil, RoofBuffer(RoofLine)[:8], RoofBuffer(2 * RoofLine)[8 : 8+RoofLine]} {
		if _, err := ReadBytes(bad); err == nil {
			t.Errorf("%d bytes were read", len(bad))
		}
	}
}

// Every path of the CPU backend that runs here has a compute loop; its FLOPs are in
// proportion to the rounds.
func TestMultiplyCountsFLOPs(t *testing.T) {
	cpu, err := CPU()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := cpu.DeviceInfo(-1)
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ Paths []string }
	if err := json.Unmarshal(raw, &info); err != nil || len(info.Paths) == 0 {
		t.Fatalf("paths of %s: %v", raw, err)
	}
	for _, path := range info.Paths {
		one, err := Multiply(path, 1000)
		three, err3 := Multiply(path, 3000)
		if err != nil || err3 != nil || one <= 0 || three != 3*one {
			t.Errorf("%s: %d FLOPs, three times as many rounds %d; %v, %v", path, one, three, err, err3)
		}
	}
	if _, err := Multiply("nosuch", 1); err == nil {
		t.Error("an unknown path multiplied")
	}
}

func BenchmarkReadBytes(b *testing.B) {
	data := RoofBuffer(1 << 30)
	for i := range data {
		data[i] = byte(i)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ReadBytes(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMultiply(b *testing.B) {
	for _, path := range []string{"portable", "avx512bf16"} {
		b.Run(path, func(b *testing.B) {
			var flops int64
			for b.Loop() {
				n, err := Multiply(path, 1e6)
				if err != nil {
					b.Skip(err)
				}
				flops += n
			}
			b.ReportMetric(float64(flops)/1e9/b.Elapsed().Seconds(), "GFLOP/s")
		})
	}
}

package operator

import (
	"encoding/binary"
	"math"

	"lathe/engine/native"
)

// region is what one pointer of the arguments points to.
type region struct {
	name string
	elem native.DType
	n    int    // elements, gaps included
	data []byte // what stands there before a call

	streamed bool // weights and pages: what a decode step finds in memory, not in a cache
	read     int  // elements that a call must read; -1: all of them
}

// run is n neighbouring elements of a region that the operator must write.
type run struct {
	region int
	at, n  int
	row    int // of the batch, whose values it depends on
	label  string
	fresh  bool // whatever stood there before is lost; otherwise it is an addend
	kind   runKind
	want   []float64 // the reference's values
	choice []float64 // of a tokenRun: the values to choose from
}

// runKind says how a run is judged.
type runKind int

const (
	valuesRun runKind = iota // by its relative L2 distance
	logsRun                  // by the distance of each, logarithms
	tokenRun                 // one index of a largest value; of is the run of the values
)

// site is an input element that a NaN may be put into.
type site struct {
	region, at int
	label      string
}

// problem is one call of an operator: its memory, its arguments, and what the memory must hold
// afterwards.
type problem struct {
	op      string
	regions []*region
	runs    []run
	sites   []site
	args    func(addresses []uint64) any // of the regions
	solve   func(p *problem)             // fills want of every run, from the data of the regions
	rounds  int                          // roundings to bf16 that an output carries beside its own type's
	loose   float64                      // times the bound of f32 outputs, where the case itself magnifies rounding
}

func (p *problem) add(name string, elem native.DType, n int) int {
	r := &region{name: name, elem: elem, n: n, data: make([]byte, n*width(elem)), read: -1}
	gap.fill(elem, r.data, 0, n)
	p.regions = append(p.regions, r)
	return len(p.regions) - 1
}

// draw fills n elements from at with values of the stream, counted from first, times std.
func (p *problem) draw(region, at, n int, s stream, first int, std float64) {
	p.drawAround(region, at, n, s, first, 0, std)
}

// drawAround is draw with a mean.
func (p *problem) drawAround(region, at, n int, s stream, first int, mean, std float64) {
	r := p.regions[region]
	for i := range n {
		put(r.elem, r.data, at+i, mean+s.normal(first+i)*std)
	}
}

func (p *problem) set(region, at int, v float64) {
	r := p.regions[region]
	put(r.elem, r.data, at, v)
}

// wide is a region's data as float64.
func (p *problem) wide(region int) []float64 {
	r := p.regions[region]
	out := make([]float64, r.n)
	switch r.elem {
	case native.F32:
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(r.data[4*i:])))
		}
	case native.BF16:
		for i := range out {
			out[i] = float64(math.Float32frombits(uint32(binary.NativeEndian.Uint16(r.data[2*i:])) << 16))
		}
	default:
		for i := range out {
			out[i] = get(r.elem, r.data, i)
		}
	}
	return out
}

// expect adds a run of the region; solve gives its values.
func (p *problem) expect(region, at, n, row int, fresh bool, kind runKind, label string) {
	p.runs = append(p.runs, run{region: region, at: at, n: n, row: row, label: label, fresh: fresh, kind: kind, want: make([]float64, n)})
}

// stream marks a region as weights or pages.
func (p *problem) stream(region int) { p.regions[region].streamed = true }

// traffic is how many bytes a call must move, each input read once and each output written once; of
// weights and pages alone where only is set.
func (p *problem) traffic(only bool) uint64 {
	sum := 0
	for i, r := range p.regions {
		if only && !r.streamed {
			continue
		}
		read, written, fresh := r.read, 0, 0
		for _, o := range p.runs {
			if o.region == i {
				written += o.n
				if o.fresh {
					fresh += o.n
				}
			}
		}
		if read < 0 {
			read = r.n - fresh
		}
		sum += (read + written) * width(r.elem)
	}
	return uint64(sum)
}

// poison fills every fresh run with the pattern.
func (p *problem) poison(with pattern) {
	for _, r := range p.runs {
		if r.fresh {
			g := p.regions[r.region]
			with.fill(g.elem, g.data, r.at, r.n)
		}
	}
}

// encode lays the arguments out as operator.h has them.
func (p *problem) encode(addresses []uint64) ([]byte, error) {
	return binary.Append(nil, binary.NativeEndian, p.args(addresses))
}

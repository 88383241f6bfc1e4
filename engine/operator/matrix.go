package operator

import (
	"fmt"

	"lathe/engine/native"
)

// matrix is rows of a region at a stride.
type matrix struct {
	region, rows, cols, stride int
	elem                       native.DType
}

// addMatrix adds rows x cols values, odd elements apart beyond their own.
func (p *problem) addMatrix(name string, elem native.DType, rows, cols, odd int) matrix {
	m := matrix{rows: rows, cols: cols, stride: cols + odd, elem: elem}
	m.region = p.add(name, elem, (rows-1)*m.stride+cols)
	return m
}

func (m matrix) at(row, col int) int { return row*m.stride + col }

// drawRows fills the rows, each with the values of its id.
func (p *problem) drawRows(m matrix, seed uint64, what string, ids []uint64, std float64) {
	for r := range m.rows {
		p.draw(m.region, m.at(r, 0), m.cols, streamOf(seed, what, ids[r]), 0, std)
	}
}

// drawWeights fills a matrix that does not depend on the rows of the batch.
func (p *problem) drawWeights(m matrix, seed uint64, what string, std float64) {
	s := streamOf(seed, what)
	for r := range m.rows {
		p.draw(m.region, m.at(r, 0), m.cols, s, r*m.cols, std)
	}
}

// expectRows lists every row as a run.
func (p *problem) expectRows(m matrix, fresh bool, what string) {
	for r := range m.rows {
		p.expect(m.region, m.at(r, 0), m.cols, r, fresh, valuesRun, fmt.Sprintf("row %d of %s", r, what))
	}
}

// rowsOf is a matrix widened, row by row.
func (p *problem) rowsOf(m matrix) [][]float64 {
	all := p.wide(m.region)
	out := make([][]float64, m.rows)
	for r := range out {
		out[r] = all[m.at(r, 0):][:m.cols]
	}
	return out
}

// row widens one row of a matrix into out.
func (p *problem) row(m matrix, row int, out []float64) {
	r := p.regions[m.region]
	for i := range out {
		out[i] = get(r.elem, r.data, m.at(row, i))
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// gapOf is n where gaps are asked for.
func gapOf(odd bool, n int) int {
	if odd {
		return n
	}
	return 0
}

package operator

import "lathe/engine/native"

// paging is how keys and values lie in pages.
type paging struct {
	kvHeads, headDim, pageSize int
	headMajor                  bool // [head][slot][dim] instead of [slot][head][dim]
	odd                        bool // gaps between pages, slots and heads
	elem                       native.DType
}

// cache is the pages of K or of V in a region.
type cache struct {
	region           int
	page, slot, head int // strides in elements
	pageSize         int
}

// at is where the values of one position lie.
func (c cache) at(table []int, position, head int) int {
	return table[position/c.pageSize]*c.page + position%c.pageSize*c.slot + head*c.head
}

// addCache adds pool pages; extra makes the strides of K and V differ where they are odd.
func (g paging) addCache(p *problem, name string, pool, extra int) cache {
	c := cache{pageSize: g.pageSize}
	inner, outer, page := 0, 0, 0
	if g.odd {
		inner, outer, page = 3+extra, 5+extra, 9+extra
	}
	if g.headMajor {
		c.slot = g.headDim + inner
		c.head = g.pageSize*c.slot + outer
		c.page = g.kvHeads*c.head + page
	} else {
		c.head = g.headDim + inner
		c.slot = g.kvHeads*c.head + outer
		c.page = g.pageSize*c.slot + page
	}
	c.region = p.add(name, g.elem, (pool-1)*c.page+(g.pageSize-1)*c.slot+(g.kvHeads-1)*c.head+g.headDim)
	p.stream(c.region)
	p.regions[c.region].read = 0
	return c
}

// tables places sequences in pages: a permutation of a pool that has pages to spare, so that no
// sequence lies in order and none begins at page 0 by rule.
type tables struct {
	of     [][]int // pages of each sequence
	stride int
	pool   int
	trap   int // a page of the pool that is all gap
}

func placePages(s stream, lengths []int, pageSize int, odd bool) tables {
	t := tables{stride: 1}
	used := 0
	for _, n := range lengths {
		pages := (n + pageSize - 1) / pageSize
		used += pages
		t.stride = max(t.stride, pages)
	}
	if odd {
		t.stride += 2
	}
	t.pool = used + 3
	order := s.order(t.pool)
	t.trap, order = order[0], order[1:]
	for _, n := range lengths {
		pages := (n + pageSize - 1) / pageSize
		t.of, order = append(t.of, order[:pages]), order[pages:]
	}
	return t
}

// addTable writes the block table; entries that no position needs name the trap.
func (t tables) addTable(p *problem) int {
	n := max(1, len(t.of)) * t.stride
	r := p.add("block_table", i32, n)
	for i := range n {
		p.set(r, i, float64(t.trap))
	}
	for s, pages := range t.of {
		for i, page := range pages {
			p.set(r, s*t.stride+i, float64(page))
		}
	}
	return r
}

// addInts adds a vector of int32.
func addInts(p *problem, name string, values []int) int {
	r := p.add(name, i32, len(values))
	for i, v := range values {
		p.set(r, i, float64(v))
	}
	return r
}

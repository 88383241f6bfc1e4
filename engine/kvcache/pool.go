// Package kvcache owns the pages of a KV cache: which are free, and which belong
// to which sequence at which place. A page holds the keys and values of pageSize
// consecutive positions over all layers; the memory itself is the backend's.
//
// There is no prefix cache: a page belongs to at most one sequence, nothing
// outlives its sequence, and no token is ever taken as known. Measured prefills
// therefore compute every token. The package allocates nothing in Extend and Fill
// once Reserve has made room, does no locking (one goroutine owns a pool), and
// never moves or evicts on its own.
package kvcache

import "fmt"

// MaxSequences bounds sequence numbers, so that a wild one cannot make a pool
// allocate.
const MaxSequences = 1 << 20

// Pool is a fixed set of pages, numbered 0 .. pages-1.
type Pool struct {
	pages    int
	pageSize int
	free     []int32 // a stack: the last is taken next
	seqs     []sequence
}

type sequence struct {
	open   bool
	tokens int
	pages  []int32
}

// New makes a pool of pages pages of pageSize tokens, all free. With pages or
// pageSize below 1 the pool has no pages, and every Extend fails.
func New(pages, pageSize int) *Pool {
	if pages < 1 || pageSize < 1 {
		pages, pageSize = 0, max(pageSize, 1)
	}
	p := &Pool{pages: pages, pageSize: pageSize, free: make([]int32, pages)}
	for i := range p.free {
		p.free[i] = int32(pages - 1 - i) // page 0 goes first
	}
	return p
}

// Pages is the size of the pool in pages.
func (p *Pool) Pages() int { return p.pages }

// PageSize is the size of a page in tokens.
func (p *Pool) PageSize() int { return p.pageSize }

// Free is the number of free pages.
func (p *Pool) Free() int { return len(p.free) }

// PagesFor is how many pages a sequence of that many tokens takes.
func (p *Pool) PagesFor(tokens int) int {
	if tokens <= 0 {
		return 0
	}
	return (tokens-1)/p.pageSize + 1
}

// Reserve makes room for sequences 0 .. sequences-1 with pagesEach pages each, so
// that Open, Extend and Fill within that room allocate nothing. It takes no page.
func (p *Pool) Reserve(sequences, pagesEach int) error {
	if sequences < 0 || sequences > MaxSequences || pagesEach < 0 {
		return fmt.Errorf("reserve page tables: %d sequences of %d pages: out of range", sequences, pagesEach)
	}
	pagesEach = min(pagesEach, p.pages)
	p.grow(sequences)
	for i := range p.seqs[:sequences] {
		if s := &p.seqs[i]; cap(s.pages) < pagesEach {
			s.pages = append(make([]int32, 0, pagesEach), s.pages...)
		}
	}
	return nil
}

func (p *Pool) grow(sequences int) {
	if more := sequences - len(p.seqs); more > 0 {
		p.seqs = append(p.seqs, make([]sequence, more)...)
	}
}

// Open starts an empty sequence under a number of the caller's choice, 0 ..
// MaxSequences-1. Numbers should be small: they index a table.
func (p *Pool) Open(seq int) error {
	if seq < 0 || seq >= MaxSequences {
		return fmt.Errorf("open sequence %d: not in 0 .. %d", seq, MaxSequences-1)
	}
	p.grow(seq + 1)
	if p.seqs[seq].open {
		return fmt.Errorf("open sequence %d: it is open already", seq)
	}
	p.seqs[seq].open = true
	return nil
}

// Extend makes room for that many more tokens at the end of a sequence. It takes
// all pages that this needs or none: without enough free ones the error is
// *OutOfPages and nothing has changed.
func (p *Pool) Extend(seq, tokens int) error {
	s, err := p.get("extend", seq)
	if err != nil {
		return err
	}
	if tokens < 0 || s.tokens+tokens < 0 {
		return fmt.Errorf("extend sequence %d: by %d tokens after %d: out of range", seq, tokens, s.tokens)
	}
	need := p.PagesFor(s.tokens+tokens) - len(s.pages)
	if need > len(p.free) {
		return &OutOfPages{Sequence: seq, Tokens: tokens, Held: len(s.pages), Need: need, Free: len(p.free), Pages: p.pages, PageSize: p.pageSize}
	}
	for range need {
		last := len(p.free) - 1
		s.pages = append(s.pages, p.free[last])
		p.free = p.free[:last]
	}
	s.tokens += tokens
	return nil
}

// Truncate drops tokens from the end of a sequence down to that many, and returns
// the pages that hold none of them any more.
func (p *Pool) Truncate(seq, tokens int) error {
	s, err := p.get("truncate", seq)
	if err != nil {
		return err
	}
	if tokens < 0 || tokens > s.tokens {
		return fmt.Errorf("truncate sequence %d: to %d tokens of %d: out of range", seq, tokens, s.tokens)
	}
	p.give(s, p.PagesFor(tokens))
	s.tokens = tokens
	return nil
}

// Shorten drops tokens from the end of a sequence down to that many and keeps its
// pages, so that the same tokens come to lie where they were.
func (p *Pool) Shorten(seq, tokens int) error {
	s, err := p.get("shorten", seq)
	if err != nil {
		return err
	}
	if tokens < 0 || tokens > s.tokens {
		return fmt.Errorf("shorten sequence %d: to %d tokens of %d: out of range", seq, tokens, s.tokens)
	}
	s.tokens = tokens
	return nil
}

// Close ends a sequence and returns its pages.
func (p *Pool) Close(seq int) error {
	s, err := p.get("close", seq)
	if err != nil {
		return err
	}
	p.give(s, 0)
	s.tokens, s.open = 0, false
	return nil
}

// CloseAll ends every open sequence.
func (p *Pool) CloseAll() {
	for i := range p.seqs {
		if s := &p.seqs[i]; s.open {
			p.give(s, 0)
			s.tokens, s.open = 0, false
		}
	}
}

// give returns the pages of s from index keep on, so that the first of them is the
// next to be taken.
func (p *Pool) give(s *sequence, keep int) {
	for i := len(s.pages) - 1; i >= keep; i-- {
		p.free = append(p.free, s.pages[i])
	}
	s.pages = s.pages[:keep]
}

// Tokens is the length of an open sequence; 0 when it is not open.
func (p *Pool) Tokens(seq int) int {
	if s, err := p.get("read", seq); err == nil {
		return s.tokens
	}
	return 0
}

// Table is the pages of a sequence in order of position, valid until the next
// call that changes the sequence; the caller must not write to it.
func (p *Pool) Table(seq int) []int32 {
	if s, err := p.get("read", seq); err == nil {
		return s.pages
	}
	return nil
}

// Fill writes the pages of a sequence into row row of a flat table [rows][stride]:
// table[row*stride + i] is its i-th page. What lies behind them in the row is left
// as it is.
func (p *Pool) Fill(seq int, table []int32, stride, row int) error {
	s, err := p.get("fill page table of", seq)
	if err != nil {
		return err
	}
	if stride < 0 || row < 0 || len(s.pages) > stride || (row+1)*stride > len(table) {
		return fmt.Errorf("fill page table of sequence %d: row %d of a table of %d entries with stride %d: no room for %d pages",
			seq, row, len(table), stride, len(s.pages))
	}
	copy(table[row*stride:], s.pages)
	return nil
}

func (p *Pool) get(what string, seq int) (*sequence, error) {
	if seq < 0 || seq >= len(p.seqs) || !p.seqs[seq].open {
		return nil, fmt.Errorf("%s sequence %d: it is not open", what, seq)
	}
	return &p.seqs[seq], nil
}

// OutOfPages says how many pages an Extend needed and how many were free. A
// scheduler may preempt a sequence and try again.
type OutOfPages struct {
	Sequence int
	Tokens   int // that were asked for
	Held     int // pages of the sequence already
	Need     int // further pages
	Free     int
	Pages    int // of the pool
	PageSize int
}

func (e *OutOfPages) Error() string {
	return fmt.Sprintf("extend sequence %d: by %d tokens: needs %d more pages of %d tokens beside its %d, %d of %d are free",
		e.Sequence, e.Tokens, e.Need, e.PageSize, e.Held, e.Free, e.Pages)
}

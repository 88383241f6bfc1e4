package kvcache

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestPagesFor(t *testing.T) {
	p := New(4, 16)
	for tokens, want := range map[int]int{-1: 0, 0: 0, 1: 1, 15: 1, 16: 1, 17: 2, 64: 4, 65: 5, math.MaxInt: math.MaxInt/16 + 1} {
		if got := p.PagesFor(tokens); got != want {
			t.Errorf("PagesFor(%d) = %d, want %d", tokens, got, want)
		}
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestExtendFillClose(t *testing.T) {
	p := New(8, 4)
	ok(t, p.Open(0))
	ok(t, p.Open(5))
	ok(t, p.Extend(0, 5))
	ok(t, p.Extend(5, 1))
	ok(t, p.Extend(0, 3)) // to 8 tokens: still two pages
	ok(t, p.Extend(0, 1)) // the ninth opens a page
	if p.Tokens(0) != 9 || p.Tokens(5) != 1 || p.Free() != 4 || !slices.Equal(p.Table(0), []int32{0, 1, 3}) || !slices.Equal(p.Table(5), []int32{2}) {
		t.Fatalf("%v %v, %d free", p.Table(0), p.Table(5), p.Free())
	}
	table := []int32{-1, -1, -1, -1, -1, -1, -1, -1}
	ok(t, p.Fill(0, table, 4, 1))
	ok(t, p.Fill(5, table, 4, 0))
	if !slices.Equal(table, []int32{2, -1, -1, -1, 0, 1, 3, -1}) {
		t.Errorf("%v", table)
	}
	ok(t, p.Truncate(0, 8))
	if p.Free() != 5 || p.Tokens(0) != 8 {
		t.Errorf("%d free", p.Free())
	}
	ok(t, p.Truncate(0, 0))
	ok(t, p.Extend(0, 1))
	if !slices.Equal(p.Table(0), []int32{0}) {
		t.Errorf("%v: a page just returned must be taken first", p.Table(0))
	}
	ok(t, p.Extend(0, 11))
	ok(t, p.Shorten(0, 2))
	ok(t, p.Extend(0, 9)) // within the pages that were kept
	if p.Free() != 4 || p.Tokens(0) != 11 || !slices.Equal(p.Table(0), []int32{0, 1, 3}) {
		t.Errorf("%v, %d free", p.Table(0), p.Free())
	}
	ok(t, p.Close(0))
	if p.Tokens(0) != 0 || p.Table(0) != nil || p.Free() != 7 {
		t.Errorf("%d free", p.Free())
	}
	ok(t, p.Open(0))
	p.CloseAll()
	if p.Free() != 8 || p.Table(5) != nil {
		t.Errorf("%d free", p.Free())
	}
	ok(t, p.Open(5))
}

func TestWrongCalls(t *testing.T) {
	p := New(8, 4)
	ok(t, p.Open(1))
	ok(t, p.Extend(1, 9))
	table := make([]int32, 6)
	for mention, err := range map[string]error{
		"open sequence -1":               p.Open(-1),
		"open sequence 1048576":          p.Open(MaxSequences),
		"open sequence 1: it is open":    p.Open(1),
		"extend sequence 0: it is not":   p.Extend(0, 1),
		"extend sequence -1: it is not":  p.Extend(-1, 1),
		"extend sequence 7: it is not":   p.Extend(7, 1),
		"by -1 tokens":                   p.Extend(1, -1),
		"tokens after 9: out of range":   p.Extend(1, math.MaxInt),
		"truncate sequence 1: to 10":     p.Truncate(1, 10),
		"truncate sequence 1: to -1":     p.Truncate(1, -1),
		"truncate sequence 0: it is not": p.Truncate(0, 0),
		"shorten sequence 1: to 10":      p.Shorten(1, 10),
		"shorten sequence 1: to -1":      p.Shorten(1, -1),
		"shorten sequence 0: it is not":  p.Shorten(0, 0),
		"close sequence 0: it is not":    p.Close(0),
		"of sequence 0: it is not":       p.Fill(0, table, 3, 0),
		"no room for 3 pages":            p.Fill(1, table, 2, 0),
		"row 2 of a table of 6":          p.Fill(1, table, 3, 2),
		"row -1 of a table":              p.Fill(1, table, 3, -1),
		"-1 sequences of 1 pages":        p.Reserve(-1, 1),
		"1 sequences of -1 pages":        p.Reserve(1, -1),
		"1048577 sequences of 1 pages":   p.Reserve(MaxSequences+1, 1),
	} {
		if err == nil || !strings.Contains(err.Error(), mention) {
			t.Errorf("%v, want %q", err, mention)
		}
	}
	if p.Free() != 5 || p.Tokens(1) != 9 {
		t.Errorf("a wrong call changed the pool: %d free", p.Free())
	}
}

func TestOutOfPages(t *testing.T) {
	p := New(3, 4)
	ok(t, p.Open(0))
	ok(t, p.Open(1))
	ok(t, p.Extend(0, 8))
	err := p.Extend(1, 9)
	var out *OutOfPages
	if !errors.As(err, &out) || *out != (OutOfPages{Sequence: 1, Tokens: 9, Need: 3, Free: 1, Pages: 3, PageSize: 4}) {
		t.Fatalf("%v", err)
	}
	if want := "extend sequence 1: by 9 tokens: needs 3 more pages of 4 tokens beside its 0, 1 of 3 are free"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if p.Free() != 1 || p.Tokens(1) != 0 || len(p.Table(1)) != 0 {
		t.Error("a failed Extend took something")
	}
	ok(t, p.Close(0))
	ok(t, p.Extend(1, 9))

	for _, empty := range []*Pool{New(0, 4), New(-1, 4), New(4, 0), New(4, -4)} {
		ok(t, empty.Open(0))
		ok(t, empty.Extend(0, 0))
		if err := empty.Extend(0, 1); !errors.As(err, &out) || empty.Free() != 0 || empty.Pages() != 0 {
			t.Errorf("%v", err)
		}
	}
}

// TestOwnership plays random calls against a pool and checks after each that every
// page is free or in exactly one place of one sequence.
func TestOwnership(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		pages, size := 1+r.IntN(40), 1<<r.IntN(5)
		p := New(pages, size)
		if seed%2 == 0 {
			ok(t, p.Reserve(r.IntN(10), r.IntN(50)))
		}
		length, held := map[int]int{}, map[int]int{} // of the open sequences: tokens, and tokens that the pages hold
		for range 2000 {
			seq, n := r.IntN(8), r.IntN(3*size)
			have, open := length[seq]
			var err error
			switch r.IntN(6) {
			case 0:
				if err = p.Open(seq); err == nil {
					length[seq], held[seq] = 0, 0
				}
			case 1, 2:
				if err = p.Extend(seq, n); err == nil {
					length[seq], held[seq] = have+n, max(held[seq], have+n)
				}
			case 3:
				if err = p.Truncate(seq, min(n, have)); err == nil {
					length[seq], held[seq] = min(n, have), min(n, have)
				}
			case 4:
				if err = p.Close(seq); err == nil {
					delete(length, seq)
					delete(held, seq)
				}
			case 5:
				if err = p.Shorten(seq, min(n, have)); err == nil {
					length[seq] = min(n, have)
				}
			}
			var out *OutOfPages
			if errors.As(err, &out) {
				if need := p.PagesFor(have+n) - p.PagesFor(held[seq]); !open || out.Need != need || out.Free != p.Free() || need <= p.Free() {
					t.Fatalf("seed %d: %v with %d free", seed, err, p.Free())
				}
			}
			checkOwnership(t, p, length, held)
		}
		p.CloseAll()
		checkOwnership(t, p, nil, nil)
	}
}

func checkOwnership(t *testing.T, p *Pool, length, held map[int]int) {
	t.Helper()
	seen := make([]bool, p.Pages())
	take := func(page int32) {
		if seen[page] {
			t.Fatalf("page %d is in two places", page)
		}
		seen[page] = true
	}
	for _, page := range p.free {
		take(page)
	}
	for seq := range 8 {
		n, open := length[seq]
		table := p.Table(seq)
		if p.Tokens(seq) != n || len(table) != p.PagesFor(held[seq]) || open != p.seqOpen(seq) {
			t.Fatalf("sequence %d: %d tokens in %d pages, want %d", seq, p.Tokens(seq), len(table), n)
		}
		for _, page := range table {
			take(page)
		}
	}
	if i := slices.Index(seen, false); i >= 0 {
		t.Fatalf("page %d is lost", i)
	}
}

func (p *Pool) seqOpen(seq int) bool { return seq < len(p.seqs) && p.seqs[seq].open }

// A decode loop over reserved sequences allocates nothing.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	const sequences, each = 8, 32
	p := New(sequences*each, 16)
	ok(t, p.Reserve(sequences, each))
	table := make([]int32, sequences*each)
	allocs := testing.AllocsPerRun(20, func() {
		for seq := range sequences {
			if p.Open(seq) != nil || p.Extend(seq, 100) != nil {
				t.Fatal("no room")
			}
		}
		for range each*16 - 100 {
			for seq := range sequences {
				if p.Extend(seq, 1) != nil || p.Fill(seq, table, each, seq) != nil {
					t.Fatal("no room")
				}
			}
		}
		for seq := range sequences {
			if p.Close(seq) != nil {
				t.Fatal("not open")
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%g allocations", allocs)
	}
	if p.Free() != p.Pages() {
		t.Errorf("%d of %d free", p.Free(), p.Pages())
	}
}

// Reserve keeps what is there.
func TestReserveOfAnOpenSequence(t *testing.T) {
	p := New(8, 1)
	ok(t, p.Open(0))
	ok(t, p.Extend(0, 3))
	ok(t, p.Reserve(2, 100)) // no table needs more than the pool has
	if !slices.Equal(p.Table(0), []int32{0, 1, 2}) || cap(p.Table(0)) != 8 {
		t.Errorf("%v, room for %d", p.Table(0), cap(p.Table(0)))
	}
}

package workload

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/bench/pyrand"
)

// spelled is the tokenizer of the golden data: text is ids in decimal with
// spaces between them, and any other piece is id 0.
type spelled struct {
	vocab   int
	special []int32
	around  int    // copies of id 1 that are put in front of a sequence
	kind    string // identity, drop7, split5
}

func (s spelled) Encode(text string, special bool) ([]int32, error) {
	var ids []int32
	if special {
		for range s.around {
			ids = append(ids, 1)
		}
	}
	for piece := range strings.SplitSeq(text, " ") {
		if piece == "" {
			continue
		}
		n, err := strconv.Atoi(piece)
		if err != nil {
			n = 0
		}
		ids = append(ids, int32(n))
	}
	return ids, nil
}

func (s spelled) Decode(ids []int32) string {
	var pieces []string
	for _, id := range ids {
		switch {
		case s.kind == "drop7" && id%7 == 0:
		case s.kind == "split5" && id%5 == 0:
			pieces = append(pieces, strconv.Itoa(int(id)), strconv.Itoa((int(id)+1)%s.vocab))
		default:
			pieces = append(pieces, strconv.Itoa(int(id)))
		}
	}
	return strings.Join(pieces, " ")
}

func (s spelled) VocabSize() int      { return s.vocab }
func (s spelled) Special() []int32    { return slices.Clone(s.special) }
func (s spelled) Vocabulary() []int32 { return ascending(s.vocab) }

func streams(t *testing.T, seed uint64) *pyrand.Streams {
	t.Helper()
	s, err := pyrand.NewStreams(seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sample draws a dataset that must succeed.
func sample(t *testing.T, d Dataset, seed uint64, tok Tokenizer) Set {
	t.Helper()
	set, err := d.Sample(streams(t, seed), tok)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

package workload

import (
	"fmt"
	"strconv"

	"lathe/bench/pyrand"
)

// Shortage says what becomes of a dataset with fewer usable rows than asked.
type Shortage string

// Fail is ours and the default of the exact harness. Repeat is vLLM's default:
// rows are drawn again, from Python's stream seeded anew. Truncate is vLLM's
// --no-oversample and all that SGLang does.
const (
	Fail     Shortage = "fail"
	Repeat   Shortage = "repeat"
	Truncate Shortage = "truncate"
)

// fillUp brings set to n requests as the policy says. The ids of repeated rows
// go on counting behind idPrefix.
func (set *Set) fillUp(dataset string, n int, policy Shortage, s *pyrand.Streams, seed uint64, idPrefix string) error {
	usable := len(set.Requests)
	if usable >= n {
		return nil
	}
	switch policy {
	case Truncate:
		set.Warnings = append(set.Warnings, fmt.Sprintf("%s dataset: %d usable < %d asked: fewer requests are sent", dataset, usable, n))
		return nil
	case Repeat:
		if usable == 0 {
			break
		}
		s.Python = pyrand.NewPython(seed)
		for i := usable; i < n; i++ {
			k, err := s.Python.Choice(usable)
			if err != nil {
				return fmt.Errorf("%s dataset: %w", dataset, err)
			}
			r := set.Requests[k]
			r.ID = idPrefix + strconv.Itoa(i)
			set.Requests = append(set.Requests, r)
		}
		set.Warnings = append(set.Warnings, fmt.Sprintf(
			"%s dataset: %d requests from %d unique prompts: a repeated prompt can be served from the server's prefix cache", dataset, n, set.Unique()))
		return nil
	}
	return fmt.Errorf("%s dataset: %d usable < %d: %w", dataset, usable, n, ErrShort)
}

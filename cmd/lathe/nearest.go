package main

import "strings"

// nearest returns the candidate that name most likely meant: the smallest edit distance (insert,
// delete, replace, swap of neighbours) to the candidate or, one step further away, to a prefix of
// it. A name counts as a slip up to a third of its letters, and up to 4. Of equals the first wins.
func nearest(name string, candidates []string) (string, bool) {
	name = strings.TrimLeft(name, "-")
	limit := min((len(name)+2)/3, 4)
	best, found := "", false
	for _, c := range candidates {
		if d := slipDistance(name, strings.TrimLeft(c, "-")); d <= limit {
			best, found, limit = c, true, d-1
		}
	}
	return best, found
}

// slipDistance is the optimal string alignment distance of a to b in bytes, or to the best proper
// prefix of b plus one.
func slipDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	best := last[len(b)]
	for _, d := range last {
		best = min(best, d+1)
	}
	return best
}

package audit

import "slices"

// rows is the incomparability table, in its order: load generation (A),
// transport (B), stamps (C), tokens (D), aggregates (E), files (F), lifecycle
// (G), and what no harness decides (W).
func rows() []row {
	return slices.Concat(loadRows(), transportRows(), stampRows(), tokenRows(), aggregateRows(), fileRows(), lifecycleRows(), workRows())
}

// Row is one row of the table, for a list of them.
type Row struct {
	ID, Topic string
	Moves     []Figure
	Never     string // why it moves no number, "" where it can
}

// Rows lists the table.
func Rows() []Row {
	var all []Row
	for _, r := range rows() {
		all = append(all, Row{r.id, r.topic, r.moves, r.never})
	}
	return all
}

package operator

// spec is one case of an operator: shapes and element types. Its rows must not influence each other,
// and what row i holds follows from a seed and ids[i] alone.
type spec interface {
	name() string
	rows() int
	only(row int) spec // the same case with that row alone
	build(seed uint64, ids []uint64) *problem
}

// identities are the ids of a batch in order.
func identities(n int) []uint64 {
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(i)
	}
	return ids
}

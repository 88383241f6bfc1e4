package operator

// ropeShapes are the places that rows can stand in, with heads and pages.
func ropeShapes(e elems) []ropeSpec {
	page := func(kvHeads, dim, size int) paging {
		return paging{kvHeads: kvHeads, headDim: dim, pageSize: size, elem: e.weight}
	}
	odd, heads := page(2, 64, 16), page(2, 64, 16)
	odd.odd, heads.headMajor = true, true
	return []ropeSpec{
		{label: "the first token", paging: page(2, 64, 16), qHeads: 4, places: []place{{0, 0}}, maxPosition: 8},
		{label: "a batch", paging: page(2, 64, 16), qHeads: 4, places: []place{{0, 15}, {1, 16}, {2, 17}, {3, 0}}, maxPosition: 32},
		{label: "padded rows", paging: page(1, 64, 32), qHeads: 2, places: []place{{0, -1}, {1, 31}, {2, -1}, {3, 32}}, maxPosition: 40},
		{label: "rows of one sequence", paging: page(1, 64, 4), qHeads: 3, places: []place{{0, 6}, {0, 7}, {0, 8}, {1, 2}, {1, 3}}, maxPosition: 16},
		{label: "wide heads", paging: page(2, 128, 64), qHeads: 8, places: []place{{0, 63}, {1, 300}}, maxPosition: 301},
		{label: "pages of one token", paging: page(3, 64, 1), qHeads: 9, places: []place{{0, 5}, {1, 2}}, maxPosition: 6},
		{label: "odd strides", paging: odd, qHeads: 4, places: []place{{0, 20}, {1, 3}}, maxPosition: 21},
		{label: "pages by head", paging: heads, qHeads: 4, places: []place{{0, 33}, {1, 1}}, maxPosition: 64},
	}
}

func ropeCases(e elems) []spec {
	var out []spec
	for _, s := range ropeShapes(e) {
		s.qkv = e.in
		out = append(out, s)
	}
	return out
}

func qkvCases(e elems) []spec {
	var out []spec
	for i, s := range ropeShapes(e) {
		s.qkv = e.out
		out = append(out, qkvSpec{rope: s, hidden: []int{64, 192, 100, 576}[i%4], x: e.in, w: e.weight, gain: e.bias(), between: e.between, bias: i%3 == 1})
	}
	return out
}

func gateUpCases(e elems) []spec {
	var out []spec
	for _, s := range []gateUpSpec{
		{label: "one row", batch: 1, hidden: 64, ffn: 96},
		{label: "rows", batch: 3, hidden: 576, ffn: 128},
		{label: "many rows", batch: 17, hidden: 128, ffn: 64},
		{label: "odd strides", batch: 4, hidden: 99, ffn: 101, odd: true},
		{label: "bias", batch: 2, hidden: 128, ffn: 160, bias: true},
	} {
		s.x, s.w, s.out, s.gain, s.between = e.in, e.weight, e.out, e.bias(), e.between
		out = append(out, s)
	}
	return out
}

func headCases(e elems) []spec {
	var out []spec
	for _, s := range []headSpec{
		{label: "one row", batch: 1, hidden: 64, vocab: 256},
		{label: "one row", batch: 1, hidden: 576, vocab: 1000, logits: true},
		{label: "rows", batch: 5, hidden: 128, vocab: 515, logits: true},
		{label: "rows", batch: 4, hidden: 192, vocab: 259},
		{label: "odd strides", batch: 3, hidden: 99, vocab: 131, logits: true, odd: true},
	} {
		s.x, s.w, s.gain, s.between = e.in, e.weight, e.bias(), e.between
		out = append(out, s)
	}
	return out
}

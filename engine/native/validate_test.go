//go:build cgo

package native_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"lathe/engine/native"
)

// refused asks for an error of one kind that says every one of the words.
func refused(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("error is %v, want one of kind %q", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q: more than one line", err)
	}
	namedOnce(t, err)
}

// namedOnce asks that no part of "op: subject: why" repeats the one before it, nor
// its last word.
func namedOnce(t *testing.T, err error) {
	t.Helper()
	parts := strings.Split(err.Error(), ": ")
	for i, part := range parts[1:] {
		before := parts[i]
		last := before[strings.LastIndex(before, " ")+1:]
		if part == before || part == last || strings.HasPrefix(part, before+" ") {
			t.Errorf("%q names %q twice", err, part)
		}
	}
}

func TestModelDescRefused(t *testing.T) {
	inf := float32(math.Inf(1))
	cases := map[string]struct {
		edit  func(d *native.ModelDesc)
		words []string
	}{
		"vocab":        {func(d *native.ModelDesc) { d.Vocab = 0 }, []string{"vocab is 0"}},
		"hidden":       {func(d *native.ModelDesc) { d.Hidden = -4 }, []string{"hidden is -4"}},
		"layers":       {func(d *native.ModelDesc) { d.Layers = 0 }, []string{"layers is 0"}},
		"many layers":  {func(d *native.ModelDesc) { d.Layers = 1 << 30 }, []string{"layers is 1073741824"}},
		"q heads":      {func(d *native.ModelDesc) { d.QHeads = 0 }, []string{"q_heads is 0"}},
		"kv heads":     {func(d *native.ModelDesc) { d.KVHeads = 0 }, []string{"kv_heads is 0"}},
		"ungrouped":    {func(d *native.ModelDesc) { d.KVHeads = 4 }, []string{"q_heads is 6", "kv_heads 4"}},
		"head dim":     {func(d *native.ModelDesc) { d.HeadDim, d.InvFreq = 0, nil }, []string{"head_dim is 0"}},
		"odd head dim": {func(d *native.ModelDesc) { d.HeadDim = 11 }, []string{"head_dim is 11", "even"}},
		"ffn":          {func(d *native.ModelDesc) { d.FFN = 0 }, []string{"ffn is 0"}},
		"positions":    {func(d *native.ModelDesc) { d.MaxPosition = 0 }, []string{"max_position is 0"}},
		"not 32 bits":  {func(d *native.ModelDesc) { d.Hidden = 1 << 40 }, []string{"hidden is 1099511627776"}},
		"q too wide":   {func(d *native.ModelDesc) { d.QHeads, d.KVHeads = 1<<30, 1 }, []string{"q_heads 1073741824 x head_dim 10"}},
		"eps":          {func(d *native.ModelDesc) { d.RMSEps = -1 }, []string{"rms_eps is -1"}},
		"eps infinite": {func(d *native.ModelDesc) { d.RMSEps = inf }, []string{"rms_eps is inf"}},
		"rope scale":   {func(d *native.ModelDesc) { d.RopeScale = -2 }, []string{"rope_scale is -2"}},
		"inv_freq":     {func(d *native.ModelDesc) { d.InvFreq[3] = inf }, []string{"inv_freq[3] is inf"}},
		"few inv_freq": {func(d *native.ModelDesc) { d.InvFreq = d.InvFreq[:2] }, []string{"inv_freq has 2 values", "needs 5"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := smallDesc()
			c.edit(&d)
			_, err := reference(t).NewModel(d)
			refused(t, err, native.ErrInvalid, c.words...)
		})
	}
}

func TestTensorRefused(t *testing.T) {
	d := smallDesc()
	d.Tied = true
	m, err := reference(t).NewModel(d)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	nan := float32(math.NaN())
	cases := map[string]struct {
		err   error
		words []string
	}{
		"role":        {m.SeedTensor(99, 0, 1, 1, 0, 1), []string{"role 99"}},
		"head tied":   {m.SeedTensor(native.RoleHead, -1, d.Vocab, d.Hidden, 0, 1), []string{"lm_head.weight", "has none"}},
		"bias":        {m.SeedTensor(native.RoleQBias, 0, 1, 60, 0, 1), []string{"q_proj.bias", "has none"}},
		"layer":       {m.SeedTensor(native.RoleQ, 3, 60, 40, 0, 1), []string{"q_proj.weight of layer 3"}},
		"layer below": {m.SeedTensor(native.RoleQ, -1, 60, 40, 0, 1), []string{"of layer -1"}},
		"global":      {m.SeedTensor(native.RoleEmbed, 0, 61, 40, 0, 1), []string{"embed_tokens.weight of layer 0"}},
		"rows":        {m.SeedTensor(native.RoleQ, 1, 61, 40, 0, 1), []string{"layer 1 q_proj.weight", "[61, 40]", "[60, 40]"}},
		"norm shape":  {m.SeedTensor(native.RoleNormFinal, -1, 40, 1, 0, 0), []string{"norm.weight", "[40, 1]", "[1, 40]"}},
		"std":         {m.SeedTensor(native.RoleQ, 1, 60, 40, 0, -1), []string{"std is -1"}},
		"std nan":     {m.SeedTensor(native.RoleQ, 1, 60, 40, 0, nan), []string{"std is"}},
		"dtype":       {m.SetTensor(native.RoleQ, 1, 7, 60, 40, nil), []string{"dtype 7"}},
		"bytes":       {m.SetTensor(native.RoleQ, 1, native.F32, 60, 40, make([]byte, 60*40*4-1)), []string{"9599 bytes"}},
		"other shape": {m.SetTensor(native.RoleQ, 1, native.F32, 60, 40, make([]byte, 61*40*4)), []string{"9760 bytes"}},
		"no rows":     {m.SetTensor(native.RoleQ, 1, native.F32, 0, 40, nil), []string{"[0, 40]"}},
		"64-bit rows": {m.SeedTensor(native.RoleQ, 1, 1<<33, 40, 0, 1), []string{"rows is 8589934592"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { refused(t, c.err, native.ErrInvalid, c.words...) })
	}
	refused(t, m.Ready(), native.ErrState, "embed_tokens.weight", "29 tensors missing")
	_, err = m.NewSession(options(16, 1))
	refused(t, err, native.ErrState, "not ready")
}

// TestHugeTensor: a size that cannot fit is refused before anything is allocated.
func TestHugeTensor(t *testing.T) {
	d := smallDesc()
	d.Vocab, d.Hidden, d.FFN = math.MaxInt32, math.MaxInt32, math.MaxInt32
	m, err := reference(t).NewModel(d)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	refused(t, m.SeedTensor(native.RoleEmbed, -1, d.Vocab, d.Hidden, 0, 1), native.ErrMemory,
		"embed_tokens.weight", "9223372028264841218 bytes")
	refused(t, m.SeedTensor(native.RoleDown, 0, d.Hidden, d.FFN, 0, 1), native.ErrMemory, "down_proj.weight")
}

func TestSessionRefused(t *testing.T) {
	m := newTiny(smallDesc(), 1).open(t, reference(t))
	refused(t, m.SeedTensor(native.RoleQ, 0, 60, 40, 0, 1), native.ErrState, "ready")
	cases := map[string]struct {
		edit  func(o *native.SessionOptions)
		kind  error
		words []string
	}{
		"threads":         {func(o *native.SessionOptions) { o.Threads = -1 }, native.ErrInvalid, []string{"threads is -1"}},
		"many threads":    {func(o *native.SessionOptions) { o.Threads = 5000 }, native.ErrInvalid, []string{"threads is 5000"}},
		"page size":       {func(o *native.SessionOptions) { o.PageSize = 24 }, native.ErrInvalid, []string{"page_size is 24"}},
		"page size 0":     {func(o *native.SessionOptions) { o.PageSize = 0 }, native.ErrInvalid, []string{"page_size is 0"}},
		"large page":      {func(o *native.SessionOptions) { o.PageSize = 512 }, native.ErrInvalid, []string{"page_size is 512"}},
		"pages":           {func(o *native.SessionOptions) { o.Pages = 0 }, native.ErrInvalid, []string{"pages is 0"}},
		"rows":            {func(o *native.SessionOptions) { o.MaxRows = 0 }, native.ErrInvalid, []string{"max_rows is 0"}},
		"sequences":       {func(o *native.SessionOptions) { o.MaxSequences = 0 }, native.ErrInvalid, []string{"max_sequences is 0"}},
		"logits":          {func(o *native.SessionOptions) { o.MaxLogits = 0 }, native.ErrInvalid, []string{"max_logits is 0"}},
		"logits over":     {func(o *native.SessionOptions) { o.MaxLogits = 257 }, native.ErrInvalid, []string{"max_logits is 257", "256"}},
		"kv dtype":        {func(o *native.SessionOptions) { o.KV = native.F16 }, native.ErrInvalid, []string{"kv_dtype is 1 (f16)"}},
		"device":          {func(o *native.SessionOptions) { o.Device = 1 }, native.ErrInvalid, []string{"device 1"}},
		"graph rows":      {func(o *native.SessionOptions) { o.GraphMaxRows = -1 }, native.ErrInvalid, []string{"graph_max_rows is -1"}},
		"isa":             {func(o *native.SessionOptions) { o.ISA = "avx9" }, native.ErrUnsupported, []string{`"avx9"`}},
		"long isa":        {func(o *native.SessionOptions) { o.ISA = strings.Repeat("x", 32) }, native.ErrInvalid, []string{"isa", "31"}},
		"64-bit pages":    {func(o *native.SessionOptions) { o.Pages = 1 << 40 }, native.ErrInvalid, []string{"pages is 1099511627776"}},
		"override":        {func(o *native.SessionOptions) { o.Overrides = []native.Override{{Op: "rmsnorm"}} }, native.ErrUnsupported, []string{"rmsnorm"}},
		"kv does not fit": {func(o *native.SessionOptions) { o.PageSize, o.Pages = 256, math.MaxInt32 }, native.ErrMemory, []string{"kv pool needs", "bytes"}},
		"rows do not fit": {func(o *native.SessionOptions) { o.MaxRows = math.MaxInt32 }, native.ErrMemory, []string{"workspace needs"}},
		"logits do not":   {func(o *native.SessionOptions) { o.MaxRows, o.MaxLogits = math.MaxInt32, math.MaxInt32 }, native.ErrMemory, []string{"needs"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := options(16, 1)
			c.edit(&o)
			_, err := m.NewSession(o)
			refused(t, err, c.kind, c.words...)
		})
	}
}

func TestSubmitRefused(t *testing.T) {
	tiny := newTiny(smallDesc(), 1)
	m := tiny.open(t, reference(t))
	o := options(16, 1)
	s := open(t, m, o)
	many := make([]int32, 257)
	cases := map[string]struct {
		edit  func(b *native.Batch)
		words []string
	}{
		"no rows":       {func(b *native.Batch) { b.Tokens, b.Sequences, b.Positions, b.Want = nil, nil, nil, nil }, []string{"0 rows"}},
		"many rows":     {func(b *native.Batch) { b.Tokens, b.Sequences, b.Positions = many, many, many }, []string{"257 rows", "256"}},
		"lengths":       {func(b *native.Batch) { b.Positions = b.Positions[:3] }, []string{"5 tokens", "3 positions"}},
		"token":         {func(b *native.Batch) { b.Tokens[1] = 61 }, []string{"row 1 has token 61", "0 to 60"}},
		"token -2":      {func(b *native.Batch) { b.Tokens[0] = -2 }, []string{"token -2"}},
		"no feedback":   {func(b *native.Batch) { b.Tokens[0] = -1 }, []string{"row 0 has token -1", "sequence 0"}},
		"feedback deep": {func(b *native.Batch) { b.Tokens[1] = -1 }, []string{"row 1 has token -1"}},
		"sequence":      {func(b *native.Batch) { b.Sequences[4] = 4 }, []string{"sequence 4", "0 to 3"}},
		"sequence -1":   {func(b *native.Batch) { b.Sequences[4] = -1 }, []string{"sequence -1"}},
		"sequences":     {func(b *native.Batch) { b.NumSequences, b.PageTable = 5, make([]int32, 1<<10) }, []string{"5 sequences", "max_sequences 4"}},
		"no sequences":  {func(b *native.Batch) { b.NumSequences = 0 }, []string{"0 sequences"}},
		"apart":         {func(b *native.Batch) { b.Sequences[4] = 0 }, []string{"row 4 is of sequence 0", "not adjacent"}},
		"gap":           {func(b *native.Batch) { b.Positions[1] = 2 }, []string{"row 1 of sequence 0 is at position 2", "follow 0"}},
		"backwards":     {func(b *native.Batch) { b.Positions[0], b.Positions[1] = 1, 0 }, []string{"at position 0", "follow 1"}},
		"position":      {func(b *native.Batch) { b.Positions[4] = 512 }, []string{"position 512", "0 to 511"}},
		"position -1":   {func(b *native.Batch) { b.Positions[0] = -1 }, []string{"position -1"}},
		"page":          {func(b *native.Batch) { b.PageTable[0] = 64 }, []string{"page 0 of sequence 0 is 64", "0 to 63"}},
		"page -1":       {func(b *native.Batch) { b.PageTable[b.PageStride] = -1 }, []string{"page 0 of sequence 1 is -1"}},
		"earlier page": {func(b *native.Batch) { b.Positions[4], b.PageTable[2*b.PageStride+1] = 40, 99 },
			[]string{"page 1 of sequence 2 is 99"}},
		"stride":      {func(b *native.Batch) { b.PageStride, b.Positions[4] = 1, 16 }, []string{"needs page 1", "page_stride is 1"}},
		"stride 0":    {func(b *native.Batch) { b.PageStride = 0 }, []string{"page_stride is 0"}},
		"short table": {func(b *native.Batch) { b.PageTable = b.PageTable[:60] }, []string{"60 entries", "64"}},
		"want":        {func(b *native.Batch) { b.Want[4] = 5 }, []string{"want_rows[4] is 5", "0 to 4"}},
		"want twice":  {func(b *native.Batch) { b.Want[1] = 0 }, []string{"want_rows[1] is 0 after 0"}},
		"want more":   {func(b *native.Batch) { b.Want = many[:6] }, []string{"6 rows want logits of 5"}},
		"flags":       {func(b *native.Batch) { b.Flags = 8 }, []string{"flags 0x8"}},
	}
	fresh := func() *native.Batch {
		return batch(o, chunk{0, 0, []int32{3, 4}}, chunk{1, 0, []int32{5, 6}}, chunk{2, 0, []int32{7}})
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := fresh()
			c.edit(b)
			refused(t, s.Submit(b), native.ErrInvalid, c.words...)
		})
	}
	if err := s.Wait(nil, nil); err != nil {
		t.Errorf("wait after refused batches: %v", err)
	}
	step(t, s, tiny.desc.Vocab, fresh()) // and the session still works
}

//go:build unix

package operator

import (
	"os"
	"testing"

	"lathe/engine/native"
)

// TestOursPass judges our own operators as a user's kernel is judged: a copy of them must pass. Seeds
// are fixed, so that a failure stays.
func TestOursPass(t *testing.T) {
	info := native.ReplaceableOps()
	seeds := 8
	if testing.Short() {
		seeds = 2
	}
	arena := make([]byte, 64<<20)
	for _, isa := range []string{"", "portable"} {
		ours, err := newOurs(arena, isa)
		if err != nil {
			t.Fatal(err)
		}
		defer ours.close()
		for _, op := range info {
			if op == "gemm" {
				continue // each of its roles is there
			}
			specs, err := casesOf(op)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range specs {
				for seed := range seeds {
					judgeOurs(t, arena, ours, s, uint64(seed))
				}
			}
		}
	}
}

func judgeOurs(t *testing.T, arena []byte, ours *ourOperators, s spec, seed uint64) {
	t.Helper()
	p := s.build(mix(seed), identities(s.rows()))
	p.solve(p)
	c := &checker{host: memoryOnly(arena), page: os.Getpagesize(), builtin: ours, pools: map[class]*pool{}}
	distances, err := c.ours(p)
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.lay(p, 0, placement{front: true}, ours.base())
	if err != nil {
		t.Fatal(err)
	}
	bytes, ok, err := ours.workspace(p.op, l.args.from)
	if err != nil || !ok {
		t.Errorf("%s: %s: not supported: %v", p.op, s.name(), err)
		return
	}
	p.poison(poisonA)
	if l, err = c.lay(p, bytes, placement{front: true}, ours.base()); err != nil {
		t.Fatal(err)
	}
	if code, err := ours.run(p.op, l.args.from, l.workspace); code != 0 || err != nil {
		t.Errorf("%s: %s: returned %d, %v", p.op, s.name(), code, err)
		return
	}
	got, allowed := make([][]byte, len(p.regions)), make([]float64, len(p.regions))
	for i, at := range l.regions {
		got[i], allowed[i] = arena[at.from:][:at.n], p.allowed(i, distances[i])
	}
	if o := judge(p, got, poisonA, allowed); !o.right() {
		t.Errorf("%s: %s: seed %d: %s", p.op, s.name(), seed, o.fault())
	}
	if text := l.intact(p, arena); text != "" {
		t.Errorf("%s: %s: %s", p.op, s.name(), text)
	}
}

// memoryOnly is a host without a process.
type memoryOnly []byte

func (m memoryOnly) memory() []byte             { return m }
func (m memoryOnly) base() uint64               { return 0 }
func (m memoryOnly) open([]span) error          { return nil }
func (m memoryOnly) supports(int) (bool, error) { return true, nil }
func (m memoryOnly) workspace(int) (int, error) { return 0, nil }
func (m memoryOnly) call(call) (int32, error)   { return 0, nil }

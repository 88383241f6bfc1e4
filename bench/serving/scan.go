package serving

import (
	"errors"
	"io"

	"lathe/bench"
)

// Capture is what a capture holds besides its requests.
type Capture struct {
	Run      bench.Run
	End      *bench.End // nil where it was cut
	Warnings []string
}

// DurationNS is the run's; -1 where the capture has no end.
func (c *Capture) DurationNS() int64 {
	if c.End == nil {
		return -1
	}
	return c.End.DurationNS
}

// Scan feeds a capture to the readings, once through, and returns the rest of
// it. Their results are then to be taken.
func Scan(r *bench.Reader, readings ...*Reading) (*Capture, error) {
	c := &Capture{}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			c.Warnings = append(c.Warnings, r.Warnings()...)
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		switch v := rec.(type) {
		case *bench.Run:
			c.Run = *v
		case *bench.End:
			c.End = v
		case *bench.Reads:
			for _, g := range readings {
				g.Reads(v)
			}
		case *bench.Request:
			for _, g := range readings {
				g.Request(v)
			}
		}
	}
}

// Read scans a capture and computes one reading of it for each semantics.
func Read(r *bench.Reader, all []Semantics, opt Options) (*Capture, []*Result, error) {
	readings := make([]*Reading, len(all))
	for i, s := range all {
		g, err := NewReading(s, opt)
		if err != nil {
			return nil, nil, err
		}
		readings[i] = g
	}
	c, err := Scan(r, readings...)
	if err != nil {
		return nil, nil, err
	}
	results := make([]*Result, len(all))
	for i, g := range readings {
		results[i] = g.Result(c.DurationNS())
	}
	return c, results, nil
}

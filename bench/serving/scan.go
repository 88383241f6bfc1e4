package serving

import (
	"errors"
	"io"
	"sync"

	"lathe/bench"
	"lathe/bench/frame"
)

// Capture is what a capture holds besides its requests.
type Capture struct {
	Run      bench.Run
	Answers  []bench.Answer   // of the server about itself, in their order
	Probes   []bench.Probe    // beside the requests, in their order
	Client   *bench.ClientRun // nil where it was cut, or written by another tool
	End      *bench.End       // nil where it was cut
	Warnings []string
}

// DurationNS is the run's; -1 where the capture has no end.
func (c *Capture) DurationNS() int64 {
	if c.End == nil {
		return -1
	}
	return c.End.DurationNS
}

// ahead is how many lines of a capture are held for readings that are slower
// than the file.
const ahead = 16

// Scan feeds a capture to the readings, once through, and returns the rest of
// it. Their results are then to be taken. The readings run beside the decoding of
// the file, and read by read beside each other: most frames are the same bytes to
// all of them, and the document that they share is read once.
func Scan(r *bench.Reader, readings ...*Reading) (*Capture, error) {
	doc := new(frame.Doc)
	for _, g := range readings {
		g.doc = doc
	}
	feed := make(chan any, ahead)
	var reading sync.WaitGroup
	reading.Go(func() {
		for rec := range feed {
			record(readings, rec)
		}
	})
	c := &Capture{}
	err := c.scan(r, func(rec any) { feed <- rec })
	close(feed)
	reading.Wait()
	if err != nil {
		return nil, err
	}
	return c, nil
}

func record(readings []*Reading, rec any) {
	switch v := rec.(type) {
	case *bench.Reads:
		takeReads(readings, v.ID, v.Reads)
	case *bench.Request:
		takeReads(readings, v.ID, v.Reads)
		for _, g := range readings {
			g.close(v)
		}
	}
}

// scan reads the file to its end; feed takes what readings are made of.
func (c *Capture) scan(r *bench.Reader, feed func(rec any)) error {
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			c.Warnings = append(c.Warnings, r.Warnings()...)
			return nil
		}
		if err != nil {
			return err
		}
		switch v := rec.(type) {
		case *bench.Run:
			c.Run = *v
		case *bench.Answer:
			c.Answers = append(c.Answers, *v)
		case *bench.Probe:
			c.Probes = append(c.Probes, *v)
		case *bench.ClientRun:
			c.Client = v
		case *bench.End:
			c.End = v
		case *bench.Reads, *bench.Request:
			feed(v)
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
		g.told(c.Answers)
		results[i] = g.Result(c.DurationNS())
	}
	return c, results, nil
}

// told takes the acceptance length out of what the server said of itself, where SGLang's client would
// and the options name none.
func (g *Reading) told(answers []bench.Answer) {
	if g.sem.Harness != SGLang || g.opt.AcceptLength != 0 {
		return
	}
	for _, a := range answers {
		if a.Path == "/server_info" && a.Status == 200 {
			_, g.opt.AcceptLength = AcceptLength([]byte(a.Body), g.sem.Backend)
			return
		}
	}
}

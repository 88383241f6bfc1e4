package serving

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/bench"
	"lathe/bench/frame"
)

// frames is one open request under the rules of one harness.
type frames interface {
	read(b []byte, t int64)
	// close takes the request's own line; head is how the body began.
	close(r *bench.Request, head []byte) Outcome
}

// Reading is one semantics over one capture, fed record by record.
type Reading struct {
	sem     Semantics
	opt     Options
	sw      Switches
	doc     *frame.Doc // scratch; Scan shares one
	open    map[string]*request
	done    []Outcome
	exact   []ExactRequest
	order   []string
	sched   []int64
	first   int64 // earliest scheduled time
	last    int64 // latest time seen
	misfit  int   // requests of an endpoint that the backend does not read
	unasked int   // frames that Options.UsageAsked leaves out
	lag     lags
}

type request struct {
	frames frames
	exact  *exactFrames
	head   []byte
}

// NewReading starts a reading. The options must be valid.
func NewReading(sem Semantics, opt Options) (*Reading, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	sw, _ := SwitchesOf(opt.Version)
	if sem.Wire == Responses && !sw.ResponsesBackend {
		return nil, fmt.Errorf("semantics %s: not in version %s", sem, opt.Version)
	}
	return &Reading{sem: sem, opt: opt, sw: sw, doc: new(frame.Doc), open: map[string]*request{}, first: -1}, nil
}

// Semantics is whose reading it is.
func (g *Reading) Semantics() Semantics { return g.sem }

func (g *Reading) request(id string) *request {
	q := g.open[id]
	if q != nil {
		return q
	}
	q = &request{}
	switch {
	case g.sem.Harness == Exact:
		q.exact = newExact(g.doc, &g.lag)
	case g.sem.Wire == Responses:
		q.frames = newResponses(g.sw, g.doc)
	case g.sem.Harness == VLLM:
		q.frames = newVLLM(g.sem.Wire, g.sw, g.doc)
	default:
		q.frames = newSGLang(g.sem.Wire, g.opt, g.sw, g.doc)
	}
	g.open[id] = q
	return q
}

// Reads takes reads of a request that is not closed yet.
func (g *Reading) Reads(r *bench.Reads) { takeReads([]*Reading{g}, r.ID, r.Reads) }

// takeReads feeds reads of one request to readings, each read to all of them: a
// frame that is the same to each is then parsed once.
func takeReads(readings []*Reading, id string, reads []bench.Read) {
	var room [4]*request
	requests := room[:0]
	for _, g := range readings {
		requests = append(requests, g.request(id))
	}
	for i := range reads {
		for k, g := range readings {
			requests[k].take(g, &reads[i])
		}
	}
}

func (q *request) take(g *Reading, r *bench.Read) {
	g.last = max(g.last, r.TNS)
	if g.sem.Harness != VLLM {
		q.keep(r.B64)
	}
	if q.exact != nil {
		q.exact.read(r)
		return
	}
	q.frames.read(r.B64, r.TNS)
}

// What is kept of a body for the text of an error: less where it looks like an
// event stream, of which an error page is not made.
const (
	headOfPage   = 64 << 10
	headOfStream = 4 << 10
)

func (q *request) keep(b []byte) {
	limit := headOfPage
	if streamed(q.head) {
		limit = headOfStream
	}
	n := min(len(b), limit-len(q.head))
	if n <= 0 {
		return
	}
	if q.head == nil {
		q.head = make([]byte, 0, headOfStream)
	}
	q.head = append(q.head, b[:n]...)
}

// streamed says whether a body that begins with head looks like an event stream.
func streamed(head []byte) bool {
	for len(head) > 0 && (head[0] == ' ' || head[0] == '\r' || head[0] == '\n') {
		head = head[1:]
	}
	return bytes.HasPrefix(head, []byte("data:")) || bytes.HasPrefix(head, []byte(":"))
}

// Request takes a request's own line, which closes it.
func (g *Reading) Request(r *bench.Request) {
	takeReads([]*Reading{g}, r.ID, r.Reads)
	g.close(r)
}

// close closes a request whose reads have been taken.
func (g *Reading) close(r *bench.Request) {
	q := g.request(r.ID)
	delete(g.open, r.ID)
	if r.End != nil {
		g.last = max(g.last, r.End.TNS)
	}
	if g.first < 0 || r.ScheduledNS < g.first {
		g.first = r.ScheduledNS
	}
	g.order, g.sched = append(g.order, r.ID), append(g.sched, r.ScheduledNS)
	if q.exact != nil {
		g.exact = append(g.exact, q.exact.close(r, q.head, g.opt))
		return
	}
	if wire, ok := wireOfEndpoint(r.Endpoint); !ok || wire != g.sem.Wire {
		g.misfit++
	}
	if s, ok := q.frames.(*sglangFrames); ok {
		g.unasked += s.left
	}
	g.done = append(g.done, q.frames.close(r, q.head))
}

// dispatch is the order in which the requests were handed out: by the number
// in their ids where all are one prefix with numbers, else by scheduled time.
func (g *Reading) dispatch() []int {
	index := make([]int, len(g.order))
	for i := range index {
		index[i] = i
	}
	key := slices.Clone(g.sched)
	if n, ok := numbered(g.order); ok {
		key = n
	}
	slices.SortStableFunc(index, func(a, b int) int {
		switch {
		case key[a] < key[b]:
			return -1
		case key[a] > key[b]:
			return 1
		}
		return 0
	})
	return index
}

func numbered(ids []string) ([]int64, bool) {
	n := make([]int64, len(ids))
	prefix := ""
	for i, id := range ids {
		head := strings.TrimRight(id, "0123456789")
		if i == 0 {
			prefix = head
		}
		x, err := strconv.ParseInt(id[len(head):], 10, 64)
		if err != nil || head != prefix {
			return nil, false
		}
		n[i] = x
	}
	return n, true
}

// Result is what a reading says of a capture. Which of VLLM, SGLang and Exact is
// set follows the semantics; all are nil after an Err.
type Result struct {
	Semantics  Semantics
	Version    Version
	DurationNS int64
	Requests   []Outcome      // in dispatch order; nil for exact
	Exact      []ExactRequest // in dispatch order; nil for the harnesses
	OutputLens []Count        // a request; nil after an Err

	VLLM    *VLLMMetrics
	SGLang  *SGLangMetrics
	ExactM  *ExactMetrics
	Goodput *SGLangGoodput
	// GoodputErr is the class of the exception that refuses the goodput arguments
	// of SGLang, which has the metrics all the same.
	GoodputErr string
	// Cache is SGLang's cache report, where it was asked for. CacheErr is the class
	// of the exception that ends SGLang's client in it, behind its metrics and
	// before its result file.
	Cache    *SGLangCache
	CacheErr string

	Unasked  int    // usage frames that Options.UsageAsked left out
	Err      string // class of the exception that ends the harness's aggregation
	Warnings []string
}

// Result closes the reading. duration is the run's; negative where the capture
// has none, as one that was killed: then it is the span from the first
// scheduled request to the last stamp.
func (g *Reading) Result(durationNS int64) *Result {
	r := &Result{Semantics: g.sem, Version: g.opt.Version, DurationNS: durationNS, Unasked: g.unasked}
	if durationNS < 0 {
		r.DurationNS = max(0, g.last-max(0, g.first))
		r.Warnings = append(r.Warnings, "the capture has no end: its duration is taken to its last stamp")
	}
	if n := len(g.open); n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d requests were open when the capture ended and are left out", n))
	}
	if g.misfit > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d requests went to an endpoint that this backend does not read", g.misfit, len(g.order)))
	}
	index := g.dispatch()
	if g.sem.Harness == Exact {
		r.Exact = make([]ExactRequest, 0, len(index))
		for _, i := range index {
			r.Exact = append(r.Exact, g.exact[i])
		}
		exactMetrics(r, g.opt, len(g.open), &g.lag)
		return r
	}
	r.Requests = make([]Outcome, 0, len(index))
	for _, i := range index {
		r.Requests = append(r.Requests, g.done[i])
	}
	g.done = nil
	if g.sem.Harness == VLLM {
		vllmMetrics(r, g.opt, g.sw)
	} else {
		sglangMetrics(r, g.opt, g.sw)
	}
	return r
}

// outcomeOf is a failed outcome with what the request's line says.
func outcomeOf(r *bench.Request) Outcome {
	o := Outcome{
		ID: r.ID, StartNS: r.SentNS, QueueNS: r.SentNS - r.ScheduledNS, Prompt: counted(r.PromptLen),
		ITL: []float64{}, RowPrompt: r.PromptLen, RowText: r.PromptLen, counts: -1,
	}
	if r.TextPromptLen != nil {
		o.RowText = *r.TextPromptLen
	}
	if r.VisionPromptLen != nil {
		o.RowVision = *r.VisionPromptLen
	}
	return o
}

func (o *Outcome) fail(f failure) { o.ErrorClass, o.ErrorText = f.class, f.text }

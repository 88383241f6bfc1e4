package load

import (
	"math"
	"sync"
	"time"

	"lathe/bench"
)

// How often and at which size what was received goes to the file. A process
// killed at any moment loses what came since the last flush.
const (
	flushEvery  = 500 * time.Millisecond
	batchBytes  = 8 << 20
	batchMarks  = 128 << 10
	bytesAReads = 32 << 10 // of one "reads" line, and of the lines written together
)

// readSize is what one read of a socket takes at most, as the event loop below
// both harnesses does.
const readSize = 256 << 10

// mark is one socket read of one exchange.
type mark struct {
	t, kernel int64 // kernel: wall clock, 0 for none
	from, to  int   // in the batch's data
	next      int32 // next mark of the same exchange, -1: none
}

// place is where an exchange's reads begin and end in a batch.
type place struct {
	number uint64 // of the batch
	slot   int32
}

// streamReads are the reads of one exchange in one batch.
type streamReads struct {
	id          string
	first, last int32
}

// batch is what came since the last flush.
type batch struct {
	number  uint64
	data    []byte
	marks   []mark
	streams []streamReads
	closes  []any // records
}

// newBatch has the memory of a batch that is written before its time, and has it
// from the system: a reading thread that makes room meets no page faults.
func newBatch(number uint64) *batch {
	b := &batch{number: number, data: make([]byte, batchBytes/2+readSize), marks: make([]mark, batchMarks/2+1), streams: make([]streamReads, 1024)}
	clear(b.data)
	clear(b.marks)
	clear(b.streams)
	b.reset(number)
	return b
}

func (b *batch) full() bool { return len(b.data) >= batchBytes || len(b.marks) >= batchMarks }

// due says that the batch is to be written before its time, while there is still
// room in it.
func (b *batch) due() bool { return len(b.data) >= batchBytes/2 || len(b.marks) >= batchMarks/2 }

func (b *batch) reset(number uint64) {
	b.number = number
	b.data, b.marks, b.streams, b.closes = b.data[:0], b.marks[:0], b.streams[:0], b.closes[:0]
}

// recorder takes reads from the threads that receive and writes them to the
// capture from a goroutine of its own. It holds two batches: while one is
// written the other fills, and when that is full too the receiving threads
// wait, so that memory stays bounded whatever the disk does.
type recorder struct {
	out   *bench.Writer
	pairs *pairs

	mu      sync.Mutex
	room    sync.Cond // the filling batch was taken
	cur     *batch
	spare   *batch // nil while it is written
	stalls  int    // times that a thread had to wait
	err     error
	closing bool
	kick    chan struct{}
	gone    chan struct{}
	onError func(error)

	lines   []*readsLine // of the goroutine that writes
	used    int
	size    int // bytes, about, of what records holds
	records []any
}

func newRecorder(out *bench.Writer, read func() clockPair, onError func(error)) *recorder {
	r := &recorder{out: out, pairs: newPairs(read), cur: newBatch(1), spare: newBatch(0), kick: make(chan struct{}, 1), gone: make(chan struct{}), onError: onError}
	r.room.L = &r.mu
	go r.run()
	return r
}

// add keeps what one read brought. again extends the read before, where that was
// the exchange's.
func (r *recorder) add(x *exchange, t, kernel int64, body []byte, again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	r.waitForRoom()
	b := r.cur
	n := int32(len(b.marks))
	early := !b.due()
	if x.held.number != b.number {
		x.held = place{b.number, int32(len(b.streams))}
		b.streams = append(b.streams, streamReads{x.job.ID, n, n})
	} else {
		s := &b.streams[x.held.slot]
		if last := &b.marks[s.last]; again && s.last == n-1 {
			b.data = append(b.data, body...)
			last.to = len(b.data)
			return
		}
		b.marks[s.last].next, s.last = n, n
	}
	from := len(b.data)
	b.data = append(b.data, body...)
	b.marks = append(b.marks, mark{t, kernel, from, len(b.data), -1})
	if early && b.due() {
		r.wake()
	}
}

// close keeps the closing record of a request, or a probe.
func (r *recorder) close(q any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.waitForRoom()
		r.cur.closes = append(r.cur.closes, q)
	}
}

func (r *recorder) waitForRoom() {
	if r.cur.full() && !r.closing {
		r.stalls++
		for r.cur.full() && r.err == nil && !r.closing {
			r.wake()
			r.room.Wait()
		}
	}
}

func (r *recorder) wake() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

func (r *recorder) run() {
	defer close(r.gone)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.kick:
		}
		if !r.flush() {
			return
		}
	}
}

// flush writes what came; false says that the recorder is closed and empty.
func (r *recorder) flush() bool {
	r.mu.Lock()
	b, closing := r.cur, r.closing
	r.spare.reset(b.number + 1)
	r.cur, r.spare = r.spare, nil
	r.room.Broadcast()
	r.mu.Unlock()

	r.pairs.advance()
	err := r.write(b)

	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare = b
	if err != nil && r.err == nil {
		r.err = err
		r.room.Broadcast()
		go r.onError(err)
	}
	return !closing
}

// stop writes the rest and returns the first error of the file.
func (r *recorder) stop() error {
	r.mu.Lock()
	r.closing = true
	r.room.Broadcast()
	r.mu.Unlock()
	r.wake()
	<-r.gone
	return r.err
}

// write appends a batch: the reads of each request, in lines of a bounded size,
// then the closing records.
func (r *recorder) write(b *batch) error {
	for _, s := range b.streams {
		for at := s.first; at >= 0; {
			if r.size >= bytesAReads {
				if err := r.writeLines(); err != nil {
					return err
				}
			}
			at = r.nextLine().fill(b, s.id, at, r.pairs, &r.size)
		}
	}
	r.records = append(r.records, b.closes...)
	return r.writeLines()
}

// nextLine is room for one more "reads" record.
func (r *recorder) nextLine() *readsLine {
	if r.used == len(r.lines) {
		r.lines = append(r.lines, &readsLine{})
	}
	l := r.lines[r.used]
	r.used++
	r.records = append(r.records, &l.reads)
	return l
}

func (r *recorder) writeLines() error {
	defer func() { r.records, r.used, r.size = r.records[:0], 0, 0 }()
	if len(r.records) == 0 {
		return nil
	}
	err := r.out.Write(r.records...)
	yieldThread() // a reading thread that woke meanwhile goes first
	return err
}

// readsLine is one "reads" record, made again and again in the same memory.
type readsLine struct {
	reads  bench.Reads
	kernel []int64
}

// fill takes the marks from at on, and returns the first that had no room, -1
// at the end. size counts about what it wrote.
func (l *readsLine) fill(b *batch, id string, at int32, p *pairs, size *int) int32 {
	l.reads.Kind, l.reads.ID, l.reads.Reads = bench.KindReads, id, l.reads.Reads[:0]
	l.kernel = l.kernel[:0]
	for began := *size; at >= 0 && *size-began < bytesAReads; {
		m := &b.marks[at]
		k, ok := p.toRun(m.kernel, m.t)
		if !ok {
			k = unknownStamp
		}
		l.kernel = append(l.kernel, k)
		l.reads.Reads = append(l.reads.Reads, bench.Read{TNS: m.t, B64: b.data[m.from:m.to]})
		*size += m.to - m.from + 64
		at = m.next
	}
	for i, k := range l.kernel {
		if k != unknownStamp {
			l.reads.Reads[i].KernelNS = &l.kernel[i]
		}
	}
	return at
}

const unknownStamp = math.MinInt64

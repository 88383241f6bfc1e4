package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// Reader streams the records of a raw file in its order. It holds one line at a
// time, of at most MaxLine bytes.
type Reader struct {
	name     string
	lines    *lineReader
	n        int // number of the line that was read last
	header   bool
	ahead    []any // records that Ahead read and Next has not returned yet
	warnings []string
	close    func() error
	raw      io.Reader // the file under the decoder, for the checksum
	sum      hash.Hash
}

// ErrNoHeader says that a file holds nothing, or nothing but the beginning of a
// run header: its process was killed before it had measured anything. A file that
// begins with something else has another error.
var ErrNoHeader = errors.New("no run header in it")

// Open opens a raw file for reading; whether it is compressed is told by its
// first bytes. The caller closes it.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read raw file: %w", err)
	}
	sum := sha256.New()
	raw := io.TeeReader(f, sum)
	z, err := decompress(raw)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("cut within the first bytes: %w", ErrNoHeader)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read raw file: %s: %w", path, err)
	}
	r := NewReader(z, path)
	r.raw, r.sum = raw, sum
	r.close = func() error {
		z.Close()
		return f.Close()
	}
	return r, nil
}

// NewReader reads uncompressed lines from r; name is used in errors.
func NewReader(r io.Reader, name string) *Reader {
	return &Reader{name: name, lines: newLineReader(r), close: func() error { return nil }}
}

// Close closes the file.
func (r *Reader) Close() error { return r.close() }

// Warnings says what was cut off the file, after Next has returned io.EOF.
func (r *Reader) Warnings() []string { return r.warnings }

// Next returns the next record as a pointer to its type (*Run, *Resume, *Point,
// *Step, *Iteration, *Check, *Reads, *Request, *Probe, *Answer, *ClientRun, *End), or
// io.EOF. Lines of an unknown kind are skipped. The first record is always the *Run.
func (r *Reader) Next() (any, error) {
	if len(r.ahead) > 0 {
		rec := r.ahead[0]
		r.ahead = r.ahead[1:]
		return rec, nil
	}
	return r.next()
}

// Ahead returns the first record that wanted takes, or what Next would return in
// its place: io.EOF behind the last one. Next returns it and all before it again.
func (r *Reader) Ahead(wanted func(rec any) bool) (any, error) {
	for _, rec := range r.ahead {
		if wanted(rec) {
			return rec, nil
		}
	}
	for {
		rec, err := r.next()
		if err != nil {
			return nil, err
		}
		r.ahead = append(r.ahead, rec)
		if wanted(rec) {
			return rec, nil
		}
	}
}

func (r *Reader) next() (any, error) {
	for {
		line, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return nil, r.end()
		}
		r.n++
		if err != nil {
			return nil, r.errorf("%w", err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		rec, err := decode(line)
		if err != nil && r.lines.atEnd() && !json.Valid(line) && (r.header || beginsHeader(line)) {
			r.warnings = append(r.warnings, fmt.Sprintf("line %d, the last, is torn and was left out (%d bytes)", r.n, len(line)))
			continue
		}
		if err != nil {
			return nil, r.errorf("%w", err)
		}
		if err := r.admit(rec); err != nil {
			return nil, r.errorf("%w", err)
		}
		if rec != nil {
			return rec, nil
		}
	}
}

// beginsHeader says whether a first line is a header that was cut. Zeros are what
// some file systems leave after a power cut.
func beginsHeader(line []byte) bool {
	const start = `{"kind":"run"`
	line = bytes.Trim(line, "\x00 \t\r")
	n := min(len(line), len(start))
	return string(line[:n]) == start[:n]
}

// end is called once the lines are used up.
func (r *Reader) end() error {
	if r.lines.cut {
		r.warnings = append(r.warnings, "the compressed stream is cut: what stood in its last block is lost")
		r.lines.cut = false
	}
	if !r.header {
		return fmt.Errorf("read raw file: %s: %w", r.name, ErrNoHeader)
	}
	return io.EOF
}

// admit checks what a record must hold whatever comes before it, and that the
// header comes first and once.
func (r *Reader) admit(rec any) error {
	run, isRun := rec.(*Run)
	switch {
	case isRun && r.header:
		return errors.New("a second run header: two files were joined")
	case isRun && run.Schema > Schema:
		return fmt.Errorf("schema %d is newer than %d, the newest that this build reads", run.Schema, Schema)
	case isRun:
		r.header = true
		return nil
	case !r.header:
		return errors.New("not a raw file: the first line is not a run header")
	}
	return check(rec)
}

func (r *Reader) errorf(format string, args ...any) error {
	return fmt.Errorf("read raw file: %s: line %d: %w", r.name, r.n, fmt.Errorf(format, args...))
}

// SHA256 is the hexadecimal checksum of the file as it lies on disk, after Next
// has returned io.EOF; empty for a Reader that has no file.
func (r *Reader) SHA256() (string, error) {
	if r.raw == nil {
		return "", nil
	}
	if _, err := io.Copy(io.Discard, r.raw); err != nil { // what the decoder left
		return "", fmt.Errorf("read raw file: %s: %w", r.name, err)
	}
	return hex.EncodeToString(r.sum.Sum(nil)), nil
}

// decode returns nil for a kind that it does not know.
func decode(line []byte) (any, error) {
	if r, ok := parseReads(line); ok {
		return r, nil
	}
	return decodeJSON(line)
}

func decodeJSON(line []byte) (any, error) {
	kind, err := kindOf(line)
	if err != nil {
		return nil, err
	}
	rec, named := blank(kind)
	if rec == nil {
		if !json.Valid(line) {
			return nil, errors.New("not a JSON object")
		}
		return nil, nil
	}
	if err := json.Unmarshal(line, rec); err != nil {
		return nil, fmt.Errorf("%s record: %w", kind, plainly(err))
	}
	if *named != kind {
		return nil, fmt.Errorf("record of two kinds, %q and %q", kind, *named)
	}
	if err := checkHostTime(line, rec); err != nil {
		return nil, fmt.Errorf("%s record: %w", kind, err)
	}
	return rec, nil
}

// blank is an empty record of a kind and its own kind, which a second "kind" key
// would change; nil for a kind that is not known.
func blank(kind Kind) (rec any, named *Kind) {
	switch kind {
	case KindRun:
		v := new(Run)
		return v, &v.Kind
	case KindResume:
		v := new(Resume)
		return v, &v.Kind
	case KindPoint:
		v := new(Point)
		return v, &v.Kind
	case KindStep:
		v := new(Step)
		return v, &v.Kind
	case KindIteration:
		v := new(Iteration)
		return v, &v.Kind
	case KindCheck:
		v := new(Check)
		return v, &v.Kind
	case KindReads:
		v := new(Reads)
		return v, &v.Kind
	case KindRequest:
		v := new(Request)
		return v, &v.Kind
	case KindProbe:
		v := new(Probe)
		return v, &v.Kind
	case KindAnswer:
		v := new(Answer)
		return v, &v.Kind
	case KindClient:
		v := new(ClientRun)
		return v, &v.Kind
	case KindEnd:
		v := new(End)
		return v, &v.Kind
	}
	return nil, nil
}

// kindOf reads the kind. Our own lines begin with it, so that they need not be
// parsed twice.
func kindOf(line []byte) (Kind, error) {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"kind":"`)); ok {
		if i := bytes.IndexByte(rest, '"'); i > 0 && bytes.IndexByte(rest[:i], '\\') < 0 {
			return Kind(rest[:i]), nil
		}
	}
	var k struct {
		Kind Kind `json:"kind"`
	}
	if err := json.Unmarshal(line, &k); err != nil {
		return "", fmt.Errorf("not a record: %w", plainly(err))
	}
	return k.Kind, nil
}

// check refuses a record whose numbers cannot be: an interval below 0 would
// reach a report as a very good one.
func check(rec any) error {
	switch v := rec.(type) {
	case *Step:
		return checkStep(v)
	case *Iteration:
		if v.Point < 0 || v.TNS < 0 || v.HostNS < 0 || v.TNS+v.HostNS < 0 {
			return errors.New("iteration record: a negative time or point")
		}
	case *Point:
		if v.Status != StatusOK && v.Status != StatusSkipped && v.Status != StatusFailed {
			return fmt.Errorf("point record: status %q is none of ok, skipped, failed", v.Status)
		}
		if v.Point < 0 {
			return errors.New("point record: a negative point")
		}
	case *Check:
		if v.Point != nil && *v.Point < 0 {
			return errors.New("check record: a negative point")
		}
	case *End:
		if v.DurationNS < 0 {
			return errors.New("end record: a negative duration")
		}
	}
	return nil
}

// checkHostTime tells a time of 0 from one that is missing or null: unknown is null in a raw file, and
// a step or an iteration without its time is no measurement.
func checkHostTime(line []byte, rec any) error {
	switch v := rec.(type) {
	case *Step:
		if v.HostNS != 0 {
			return nil
		}
	case *Iteration:
		if v.HostNS != 0 {
			return nil
		}
	default:
		return nil
	}
	var probe struct {
		HostNS *int64 `json:"host_ns"`
	}
	if err := json.Unmarshal(line, &probe); err != nil {
		return err
	}
	if probe.HostNS == nil {
		return errors.New("host_ns is missing or null")
	}
	return nil
}

func checkStep(s *Step) error {
	if s.Phase != Prefill && s.Phase != Decode {
		return fmt.Errorf("step record: phase %q is neither prefill nor decode", s.Phase)
	}
	if s.Batch < 1 || s.ContextLen < 1 {
		return fmt.Errorf("step record: batch %d, context_len %d: both must be at least 1", s.Batch, s.ContextLen)
	}
	if s.Point < 0 || s.TNS < 0 || s.HostNS < 0 || s.DeviceNS != nil && *s.DeviceNS < 0 {
		return errors.New("step record: a negative time or point")
	}
	if s.TNS+s.HostNS < 0 {
		return errors.New("step record: a time beyond 292 years")
	}
	return nil
}

package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"lathe/bench/pyrand"
)

// Version is the state of the two harnesses that is meant.
type Version string

// The snapshots of August (vLLM 017e9f4448b7, SGLang 978244d67148) and the
// releases of November (vLLM 0.33.0, SGLang 0.5.23). A dataset without a field
// of this type is the same in both.
const (
	August2026   Version = "2026-08"
	November2026 Version = "2026-11"
)

// What a caller may branch on.
var (
	ErrLengths   = errors.New("the lengths cannot be drawn")                    // ValueError in both harnesses
	ErrShort     = errors.New("the dataset holds fewer usable rows than asked") // see Shortage
	ErrVersion   = errors.New("not in this version of the harness")
	ErrRow       = errors.New("a row is not what the dataset needs")
	ErrTokenizer = errors.New("the dataset needs a tokenizer")
)

// Request is one row of a dataset: one request, or one conversation.
type Request struct {
	ID        string   // what vLLM sends as its request id; "" where it sends none
	Prompt    string   // text; "" where IDs or Turns are sent
	IDs       []int32  // token ids sent as they are
	Turns     []string // user turns of a conversation
	PromptLen int      // in tokens, as the harness states it, which is not always what the server will count
	OutputLen int      // requested tokens
	// TimestampS is the time in seconds that the row itself asks for.
	TimestampS *float64
	// RoutingKey is sent as a header of SGLang's router.
	RoutingKey string
}

// Text is the prompt; ids are written in decimal with one space between them,
// turns with a line feed between them.
func (r Request) Text() string {
	switch {
	case r.IDs != nil:
		var b strings.Builder
		for i, id := range r.IDs {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(strconv.Itoa(int(id)))
		}
		return b.String()
	case r.Turns != nil:
		return strings.Join(r.Turns, "\n")
	}
	return r.Prompt
}

// SHA256 is the hexadecimal sha256 of Text, and Head its first 60 characters:
// the two by which a dry run names a prompt.
func (r Request) SHA256() string {
	sum := sha256.Sum256([]byte(r.Text()))
	return hex.EncodeToString(sum[:])
}

// Head is the first 60 characters of Text.
func (r Request) Head() string {
	text := r.Text()
	n := 0
	for i := range text {
		if n++; n > 60 {
			return text[:i]
		}
	}
	return text
}

// Set is a drawn dataset.
type Set struct {
	Requests []Request
	// IgnoreEOS says that the harness sends ignore_eos for this dataset without
	// being asked: vLLM for random and traces, SGLang for everything.
	IgnoreEOS bool
	Warnings  []string
}

// Dataset draws its requests. The streams are those of the run: seeded once at
// its start, and drawn from by the arrivals afterwards.
type Dataset interface {
	Sample(s *pyrand.Streams, t Tokenizer) (Set, error)
}

// Spread is a length over the rows of a set.
type Spread struct {
	Min  int     `json:"min"`
	Mean float64 `json:"mean"`
	Max  int     `json:"max"`
}

// Lengths are the realised prompt and output lengths. What a range ratio of 0
// means differs by a factor of two between the harnesses; this is what it meant.
func (s Set) Lengths() (input, output Spread) {
	in, out := make([]int, len(s.Requests)), make([]int, len(s.Requests))
	for i, r := range s.Requests {
		in[i], out[i] = r.PromptLen, r.OutputLen
	}
	return spread(in), spread(out)
}

func spread(x []int) Spread {
	if len(x) == 0 {
		return Spread{}
	}
	s := Spread{Min: x[0], Max: x[0]}
	sum := 0
	for _, v := range x {
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
		sum += v
	}
	s.Mean = float64(sum) / float64(len(x))
	return s
}

// Unique counts the different prompts.
func (s Set) Unique() int {
	seen := make(map[[sha256.Size]byte]bool, len(s.Requests))
	for _, r := range s.Requests {
		seen[sha256.Sum256([]byte(r.Text()))] = true
	}
	return len(seen)
}

// checkNonEmpty refuses a set that would put an empty prompt on the wire.
func (s Set) checkNonEmpty(dataset string) error {
	for i, r := range s.Requests {
		if r.Prompt == "" && len(r.IDs) == 0 && len(r.Turns) == 0 {
			return fmt.Errorf("%s dataset: request %d: the prompt is empty: %w", dataset, i, ErrRow)
		}
	}
	return nil
}

// OutputReport is the output lengths that were asked for against those that came.
type OutputReport struct {
	Requested float64 `json:"requested_mean"`
	Produced  float64 `json:"produced_mean"`
	Percent   float64 `json:"percent"`
	Mismatch  bool    `json:"length_mismatch"` // some request produced another number than asked
}

// CompareOutputs compares the requested and the produced tokens of the requests
// that succeeded. An endpoint that ignores the length field, or an EOS that was
// not ignored, shows here and nowhere else.
func CompareOutputs(requested, produced []int) (OutputReport, error) {
	if len(requested) != len(produced) || len(requested) == 0 {
		return OutputReport{}, fmt.Errorf("compare output lengths: %d requested and %d produced", len(requested), len(produced))
	}
	r := OutputReport{Requested: spread(requested).Mean, Produced: spread(produced).Mean}
	if r.Requested > 0 {
		r.Percent = 100 * r.Produced / r.Requested
	}
	for i, n := range requested {
		r.Mismatch = r.Mismatch || n != produced[i]
	}
	return r, nil
}

// String is the line of the report.
func (r OutputReport) String() string {
	return fmt.Sprintf("output length: requested %.6g, produced mean %.6g (%.1f %%)", r.Requested, r.Produced, r.Percent)
}

// validText refuses text that JSON could not carry unchanged.
func validText(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("text is not UTF-8: %w", ErrRow)
	}
	return nil
}

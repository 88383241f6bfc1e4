package workload

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"lathe/bench/pyrand"
)

// TraceLabels are the keys of a timed trace.
type TraceLabels struct{ Timestamp, InputLength, OutputLength, HashIDs string }

// DefaultTraceLabels are vLLM's.
func DefaultTraceLabels() TraceLabels {
	return TraceLabels{"timestamp", "input_length", "output_length", "hash_ids"}
}

// TraceRow is a line of a timed trace: when, how long, and the hashes of the
// chunks of the prompt, equal hashes being equal text.
type TraceRow struct {
	Timestamp              float64
	InputTokens, OutTokens int
	Hashes                 []int64
}

// ReadTrace reads a timed trace: JSON lines with a time, two lengths and perhaps
// a list of chunk hashes.
func ReadTrace(r io.Reader, l TraceLabels) ([]TraceRow, error) {
	var rows []TraceRow
	err := eachLine(r, func(number int, line []byte) error {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(line, &object); err != nil {
			return fmt.Errorf("line %d: %w", number, badJSON(err, "an object"))
		}
		var row TraceRow
		for _, f := range []struct {
			label  string
			into   any
			wanted string
		}{{l.Timestamp, &row.Timestamp, "a number"}, {l.InputLength, &row.InputTokens, "a whole number"}, {l.OutputLength, &row.OutTokens, "a whole number"}} {
			raw, ok := object[f.label]
			if !ok || string(raw) == "null" {
				return fmt.Errorf("line %d: no %q: %w", number, f.label, ErrRow)
			}
			if err := json.Unmarshal(raw, f.into); err != nil {
				return fmt.Errorf("line %d: %q: %w", number, f.label, badJSON(err, f.wanted))
			}
		}
		if raw, ok := object[l.HashIDs]; ok {
			if err := json.Unmarshal(raw, &row.Hashes); err != nil {
				return fmt.Errorf("line %d: %q: %w", number, l.HashIDs, badJSON(err, "a list of whole numbers"))
			}
		}
		if row.InputTokens < 1 || row.OutTokens < 0 || max(row.InputTokens, row.OutTokens) > MaxTokens {
			return fmt.Errorf("line %d: %d prompt and %d output tokens: %w", number, row.InputTokens, row.OutTokens, ErrRow)
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read timed trace: %w", err)
	}
	return rows, nil
}

// VLLMTimedTrace is vLLM's timed_trace dataset: prompts of ids whose chunks are
// shared as the trace's hashes say, each sent at the row's own time.
type VLLMTimedTrace struct {
	N             int
	Rows          []TraceRow
	ChunkTokens   int     // tokens a hash stands for; vLLM's default 16
	SecondsPerTic float64 // what a timestamp is multiplied by; 1
	Seed          uint64
	IDPrefix      string
}

// Sample seeds both streams anew, as vLLM does, and takes the first N rows. A
// chunk is drawn with Python's generator seeded from its hash and its length:
// vLLM seeds it from Python's randomised text hash, so its own prompts differ
// from process to process and cannot be had again. A row with fewer hashes than
// its length needs is shorter than it says, as in vLLM, and a row with none is
// an error.
func (o VLLMTimedTrace) Sample(s *pyrand.Streams, t Tokenizer) (Set, error) {
	allowed, err := allowedIDs(t)
	if err != nil {
		return Set{}, fmt.Errorf("timed trace dataset: %w", err)
	}
	if o.ChunkTokens <= 0 || math.IsNaN(o.SecondsPerTic) || math.IsInf(o.SecondsPerTic, 0) {
		return Set{}, fmt.Errorf("timed trace dataset: chunks of %d tokens, %v s a tic: %w", o.ChunkTokens, o.SecondsPerTic, ErrLengths)
	}
	fresh, err := pyrand.NewStreams(o.Seed)
	if err != nil {
		return Set{}, fmt.Errorf("timed trace dataset: %w", err)
	}
	*s = *fresh
	set := Set{IgnoreEOS: true}
	for i, row := range o.Rows[:max(min(o.N, len(o.Rows)), 0)] {
		ids, err := o.expand(row, allowed)
		if err != nil {
			return Set{}, fmt.Errorf("timed trace dataset: row %d: %w", i, err)
		}
		at := row.Timestamp * o.SecondsPerTic
		set.Requests = append(set.Requests, Request{
			ID: o.IDPrefix + strconv.Itoa(i), IDs: ids, PromptLen: len(ids), OutputLen: row.OutTokens, TimestampS: &at,
		})
	}
	if err := set.fillUp("timed trace", o.N, Truncate, s, 0, ""); err != nil {
		return Set{}, err
	}
	return set, set.checkNonEmpty("timed trace")
}

func (o VLLMTimedTrace) expand(row TraceRow, allowed []int32) ([]int32, error) {
	ids := []int32{}
	left := row.InputTokens
	for _, h := range row.Hashes {
		n := min(o.ChunkTokens, left)
		picks, err := pyrand.NewPython(uint64(h)*0x9e3779b97f4a7c15+uint64(n)).Choices(len(allowed), n)
		if err != nil {
			return nil, err
		}
		for _, k := range picks {
			ids = append(ids, allowed[k])
		}
		if left -= n; left <= 0 {
			break
		}
	}
	return ids, nil
}

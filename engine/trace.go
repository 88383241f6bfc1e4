package engine

import (
	"fmt"

	"lathe/engine/native"
)

// Logits copies the logits of sequence seq after a step that wanted its
// last row to out, float32 [vocab]. After Wait; of a prefill in several chunks
// only the sequences that ended in the last one are still there.
func (e *Engine) Logits(seq int, out []float32) error {
	for i := len(e.owner) - 1; i >= 0; i-- {
		if int(e.owner[i]) == seq {
			return e.session.Logits(i, 1, out)
		}
	}
	return fmt.Errorf("logits of sequence %d: the last submit wanted none of its rows", seq)
}

// Trace prefills one prompt and hands over the logits of every position from
// `from` on, float32 [vocab], valid during the call: the teacher-forced view of a
// text. It leaves the engine as after Begin, Prefill and Wait.
func (e *Engine) Trace(prompt []int32, from int, visit func(position int, logits []float32) error) error {
	if err := e.Begin([][]int32{prompt}, 0); err != nil {
		return err
	}
	e.step.start()
	logits := make([]float32, e.model.Config.Vocab)
	if err := e.extend(0, len(prompt)); err != nil {
		return err
	}
	for start := 0; start < len(prompt); {
		e.clearRows()
		for i := start; i < len(prompt) && len(e.batch.Tokens) < e.opts.ChunkRows && len(e.batch.Want) < e.opts.Logits; i++ {
			e.row(0, prompt[i], i, i >= from || i == len(prompt)-1)
		}
		if err := e.submit(); err != nil {
			return err
		}
		if err := e.Wait(); err != nil {
			return err
		}
		for i, row := range e.batch.Want {
			if err := e.session.Logits(i, 1, logits); err != nil {
				return err
			}
			if position := start + int(row); position >= from {
				if err := visit(position, logits); err != nil {
					return err
				}
			}
		}
		start += len(e.batch.Tokens)
	}
	e.ready, e.first = true, append(e.first, e.next...)
	return nil
}

// Residuals prefills one prompt of at most ChunkRows tokens and returns the
// residual stream of every stage, float32 [layers+2][tokens*hidden]: the
// embedding, each layer's output, and the final norm's.
func (e *Engine) Residuals(prompt []int32) ([][]float32, error) {
	if len(prompt) > e.opts.ChunkRows {
		return nil, fmt.Errorf("residual stream of %d tokens: the engine was opened for chunks of %d", len(prompt), e.opts.ChunkRows)
	}
	if err := e.Begin([][]int32{prompt}, 0); err != nil {
		return nil, err
	}
	e.batch.Flags |= native.KeepResidual
	defer func() { e.batch.Flags &^= native.KeepResidual }()
	if err := e.Prefill(); err != nil {
		return nil, err
	}
	if err := e.Wait(); err != nil {
		return nil, err
	}
	stages := make([][]float32, e.model.Config.Layers+2)
	for i := range stages {
		stages[i] = make([]float32, len(prompt)*e.model.Config.Hidden)
		if err := e.session.Residual(i, stages[i]); err != nil {
			return nil, err
		}
	}
	return stages, nil
}

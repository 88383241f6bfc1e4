package engine

import "fmt"

// Rewind goes back to the state right behind the last Prefill: the sequences are
// their prompts again, on the same pages, and Tokens are what the prefill chose, so
// that the next Decode is the first one once more. Pages taken since stay with their
// sequences. It allocates nothing and submits nothing; the logits of earlier steps
// are gone. A submitted step must be waited for first.
func (e *Engine) Rewind() error {
	if len(e.first) == 0 || e.pending {
		return fmt.Errorf("rewind: the prompts are not in the cache yet, or a step runs: Prefill and Wait first")
	}
	for s, prompt := range e.prompts {
		if err := e.pool.Shorten(s, len(prompt)); err != nil {
			return err
		}
	}
	copy(e.next, e.first)
	e.clearRows()
	return nil
}

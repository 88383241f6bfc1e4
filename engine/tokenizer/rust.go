//go:build cgo && !notokenizer

package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/daulet/tokenizers"
)

// rustEncoder owns up to four instances of the Rust tokenizer: with and without control tokens, each made at its first
// use, and for either a second one for texts with U+0000 where the vocabulary asks for it (see nul.go). Whether control tokens are recognised is fixed
// when an instance is made. The cache of an instance is bounded: 10,000 pieces of at most 256 bytes.
type rustEncoder struct {
	data []byte // tokenizer.json
	v    *vocabulary

	mu        sync.RWMutex
	instances map[instanceKey]*tokenizers.Tokenizer
	closed    bool
}

type instanceKey struct {
	control bool
	nul     byte // the control character that stands in for U+0000; 0 for an ordinary instance
}

func newRustEncoder(data []byte, v *vocabulary) (encoder, error) {
	e := &rustEncoder{data: data, v: v, instances: map[instanceKey]*tokenizers.Tokenizer{}}
	if err := e.make(instanceKey{control: true}); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *rustEncoder) encode(text string, control, frame bool) ([]int32, error) {
	if text == "" && !frame {
		return nil, nil
	}
	key := instanceKey{control: control}
	if strings.IndexByte(text, 0) < 0 {
		return e.encodeWith(key, text, frame)
	}
	text, stand, swapped, err := disguise(text, e.v)
	if err != nil {
		return nil, err
	}
	if swapped {
		key.nul = stand
		return e.encodeWith(key, text, frame)
	}
	ids, err := e.encodeWith(key, text, frame)
	return undisguise(ids, stand, e.v), err
}

func (e *rustEncoder) encodeWith(key instanceKey, text string, frame bool) ([]int32, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for e.instances[key] == nil {
		if e.closed {
			return nil, errors.New("the tokenizer is closed")
		}
		e.mu.RUnlock()
		err := e.make(key)
		e.mu.RLock()
		if err != nil {
			return nil, err
		}
	}
	got := e.instances[key].EncodeWithOptions(text, frame).IDs
	ids := make([]int32, len(got))
	for i, id := range got {
		if id > math.MaxInt32 {
			return nil, fmt.Errorf("id %d does not fit 31 bits", id)
		}
		ids[i] = int32(id)
	}
	return ids, nil
}

// make builds the instance of key unless it is there. At most one stand-in instance a mode is kept.
func (e *rustEncoder) make(key instanceKey) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.instances[key] != nil || e.closed {
		return nil
	}
	data := e.data
	if key.nul != 0 {
		var err error
		if data, err = swapNUL(data, key.nul); err != nil {
			return err
		}
		for old, t := range e.instances {
			if old.nul != 0 && old.control == key.control {
				t.Close()
				delete(e.instances, old)
			}
		}
	}
	var opts []tokenizers.TokenizerOption
	if !key.control {
		opts = append(opts, tokenizers.WithEncodeSpecialTokens())
	}
	t, err := tokenizers.FromBytes(data, opts...)
	if err != nil {
		return err
	}
	e.instances[key] = t
	return nil
}

func (e *rustEncoder) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, t := range e.instances {
		t.Close()
		delete(e.instances, key)
	}
	e.closed = true
}

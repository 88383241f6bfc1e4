package smollm2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// weight is one tensor of the output: which one of the GGUF file it comes from, and its heads if its rows are stored
// in the order of interleaved RoPE.
type weight struct {
	name, from string
	heads      int
}

// weights lists the tensors in the order in which they are written.
func (f *ggufFile) weights() ([]weight, error) {
	layers, err := f.number("llama.block_count")
	if err != nil {
		return nil, err
	}
	heads, err := f.number("llama.attention.head_count")
	if err != nil {
		return nil, err
	}
	kvHeads, err := f.number("llama.attention.head_count_kv")
	if err != nil {
		return nil, err
	}
	list := []weight{{"model.embed_tokens.weight", "token_embd.weight", 0}}
	for i := range layers {
		from, to := "blk."+strconv.Itoa(i)+".", "model.layers."+strconv.Itoa(i)+"."
		list = append(list,
			weight{to + "input_layernorm.weight", from + "attn_norm.weight", 0},
			weight{to + "self_attn.q_proj.weight", from + "attn_q.weight", heads},
			weight{to + "self_attn.k_proj.weight", from + "attn_k.weight", kvHeads},
			weight{to + "self_attn.v_proj.weight", from + "attn_v.weight", 0},
			weight{to + "self_attn.o_proj.weight", from + "attn_output.weight", 0},
			weight{to + "post_attention_layernorm.weight", from + "ffn_norm.weight", 0},
			weight{to + "mlp.gate_proj.weight", from + "ffn_gate.weight", 0},
			weight{to + "mlp.up_proj.weight", from + "ffn_up.weight", 0},
			weight{to + "mlp.down_proj.weight", from + "ffn_down.weight", 0})
	}
	list = append(list, weight{"model.norm.weight", "output_norm.weight", 0})
	if _, untied := f.tensors["output.weight"]; untied {
		list = append(list, weight{"lm_head.weight", "output.weight", 0})
	}
	if len(list) != len(f.tensors) {
		return nil, fmt.Errorf("it has %d tensors, the model %d", len(f.tensors), len(list))
	}
	for _, w := range list {
		t, ok := f.tensors[w.from]
		if !ok {
			return nil, fmt.Errorf("tensor %s is missing", w.from)
		}
		if w.heads > 0 && (len(t.dims) != 2 || t.dims[0]%(2*w.heads) != 0) {
			return nil, fmt.Errorf("tensor %s: its rows are no multiple of twice %d heads", w.from, w.heads)
		}
	}
	return list, nil
}

// writeWeights writes the safetensors file: 8 bytes of header length, the header padded with blanks to a multiple of
// 8, then the tensors as bf16. One tensor at a time is in memory.
func (f *ggufFile) writeWeights(w io.Writer) error {
	list, err := f.weights()
	if err != nil {
		return err
	}
	header := []byte(`{"__metadata__":{"format":"pt"}`)
	at := 0
	for _, entry := range list {
		t := f.tensors[entry.from]
		header = append(header, `,"`+entry.name+`":{"dtype":"BF16","shape":[`...)
		for i, d := range t.dims {
			if i > 0 {
				header = append(header, ',')
			}
			header = strconv.AppendInt(header, int64(d), 10)
		}
		end := at + 2*t.count()
		header = fmt.Appendf(header, `],"data_offsets":[%d,%d]}`, at, end)
		at = end
	}
	header = append(header, '}')
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, entry := range list {
		if err := f.writeTensor(w, f.tensors[entry.from], entry.heads); err != nil {
			return fmt.Errorf("tensor %s: %w", entry.from, err)
		}
	}
	return nil
}

func (f *ggufFile) writeTensor(w io.Writer, t ggufTensor, heads int) error {
	raw := make([]byte, t.size)
	if _, err := f.r.ReadAt(raw, t.offset); err != nil && !(errors.Is(err, io.EOF) && len(raw) > 0) {
		return err
	}
	rows, columns := 1, t.dims[0]
	if len(t.dims) > 1 {
		columns = t.dims[len(t.dims)-1]
		rows = t.count() / columns
	}
	stride := len(raw) / rows
	out := make([]byte, 0, 1<<16+2*columns)
	for row := range rows {
		from := sourceRow(row, rows, heads)
		var err error
		if out, err = appendBF16(out, raw[from*stride:(from+1)*stride], t.kind); err != nil {
			return err
		}
		if len(out) >= 1<<16 || row == rows-1 {
			if _, err := w.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	return nil
}

// sourceRow undoes the converter's order of the q and k rows. Within a head of 2h rows the file has the pairs that
// RoPE rotates side by side (0, h, 1, h+1, …); Hugging Face has the first members of all pairs, then the second.
func sourceRow(row, rows, heads int) int {
	if heads == 0 {
		return row
	}
	per := rows / heads
	head, in := row/per, row%per
	return head*per + in%(per/2)*2 + in/(per/2)
}

// appendBF16 widens a row of blocks to float32 and rounds it to bfloat16.
func appendBF16(out, raw []byte, kind uint32) ([]byte, error) {
	_, size, _ := blockShape(kind)
	var values [32]float32
	for ; len(raw) > 0; raw = raw[size:] {
		n := widen(&values, raw[:size], kind)
		for _, v := range values[:n] {
			if v != v {
				return nil, errors.New("a weight is not a number")
			}
			u := math.Float32bits(v)
			out = binary.LittleEndian.AppendUint16(out, uint16((u+0x7FFF+u>>16&1)>>16)) // nearest, ties to even
		}
	}
	return out, nil
}

func widen(values *[32]float32, b []byte, kind uint32) int {
	switch kind {
	case tensorF32:
		values[0] = math.Float32frombits(binary.LittleEndian.Uint32(b))
		return 1
	case tensorF16:
		values[0] = half(b)
		return 1
	case tensorQ4_1:
		scale, least := half(b), half(b[2:])
		for i, q := range b[4:20] {
			low := float32(scale * float32(q&15)) // the conversion forbids a fused multiply-add
			high := float32(scale * float32(q>>4))
			values[i], values[i+16] = low+least, high+least
		}
		return 32
	default: // tensorQ8_0
		scale := half(b)
		for i, q := range b[2:34] {
			values[i] = scale * float32(int8(q))
		}
		return 32
	}
}

// half widens an IEEE binary16, which is exact.
func half(b []byte) float32 {
	u := uint32(binary.LittleEndian.Uint16(b))
	sign, exponent, fraction := u>>15<<31, u>>10&31, u&1023
	switch exponent {
	case 31:
		return math.Float32frombits(sign | 0x7F800000 | fraction<<13)
	case 0:
		v := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(v))
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

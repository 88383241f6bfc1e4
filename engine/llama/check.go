package llama

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TensorInfo is what Check must know of a tensor in a checkpoint.
type TensorInfo struct {
	DType string // as safetensors spells it
	Shape []int64
	File  string // path, for messages
}

// Checkpoint is a set of tensors as Check sees it.
type Checkpoint interface {
	// Where is the file or directory that an error about the whole names.
	Where() string
	Names() []string
	// Info describes a tensor; false when there is none of that name.
	Info(name string) (TensorInfo, bool)
}

// DTypes lists the tensor dtypes that can be computed with.
func DTypes() []string { return []string{"BF16", "F16", "F32"} }

// Check compares a checkpoint with the config: every tensor of the model must be
// there, in a supported dtype and with the config's shape, and no tensor may be
// there that the model does not use, because a model cut short or mistaken for
// another must not run silently. Old checkpoints' rotary_emb.inv_freq is passed
// over, a lm_head.weight beside a tied head with a warning. Errors are *Error of
// the classes missing_tensor, dtype, tensor_shape and extra_tensor, in this order
// of precedence within a tensor; nothing is read but names and shapes.
func (c Config) Check(l Checkpoint) (warnings []string, err error) {
	var missing []string
	wanted := map[string]struct{}{}
	for spec := range c.Tensors() {
		info, ok := l.Info(spec.Name)
		if !ok {
			missing = append(missing, spec.Name)
			continue
		}
		wanted[spec.Name] = struct{}{}
		if err := spec.check(info); err != nil {
			return nil, at(info.File, err)
		}
	}
	if len(missing) > 0 {
		return nil, at(l.Where(), c.missing(missing))
	}
	return c.extras(l, wanted)
}

// check compares one tensor.
func (t TensorSpec) check(info TensorInfo) error {
	if !slices.Contains(DTypes(), info.DType) {
		hint := ""
		if strings.HasPrefix(info.DType, "F8") {
			hint = " (FP8 needs its scales, which are not applied here)"
		}
		return fault(DType, "tensor %s: dtype %s is not supported%s; supported: %s", t.Name, info.DType, hint, strings.Join(DTypes(), ", "))
	}
	if want := t.Shape(); !slices.Equal(info.Shape, want) {
		from := ""
		switch t.Role {
		case RoleEmbed, RoleHead:
			from = " (vocab_size, hidden_size)"
		}
		return fault(TensorShape, "tensor %s: shape %d, the config asks for %d%s", t.Name, info.Shape, want, from)
	}
	return nil
}

// missing explains absent tensors, naming at most five.
func (c Config) missing(names []string) error {
	hint := ""
	switch first := names[0]; {
	case first == headName:
		hint = "; the config says that the head is not tied (tie_word_embeddings false, or absent, which means false): " +
			"set it to true if the head is meant to be the embedding"
	case strings.HasSuffix(first, ".bias"):
		hint = "; the config asks for biases (attention_bias or mlp_bias is true)"
	}
	return fault(MissingTensor, "missing tensor %s%s", list(names), hint)
}

// extras judges the tensors that no part of the model uses.
func (c Config) extras(l Checkpoint, wanted map[string]struct{}) (warnings []string, err error) {
	var beyond, unknown []string
	for _, name := range l.Names() {
		if _, ok := wanted[name]; ok || strings.HasSuffix(name, "rotary_emb.inv_freq") {
			continue
		}
		if name == headName && c.Tied {
			warnings = append(warnings, fmt.Sprintf("%s: %s is not used: the config says that the head is tied", l.Where(), headName))
			continue
		}
		if layer, ok := layerOf(name); ok && layer >= c.Layers {
			beyond = append(beyond, name)
			continue
		}
		unknown = append(unknown, name)
	}
	path := func(name string) string {
		if info, ok := l.Info(name); ok && info.File != "" {
			return info.File
		}
		return l.Where()
	}
	switch {
	case len(beyond) > 0:
		layer, _ := layerOf(beyond[0])
		return nil, at(path(beyond[0]), fault(ExtraTensor, "extra tensor %s: it belongs to layer %d, but num_hidden_layers is %d; a model cut short must not run silently",
			list(beyond), layer, c.Layers))
	case len(unknown) > 0:
		return nil, at(path(unknown[0]), fault(ExtraTensor, "%d extra tensors that the model does not use: %s", len(unknown), list(unknown)))
	}
	return warnings, nil
}

// list prints the first five names.
func list(names []string) string {
	const most, longest = 5, 160
	shown := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		if len(n) > longest {
			n = n[:longest] + "..."
		}
		q := strconv.Quote(n)
		shown = append(shown, q[1:len(q)-1])
	}
	s := strings.Join(shown, ", ")
	if len(names) > most {
		s += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return s
}

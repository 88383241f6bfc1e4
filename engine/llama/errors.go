package llama

import (
	"errors"
	"fmt"
)

// Class says what is wrong with a config or with a checkpoint that does not fit
// it, in one word.
type Class string

// The classes of this package.
const (
	ConfigJSON    Class = "config_json"    // not the JSON object it must be
	ConfigValue   Class = "config_value"   // a value is missing, of the wrong type, or impossible
	Unsupported   Class = "unsupported"    // sound, but not computed here
	MissingFile   Class = "missing_file"   // there is no config.json, or it cannot be read
	MissingTensor Class = "missing_tensor" // the checkpoint lacks a tensor of the model
	ExtraTensor   Class = "extra_tensor"   // the checkpoint has a tensor that the model does not use
	TensorShape   Class = "tensor_shape"   // a tensor's shape is not the config's
	DType         Class = "dtype"          // a tensor's dtype cannot be computed with
)

// Error is every error of reading a config and of checking a checkpoint.
type Error struct {
	Class Class
	Path  string // the file (or directory) at fault
	Msg   string
	Err   error // the cause, where there is one
}

func (e *Error) Error() string {
	what := "read model config"
	switch e.Class {
	case MissingTensor, ExtraTensor, TensorShape, DType:
		what = "check weights"
	}
	return what + ": " + e.Path + ": " + e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorClass returns the class as a string.
func (e *Error) ErrorClass() string { return string(e.Class) }

// fault makes an error that has no path yet; at gives it one.
func fault(class Class, format string, args ...any) *Error {
	return &Error{Class: class, Msg: fmt.Sprintf(format, args...)}
}

func at(path string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Path == "" {
		e.Path = path
	}
	return err
}

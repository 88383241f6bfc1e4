package safetensors

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// Class says what is wrong with a checkpoint, in one word that a caller may
// branch on and a test may compare.
type Class string

// The classes of this package.
const (
	Truncated      Class = "truncated"       // the file ends too early
	HeaderLength   Class = "header_length"   // the header length is over MaxHeader
	HeaderJSON     Class = "header_json"     // the header is not the JSON object it must be
	Offsets        Class = "offsets"         // a byte range is impossible, or ranges do not tile the data
	DType          Class = "dtype"           // a dtype that the format does not have
	ShapeBytes     Class = "shape_bytes"     // shape, dtype and byte range disagree
	NotSafetensors Class = "not_safetensors" // another kind of file in the place of weights
	Index          Class = "index"           // the index and the directory disagree
	PathEscape     Class = "path_escape"     // the index leads outside its directory
	MissingFile    Class = "missing_file"    // there is no such file, or it cannot be read
)

// Error is every error that opening a checkpoint returns.
type Error struct {
	Class Class
	Path  string // the file (or directory) at fault
	Msg   string
	Err   error // the cause, where there is one
}

func (e *Error) Error() string { return "load weights: " + e.Path + ": " + e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorClass returns the class as a string.
func (e *Error) ErrorClass() string { return string(e.Class) }

// fault makes an error that has no path yet; at gives it one.
func fault(class Class, format string, args ...any) *Error {
	return &Error{Class: class, Msg: fmt.Sprintf(format, args...)}
}

// at names the file of an error that has none.
func at(path string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Path == "" {
		e.Path = path
	}
	return err
}

// quote prints a name from a file: escaped, and cut where it is absurdly long.
func quote(s string) string {
	const most = 160
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}

// reason is the cause of a file error without the path, which is named already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
